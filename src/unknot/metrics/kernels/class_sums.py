"""Sums over the rows of each class of each factor, some latents at a time, from one look at every row."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints

NUMBERS = 4  # of each class: sums of x and x^2, smallest and largest x


class Slots(NamedTuple):
    """To which classes each row belongs, those of all factors numbered one after the other."""

    starts: Ints  # (n + 1,) where in `slots` each row starts
    slots: NDArray[np.int32]
    counts: Ints  # (classes of all factors,) rows
    first: Ints  # (k + 1,) number of each factor's first class
    factor: Ints  # (classes of all factors,) whose it is


def slots_of(n: int, parts: Sequence[tuple[Ints, Ints]]) -> Slots:
    """Those of n rows, from the rows of each factor, its classes one after the other, and where each class starts."""
    first = np.append(0, np.cumsum([len(starts) - 1 for _, starts in parts]))
    counts = np.concatenate([np.diff(starts) for _, starts in parts])
    numbers = np.repeat(np.arange(first[-1], dtype=np.int32), counts)
    rows = np.concatenate([rows for rows, _ in parts])
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=n)))
    factor = np.repeat(np.arange(len(parts)), np.diff(first))
    return Slots(starts, numbers[np.argsort(rows, kind="stable")], counts, first, factor)


@njit(cache=True, nogil=True)
def class_sums(table: Floats, of_rows: Slots, centres: Floats, sums: Floats) -> None:
    """Fill in the mean of each factor's rows, and sums and ends of each class less it.

    Args:
        table: (n, b) latents.
        of_rows: classes of each row.
        centres: (k, b) zeros.
        sums: (classes of all factors, NUMBERS, b).
    """
    starts, slots, counts, first, factor = of_rows
    n, b = table.shape
    for r in range(n):
        x = table[r]
        for at in range(starts[r], starts[r + 1]):
            centre = centres[factor[slots[at]]]
            for i in range(b):
                centre[i] += x[i]
    for j in range(len(centres)):
        centres[j] /= counts[first[j] : first[j + 1]].sum()
    sums[:, :2], sums[:, 2], sums[:, 3] = 0.0, np.inf, -np.inf
    for r in range(n):
        x = table[r]
        for at in range(starts[r], starts[r + 1]):
            own, centre = sums[slots[at]], centres[factor[slots[at]]]
            for i in range(b):
                away = x[i] - centre[i]
                own[0, i] += away
                own[1, i] += away * away
                own[2, i] = min(own[2, i], away)
                own[3, i] = max(own[3, i], away)
