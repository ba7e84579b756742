"""The points of one part of a split, and their classes a few hundred at a time."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from unknot.factors import Classes, Indices
from unknot.tasks.options import Rows
from unknot.worlds.splits.split import Split

Part = Literal["train", "test"]


def part_points(split: Split, listed: Classes | None, part: Part, rows: Rows, rng: np.random.Generator) -> Indices:
    """Points of a part in the world's own order, which files are read fastest in.

    Args:
        split: the split.
        listed: the rows of an incomplete world; None for a complete grid.
        part: "train" or "test".
        rows: how many to draw without replacement; "all", or more than there are, for every one.
        rng: decides which.

    Returns:
        (n,) grid indices, or row numbers of an incomplete world.
    """
    if listed is None:
        pool = split.train_indices() if part == "train" else split.test_indices()
    else:
        inside = split.rows(listed)
        pool = np.flatnonzero(inside if part == "train" else ~inside)
    if rows == "all" or rows >= len(pool):
        return pool
    return np.sort(pool[rng.choice(len(pool), size=rows, replace=False)])


def chunks(split: Split, listed: Classes | None, points: Indices, size: int) -> Iterator[Classes]:
    """The classes of points, `size` at a time."""
    for start in range(0, len(points), size):
        some = points[start : start + size]
        yield split.space.classes(some) if listed is None else listed[some]
