"""Compiled quantiles of absolute deviations from group means."""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints

FEW = 40  # largest values that are kept in order as they are met
LARGE, SAMPLE = 2048, 512  # groups worth a sample, and its size


@njit(cache=True)
def _select(values: Floats, rank: int) -> None:
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
def _top(values: Floats, rank: int) -> int:
    """Move the largest values to the end, few of them but more than come after the rank; where they begin.

    A pivot that nearly all values lie below, taken from a sample, is compared with fast: the outcome is foreseeable.
    """
    n = len(values)
    sample = values[:: n // SAMPLE].copy()
    # Two standard deviations of a sampled quantile below the rank, so that it is nearly always enough.
    share = rank / n
    place = int(len(sample) * share - 2 * np.sqrt(len(sample) * share * (1 - share))) - 1
    if place < 0:
        return 0
    _select(sample, place)
    pivot = sample[place]
    larger = 0
    for r in range(n):
        larger += values[r] > pivot
    if larger < n - rank:
        return 0
    low = n
    for r in range(n - 1, -1, -1):
        if values[r] > pivot:
            low -= 1
            values[r], values[low] = values[low], values[r]
    return low


@njit(cache=True)
def _largest(values: Floats, n: int) -> tuple[float, float]:
    """The n-th largest value and the one above it, by keeping the n largest in order: few values get among them."""
    top = np.sort(values[:n])
    for r in range(n, len(values)):
        value = values[r]
        if value > top[0]:
            place = 0
            while place + 1 < n and top[place + 1] < value:
                top[place] = top[place + 1]
                place += 1
            top[place] = value
    return top[0], top[1]


@njit(cache=True)
def quantile(values: Floats, q: float) -> float:
    """The q-quantile, interpolated linearly between ranks as numpy does; reorders the values."""
    place = q * (len(values) - 1)
    rank = int(place)
    between = place - rank
    if rank >= len(values) - 1:
        return float(values.max())
    n_above = len(values) - rank
    if n_above <= FEW:
        below, above = _largest(values, n_above)
        return float(below + (above - below) * between)
    if len(values) > LARGE:
        low = _top(values, rank)  # of the largest values, which hold the rank wanted
        values, rank = values[low:], rank - low
    _select(values, rank)
    below, above = values[rank], values[rank + 1 :].min()
    return float(below + (above - below) * between)


@njit(cache=True)
def group_deviations(latent: Floats, order: Ints, ends: Ints, q: float) -> Floats:
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
