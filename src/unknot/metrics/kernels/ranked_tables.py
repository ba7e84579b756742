"""Compiled contingency tables of a latent in bins of equal count, without sorting it.

A latent is first dealt into many buckets of equal width. Only the few buckets that a cut can fall into are sorted;
in all others the bucket alone says how many cuts lie below a value.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints

BUCKETS = 4096  # few enough to stay in the fastest cache


@njit(cache=True)
def deal(column: Floats, targets: Ints, bucket_of: NDArray[np.uint16]) -> tuple[Floats, Ints, float, float]:
    """Deal a latent (n,) into buckets, and pick the values that share a bucket with a target rank.

    Args:
        column: the latent.
        targets: ranks 0..n that cuts should be near.
        bucket_of: (n,) is filled with the bucket of each row.

    Returns:
        The values picked, unordered; how many rows lie below each bucket (BUCKETS + 1,); the smallest value and
        buckets per unit. Buckets keep the order of values, and equal values share one.
    """
    n = len(column)
    low, high = column[0], column[0]
    for r in range(n):
        low, high = min(low, column[r]), max(high, column[r])
    scale = (BUCKETS - 1) / (high - low) if high > low else 0.0
    if not scale < np.inf:
        scale = 0.0  # a range so small that its inverse overflows: all in one bucket
    below = np.zeros(BUCKETS + 1, dtype=np.int64)
    for r in range(n):
        b = int((column[r] - low) * scale)
        bucket_of[r] = b
        below[b + 1] += 1
    for b in range(BUCKETS):
        below[b + 1] += below[b]
    wanted = np.zeros(BUCKETS, dtype=np.bool_)
    size, b = 0, 0
    for t in range(len(targets)):
        place = min(targets[t], n - 1)
        while below[b + 1] <= place:
            b += 1
        if not wanted[b]:
            wanted[b] = True
            size += below[b + 1] - below[b]
    picked = np.empty(size)
    s = 0
    for r in range(n):
        if wanted[bucket_of[r]]:
            picked[s] = column[r]
            s += 1
    return picked, below, low, scale


@njit(cache=True)
def cut(picked: Floats, below: Ints, targets: Ints, steps: Ints) -> Floats:
    """Cuts at the ranks nearest to the targets where the value changes, the lower one if two are as near.

    Args:
        picked: what `deal` picked, sorted.
        below: how many rows lie below each bucket.
        targets: (t,) as in `deal`, ascending.
        steps: (t,) is filled with how many cuts there are up to each target's own.

    Returns:
        Ascending: the smallest number above each cut, then infinity.
    """
    n = below[BUCKETS]
    thresholds = np.empty(len(targets) + 1)
    n_cuts, rank = 0, 0
    b, offset, counted = 0, 0, -1  # a bucket, where its values begin among those picked, the last bucket seen
    for t in range(len(targets)):
        place = min(targets[t], n - 1)
        while below[b + 1] <= place:
            b += 1
        if counted >= 0 and b != counted:
            offset += below[counted + 1] - below[counted]
        counted = b
        end = offset + below[b + 1] - below[b]
        first = offset + place - below[b]
        value, last = picked[first], first + 1  # equal values share the bucket
        while first > offset and picked[first - 1] == value:
            first -= 1
        while last < end and picked[last] == value:
            last += 1
        lower, upper = below[b] + first - offset, below[b] + last - offset
        nearest, threshold = upper, np.nextafter(value, np.inf)
        if lower > 0 and (upper == n or targets[t] - lower <= upper - targets[t]):
            nearest, threshold = lower, value
        if rank < nearest < n:
            rank, thresholds[n_cuts] = nearest, threshold
            n_cuts += 1
        steps[t] = n_cuts
    thresholds[n_cuts] = np.inf
    return thresholds[: n_cuts + 1]


@njit(cache=True)
def count_between(
    column: Floats,
    bucket_of: NDArray[np.uint16],
    low: float,
    scale: float,
    thresholds: Floats,
    cells: NDArray[np.int32],
    width: int,
) -> Ints:
    """Counts (cuts + 1, width) of rows by the number of thresholds <= their value and the cell of each factor.

    Args:
        column: (n,) the latent.
        bucket_of: (n,) its buckets.
        low: the smallest value.
        scale: buckets per unit.
        thresholds: ascending, infinity last.
        cells: (n, k) where the value of each factor is counted.
        width: how many cells there are.
    """
    counts = np.zeros((len(thresholds), width), dtype=np.int64)
    first = np.empty(BUCKETS, dtype=np.int64)  # how many thresholds lie in lower buckets
    c = 0
    for b in range(BUCKETS):
        while c < len(thresholds) - 1 and np.int64((thresholds[c] - low) * scale) < b:
            c += 1
        first[b] = c
    k = cells.shape[1]
    for r in range(len(column)):
        c = first[bucket_of[r]]
        while thresholds[c] <= column[r]:
            c += 1
        row = counts[c]
        for j in range(k):
            row[cells[r, j]] += 1
    return counts


@njit(cache=True)
def merge(counts: Ints, steps: Ints, places: Ints, sizes: Ints, out: Ints) -> None:
    """Tables (size, size) of all factors, one after the other in `out`, from counts between all cuts of a latent.

    Args:
        counts: (cuts + 1, all values of all factors).
        steps: how many cuts there are up to that of each target.
        places: for one factor after the other, which targets are its own (size - 1 each).
        sizes: (k,) values of each factor.
        out: zeros.
    """
    p, offset, start = 0, 0, 0
    for size in sizes:
        u, row = 0, start
        for m in range(size):
            end = len(counts) if m == size - 1 else steps[places[p + m]]
            if u == end:
                continue  # two targets at one cut
            while u < end:
                for v in range(size):
                    out[row + v] += counts[u, offset + v]
                u += 1
            row += size
        p, offset, start = p + size - 1, offset + size, start + size * size
