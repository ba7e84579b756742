"""The compiled inside of information from nearest neighbours, of classes and of measurements."""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints

ROUNDING = 1e-9  # share of a distance: steps of a scale, such as 0.1, are equal up to this


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


@njit(cache=True)
def _nearer(ordered: Floats, centre: float, reach: float) -> int:
    """How many sorted values are nearer to a centre than `reach`."""
    low, high = 0, len(ordered)  # the first that is near enough, or above the centre
    while low < high:
        middle = (low + high) // 2
        if centre - ordered[middle] < reach:
            high = middle
        else:
            low = middle + 1
    first, high = low, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] - centre < reach:
            low = middle + 1
        else:
            high = middle
    return low - first


@njit(cache=True)
def _distances(x: Floats, y: Floats, begin: Ints, end: Ints, i: int, near: Floats) -> None:
    """Fill in the distances, rising, from row i to its nearest neighbours: the larger of those along x and y.

    Rows are in the order of x, and of y where x is equal, so that both ways can be left once they are too far.
    """
    near[:] = np.inf
    last, left, right = len(near) - 1, i - 1, i + 1
    while left >= 0 or right < len(x):
        to_left = x[i] - x[left] if left >= 0 else np.inf
        to_right = x[right] - x[i] if right < len(x) else np.inf
        j, along = (left, to_left) if to_left <= to_right else (right, to_right)
        if along >= near[last]:
            break
        distance = max(along, abs(y[j] - y[i]))
        at = last
        if distance < near[at]:
            while at > 0 and near[at - 1] > distance:
                near[at] = near[at - 1]
                at -= 1
            near[at] = distance
            far = False
        else:
            far = along == 0.0  # further on, rows of equal x are further away still
        if j == left:
            left = begin[i] - 1 if far else left - 1
        else:
            right = end[i] if far else right + 1


@njit(cache=True)
def measured_information(x: Floats, y: Floats, ordered: Floats, neighbours: int, psi: Floats) -> float:
    """Mutual information in nats of two measurements (n,).

    Args:
        x: rising.
        y: of the same rows, rising where x is equal.
        ordered: y in order.
        neighbours: which nearest neighbour sets the scale.
        psi: digamma of 0..n, of which 0 is not used.
    """
    n = len(x)
    begin, end = _ties(x)
    same = np.ones(n, dtype=np.int64)  # rows that are equal in both
    first = 0
    for r in range(1, n + 1):
        if r == n or x[r] != x[first] or y[r] != y[first]:
            same[first:r] = r - first
            first = r
    near, total = np.empty(min(neighbours, n - 1)), 0.0
    for i in range(n):
        _distances(x, y, begin, end, i, near)
        reach = near[-1]
        if reach > 0:
            reach *= 1 - ROUNDING
            both = 1 + int((near < reach).sum())
            of_x, of_y = _nearer(x, x[i], reach), _nearer(ordered, y[i], reach)
        else:
            both, of_x = same[i], end[i] - begin[i]
            of_y = np.searchsorted(ordered, y[i], side="right") - np.searchsorted(ordered, y[i], side="left")
        total += psi[both] - psi[of_x] - psi[of_y]
    return float(max(0.0, psi[n] + total / n))
