"""The compiled inside of `neighbour_information`: one sort per latent serves all factors."""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints


@njit(cache=True)
def _window(values: Floats, t: int, q: int, at: int) -> int:
    """Where the tightest window of q + 1 sorted values begins that holds values[t], the last one of several.

    The window of the value before begins at `at`. How far a window reaches falls with its start and then rises, and
    its best start never goes back.
    """
    centre, at, last = values[t], max(at, t - q), min(t, len(values) - 1 - q)
    reach = max(centre - values[at], values[at + q] - centre)
    while at < last:
        further = max(centre - values[at + 1], values[at + 1 + q] - centre)
        if further > reach:
            break
        reach, at = further, at + 1
    return at


@njit(cache=True)
def _below(values: Floats, bound: float, at: int, equal: bool) -> int:
    """How many sorted values are below a bound, or equal to it; found by walking from a guess."""
    while at < len(values) and (values[at] < bound or (equal and values[at] == bound)):
        at += 1
    while at > 0 and not (values[at - 1] < bound or (equal and values[at - 1] == bound)):
        at -= 1
    return at


@njit(cache=True)
def _ties(values: Floats) -> tuple[Ints, Ints]:
    """Where the run of equal values begins and ends that each of the sorted values belongs to."""
    begin, end = np.zeros(len(values), dtype=np.int64), np.full(len(values), len(values))
    for r in range(1, len(values)):
        begin[r] = begin[r - 1] if values[r] == values[r - 1] else r
    for r in range(len(values) - 2, -1, -1):
        end[r] = end[r + 1] if values[r] == values[r + 1] else r + 1
    return begin, end


@njit(cache=True)
def class_information(ordered: Floats, classes: Ints, size: int, neighbours: int, psi: Floats) -> float:
    """Mutual information in nats of a sorted latent (n,) and the classes (n,) of its rows, in the same order.

    Args:
        ordered: the latent's values, rising.
        classes: codes 0..size-1.
        size: how many codes there are.
        neighbours: which nearest neighbour of the same class sets the scale.
        psi: digamma of 0..n, of which 0 is not used.
    """
    start = np.zeros(size + 1, dtype=np.int64)
    for y in classes:
        start[y + 1] += 1
    n = 0
    for c in range(size):
        n += start[c + 1] if start[c + 1] > 1 else 0
        start[c + 1] += start[c]
    if n == 0:
        return 0.0
    by_class, rank, everything = np.empty(len(ordered)), np.empty(len(ordered), dtype=np.int64), np.empty(n)
    place, e = start[:-1].copy(), 0
    for r in range(len(ordered)):
        y = classes[r]
        by_class[place[y]], rank[place[y]] = ordered[r], e
        place[y] += 1
        if start[y + 1] - start[y] > 1:
            everything[e] = ordered[r]
            e += 1
    begin, end = _ties(everything)
    total = 0.0
    for c in range(size):
        values, ranks = by_class[start[c] : start[c + 1]], rank[start[c] : start[c + 1]]
        m = len(values)
        if m < 2:
            continue
        q = min(neighbours, m - 1)
        first_own, last_own, at = 0, 0, 0
        for t in range(m):
            at = _window(values, t, q, at)
            centre, left, right = values[t], values[at], values[at + q]
            # The open interval to the q-th neighbour: that itself, since centre + distance could round past it.
            low = left if centre - left >= right - centre else centre - (right - centre)
            high = right if right - centre >= centre - left else centre + (centre - left)
            point = low == high  # then those equal to the centre count
            first_own = _below(values, low, first_own, not point)
            last_own = _below(values, high, last_own, point)
            if point:
                inside = end[ranks[t]] - begin[ranks[t]]
            else:
                first, last = end[ranks[at]], begin[ranks[at + q]]
                if low < left:
                    lower = ranks[at - 1] if at > 0 and values[at - 1] <= low else 0
                    first = lower + np.searchsorted(everything[lower:first], low, side="right")
                if high > right:
                    upper = ranks[at + q + 1] if at + q + 1 < m and values[at + q + 1] >= high else n
                    last += np.searchsorted(everything[last:upper], high, side="left")
                inside = last - first
            total += psi[last_own - first_own] - psi[inside] - psi[m]
    return float(max(0.0, psi[n] + total / n))
