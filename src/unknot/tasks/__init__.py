"""What can be done with a representation: one folder and one declaration for each task."""

from collections.abc import Sequence

from unknot.errors import unknown
from unknot.tasks.agent.task import AGENT
from unknot.tasks.algebra.task import ALGEBRA
from unknot.tasks.combinations.task import COMBINATIONS
from unknot.tasks.fairness.task import FAIRNESS
from unknot.tasks.generalisation.task import GENERALISATION
from unknot.tasks.reasoning.task import REASONING
from unknot.tasks.result import TaskResult, read_result
from unknot.tasks.task import Task

TASKS: dict[str, Task] = {
    "combinations": COMBINATIONS,
    "generalisation": GENERALISATION,
    "reasoning": REASONING,
    "fairness": FAIRNESS,
    "algebra": ALGEBRA,
    "agent": AGENT,
}


def find_task(name: str) -> Task:
    """A task by its name.

    >>> find_task("fairness").version
    2
    """
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


def controls_of(name: str) -> Sequence[str]:
    """The controls of a task; none of one that is not known here, such as one of a newer version.

    >>> controls_of("fairness"), "third_row" in controls_of("reasoning")
    (('shuffled',), True)
    """
    return TASKS[name].controls if name in TASKS else ()


__all__ = ["TASKS", "Task", "TaskResult", "controls_of", "find_task", "read_result"]
