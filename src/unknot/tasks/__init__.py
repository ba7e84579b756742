"""Downstream use of a representation: what can be done with it.

A task is a function `task(encoder, world, *, options) -> TaskResult`.
"""

from unknot.tasks.result import TaskResult, read_result

__all__ = ["TaskResult", "read_result"]
