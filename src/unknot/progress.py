"""How far long work is: the one way to say it."""

from collections.abc import Callable
from typing import Any, Protocol


class Progress(Protocol):
    """What long work calls as it goes on; any function with these arguments is one.

    `progress("encoding", 256, 15_000)`, `progress("reasoner 2 of 10", 500, 5_000, accuracy=0.41)`.
    """

    def __call__(self, stage: str, done: int, total: int, /, **facts: Any) -> None:
        """Take in how much of a stage is done, of how much.

        Args:
            stage: in words; another one begins a new bar.
            done: images, steps, pairs.
            total: of them.
            facts: what else is known by now, such as a loss or an accuracy.
        """


def silent(stage: str, done: int, total: int, /, **facts: Any) -> None:
    """Progress that nobody watches."""


def within(progress: Progress, where: str) -> Progress:
    """The same progress, its stages named with where they are.

    >>> within(lambda stage, done, total: print(stage, done, total), "scale=0")("heads", 1, 4)
    heads, scale=0 1 4
    """

    def told(stage: str, done: int, total: int, /, **facts: Any) -> None:
        progress(f"{stage}, {where}", done, total, **facts)

    return told


def named(progress: Progress, stage: str) -> Progress:
    """The same progress under a name of the caller's, whatever the work calls its stages."""

    def told(_: str, done: int, total: int, /, **facts: Any) -> None:
        progress(stage, done, total, **facts)

    return told


def counted(count: Callable[[int, int], None]) -> Progress:
    """Progress for one who wants to know how much is done, and of how much, but not of what.

    >>> counted(print)("encoding", 1, 4, loss=0.5)
    1 4
    """

    def told(stage: str, done: int, total: int, /, **facts: Any) -> None:
        count(done, total)

    return told
