"""The points of one part of a split, and their classes a few hundred at a time."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from unknot.errors import UnknotError
from unknot.factors import Classes, Indices
from unknot.worlds.splits.split import Split

Part = Literal["train", "test"]


def part_points(
    made: Split, listed: Classes | None, part: Part, rows: int | str, rng: np.random.Generator
) -> Indices:
    """Points of a part in the world's own order, which files are read fastest in.

    Args:
        made: the split.
        listed: the rows of an incomplete world; None for a complete grid.
        part: "train" or "test".
        rows: how many to draw without replacement; "all", or more than there are, for every one.
        rng: decides which.

    Returns:
        (n,) grid indices, or row numbers of an incomplete world.
    """
    if listed is None:
        pool = made.train_indices() if part == "train" else made.test_indices()
    else:
        inside = made.rows(listed)
        pool = np.flatnonzero(inside if part == "train" else ~inside)
    if rows == "all" or int(rows) >= len(pool):
        return pool
    return np.sort(pool[rng.choice(len(pool), size=int(rows), replace=False)])


def chunks(made: Split, listed: Classes | None, points: Indices, size: int) -> Iterator[Classes]:
    """The classes of points, `size` at a time."""
    for start in range(0, len(points), size):
        some = points[start : start + size]
        yield made.space.classes(some) if listed is None else listed[some]


def check_rows(who: str, **rows: int | str) -> None:
    """Refuse a number of rows that is neither positive nor "all"."""
    for name, number in rows.items():
        if number != "all" and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise UnknotError(f"{who}: {name} is {number!r}; expected a number above 0, or all.")
