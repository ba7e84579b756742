"""Downstream use of a representation: what can be done with it.

A task is a function `task(encoder, world, *, options) -> TaskResult`.
"""

from collections.abc import Callable
from importlib import import_module

from unknot.errors import unknown
from unknot.tasks.result import TaskResult, read_result

# Name -> version, which rises whenever a task's numbers change. The function of that name is in the module of that
# name.
TASKS = {"combinations": 1, "generalisation": 1, "reasoning": 2, "fairness": 1, "algebra": 1}


def find_task(name: str) -> Callable[..., TaskResult]:
    """The function of a task.

    >>> find_task("fairnes")
    Traceback (most recent call last):
    unknot.errors.UnknotError: unknown task 'fairnes'; did you mean 'fairness'? Known: algebra, combinations, \
fairness, generalisation, reasoning.
    """
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    function: Callable[..., TaskResult] = getattr(import_module(f"unknot.tasks.{name}.task"), name)
    return function


__all__ = ["TASKS", "TaskResult", "find_task", "read_result"]
