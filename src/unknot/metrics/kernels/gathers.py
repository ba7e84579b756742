"""Compiled draws from a table of latents whose rows are grouped by factor values.

`order[j]` lists the rows by their value of factor j, values that only one row has last; the `sizes[j, v]` rows of
value v begin at place `starts[j, v]`, and places below `usable[j]` belong to values that two rows or more share.
Random numbers are 32-bit words made by the caller: (word * m) >> 32 is a draw from 0..m-1.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Bools, Floats, Ints


@njit(cache=True)
def pair_differences(
    latents: Floats,
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
    usable: Ints,
    factors: Ints,
    words: NDArray[np.uint32],
) -> Floats:
    """Mean |z - z'| (points, d) over pairs of different rows that share the value of the point's factor.

    Args:
        latents: (n, d).
        order: (k, n) rows by value.
        begins: (k, n) where the value of the row at each place of `order` begins there.
        ends: (k, n) and where it ends.
        usable: (k,) how many places may be drawn.
        factors: (points,) the factor of each point.
        words: (points, batch, 2) random words.
    """
    points, batch = words.shape[0], words.shape[1]
    d = latents.shape[1]
    out = np.zeros((points, d))
    left, right = np.empty(batch, dtype=np.int64), np.empty(batch, dtype=np.int64)
    for p in range(points):
        j = factors[p]
        rows, begin, end = order[j], begins[j], ends[j]
        for q in range(batch):
            place = np.int64((np.uint64(words[p, q, 0]) * np.uint64(usable[j])) >> np.uint64(32))
            size = end[place] - begin[place]
            # A shift of 1..size-1 inside the group: any other row of it, all equally likely.
            other = place + 1 + np.int64((np.uint64(words[p, q, 1]) * np.uint64(size - 1)) >> np.uint64(32))
            other -= size * (other >= end[place])
            left[q], right[q] = rows[place], rows[other]
        total = out[p]
        for q in range(batch):  # apart from the draws, so that the processor can read rows ahead
            a, b = left[q], right[q]
            for i in range(d):
                total[i] += abs(latents[a, i] - latents[b, i])
        for i in range(d):
            total[i] /= batch
    return out


@njit(cache=True)
def shared_variances(
    latents: Floats,
    codes: Ints,
    order: Ints,
    starts: Ints,
    sizes: Ints,
    usable: Ints,
    factors: Ints,
    words: NDArray[np.uint32],
) -> Floats:
    """Variance (points, d; ddof 1) of batches of rows that share one value of the point's factor.

    Args:
        latents: (n, d).
        codes: (k, n) the value of each factor.
        order: (k, n) rows by value.
        starts: (k, values) where each value begins in `order`.
        sizes: (k, values) how many rows it has.
        usable: (k,) how many places may be drawn.
        factors: (points,) the factor of each point.
        words: (points, batch + 1) random words; the first one picks the value.
    """
    points, batch = words.shape[0], words.shape[1] - 1
    d = latents.shape[1]
    out = np.empty((points, d))
    total, squares, rows = np.empty(d), np.empty(d), np.empty(batch, dtype=np.int64)
    for p in range(points):
        j = factors[p]
        origin = order[j, np.int64((np.uint64(words[p, 0]) * np.uint64(usable[j])) >> np.uint64(32))]
        value, first = codes[j, origin], latents[origin]
        group, size = order[j, starts[j, value] :], np.uint64(sizes[j, value])
        for q in range(batch):  # apart from the sums, so that the processor can read rows ahead
            rows[q] = group[np.int64((np.uint64(words[p, q + 1]) * size) >> np.uint64(32))]
        total[:] = 0.0
        squares[:] = 0.0
        for q in range(0, batch - 1, 2):  # by two, which halves how often sums are stored
            row, other = latents[rows[q]], latents[rows[q + 1]]
            for i in range(d):
                # Relative to one row of the group, so that equal rows have a variance of exactly 0.
                x, y = row[i] - first[i], other[i] - first[i]
                total[i] = (total[i] + x) + y
                squares[i] = (squares[i] + x * x) + y * y
        if batch % 2:
            row = latents[rows[batch - 1]]
            for i in range(d):
                x = row[i] - first[i]
                total[i] += x
                squares[i] += x * x
        for i in range(d):
            out[p, i] = max(0.0, (squares[i] - total[i] * total[i] / batch) / (batch - 1))
    return out


@njit(cache=True)
def variances(latents: Floats) -> Floats:
    """Variance (d; ddof 1) of latents (n, d), summed as numpy does."""
    n, d = latents.shape
    mean, result = np.zeros(d), np.zeros(d)
    for r in range(n):
        for i in range(d):
            mean[i] += latents[r, i]
    for i in range(d):
        mean[i] /= n
    for r in range(n):
        for i in range(d):
            away = latents[r, i] - mean[i]
            result[i] += away * away
    result /= n - 1
    return result


@njit(cache=True)
def least(own: Floats, whole: Floats, active: Bools) -> Ints:
    """The active latent (points,) whose variance (points, d) is the least share of its whole (d,); ties: the first."""
    winners = np.empty(len(own), dtype=np.int64)
    d = len(whole)
    divisor, ratios = np.where(active, whole, 1.0), np.empty(d)
    away = np.where(active, 0.0, np.inf)
    for p in range(len(own)):
        for i in range(d):  # apart from the search, so that the processor divides several at a time
            ratios[i] = own[p, i] / divisor[i] + away[i]
        winner = 0
        for i in range(1, d):
            if ratios[i] < ratios[winner]:
                winner = i
        winners[p] = winner
    return winners
