"""Compiled quantiles of absolute deviations from group means."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def _select(values: NDArray[np.float64], rank: int) -> None:
    """Reorder so that values[rank] is in its sorted place, with nothing larger before it and smaller after it."""
    low, high = 0, len(values) - 1
    while low < high:
        # Median of three as the pivot: sorted and constant groups are common.
        middle = (low + high) // 2
        a, b, c = values[low], values[middle], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            return


@njit(cache=True)
def quantile(values: NDArray[np.float64], q: float) -> float:
    """The q-quantile, interpolated linearly between ranks as numpy does; reorders the values."""
    place = q * (len(values) - 1)
    rank = int(place)
    if rank >= len(values) - 1:
        return float(values.max())
    _select(values, rank)
    below, above = values[rank], values[rank + 1 :].min()
    return float(below + (above - below) * (place - rank))


@njit(cache=True)
def group_deviations(
    latent: NDArray[np.float64], order: NDArray[np.int64], ends: NDArray[np.int64], q: float
) -> NDArray[np.float64]:
    """For each group of rows, the q-quantile of |z - mean of the group|.

    Args:
        latent: (n,).
        order: (n,) rows, group by group.
        ends: (groups,) where each group ends in `order`.
        q: in [0, 1].
    """
    out = np.empty(len(ends))
    start = 0
    for g in range(len(ends)):
        group = latent[order[start : ends[g]]]
        mean = group.mean()
        for r in range(len(group)):
            group[r] = abs(group[r] - mean)
        out[g] = quantile(group, q)
        start = ends[g]
    return out
