"""What can be done with a representation: one folder and one declaration for each task."""

from unknot.errors import unknown
from unknot.tasks.combinations.task import COMBINATIONS
from unknot.tasks.fairness.task import FAIRNESS
from unknot.tasks.generalisation.task import GENERALISATION
from unknot.tasks.result import TaskResult, read_result
from unknot.tasks.task import Task

TASKS: dict[str, Task] = {
    "combinations": COMBINATIONS,
    "generalisation": GENERALISATION,
    "fairness": FAIRNESS,
}


def find_task(name: str) -> Task:
    """A task by its name.

    >>> find_task("fairnes").name
    Traceback (most recent call last):
    unknot.errors.UnknotError: unknown task 'fairnes'; did you mean 'fairness'? Known: algebra, combinations, \
fairness, generalisation, reasoning.
    """
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


__all__ = ["TASKS", "Task", "TaskResult", "find_task", "read_result"]
