"""The compiled inside of `boosting`: histograms of a node's residuals, and its best split.

The best split is found in two steps. First at the edges of at most 256 bins per latent, from histograms which the
larger child of a node gets by subtracting the smaller one from its parent. Then, for exact splits, inside the bins, but
only where a bound says that something better could hide: the residuals of a bin's first rows add up to something
between its negative and its positive part. One bin in a hundred is opened, so that exact splits cost little more than
binned ones.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.boosting import Table

Floats = NDArray[np.float64]
Ints = NDArray[Any]


class Histogram(NamedTuple):
    """Residuals of a node per bin; entry latent * BINS + bin."""

    sums: Floats
    positives: Floats  # sums of the positive ones
    counts: NDArray[np.int32]


class Split(NamedTuple):
    """Where a node is cut; latent -1 if nowhere."""

    latent: int
    position: int  # in the latent's sorted order, of the last row on the left
    size: int  # of the left child
    sum: float  # of the left child's residuals
    gain: float  # S_left^2 / n_left + S_right^2 / n_right


@njit(cache=True, error_model="numpy")
def root_sums(by_row: Floats, bins: Ints, first: int, last: int, sums: Floats) -> None:
    """Add up residuals per (latent, bin, class) for classes first..last-1, all classes at once."""
    for f in range(len(bins)):
        for i in range(bins.shape[1]):
            into, row = sums[f, bins[f, i]], by_row[i, first:last]
            for k in range(len(row)):
                into[k] += row[k]


@njit(cache=True, error_model="numpy")
def root_histogram(sums: Floats, r: Floats, table: Table, histogram: Histogram) -> float:
    """The root's histogram of one class; returns the sum of squared residuals."""
    d = len(table.n_bins)
    for at in range(len(histogram.positives)):
        histogram.positives[at] = 0.0
    for f in range(d):
        for b in range(table.n_bins[f]):
            histogram.sums[(f << 8) + b] = sums[f, b]
            histogram.counts[(f << 8) + b] = table.counts[f, b]
    squares = 0.0
    for i in range(len(r)):
        squares += r[i] * r[i]
        if r[i] > 0:
            for f in range(d):
                histogram.positives[(f << 8) + table.bins_by_row[i, f]] += r[i]
    return squares


@njit(cache=True, error_model="numpy")
def node_histogram(
    rows: Ints, r: Floats, bins_by_row: Ints, slot: int, node_of: Ints, histogram: Histogram
) -> float:
    """A node's histogram from its rows, which are marked as its own; returns the sum of squared residuals."""
    d = bins_by_row.shape[1]
    sums, positives, counts = histogram
    for at in range(len(sums)):
        sums[at], positives[at], counts[at] = 0.0, 0.0, 0
    squares = 0.0
    for i in rows:
        v = r[i]
        squares += v * v
        node_of[i] = slot
        row = bins_by_row[i]
        for f in range(d):
            at = (f << 8) + row[f]
            sums[at] += v
            counts[at] += 1
        if v > 0:
            for f in range(d):
                positives[(f << 8) + row[f]] += v
    return squares


@njit(cache=True, error_model="numpy")
def subtract(histogram: Histogram, other: Histogram) -> None:
    for at in range(len(histogram.sums)):
        histogram.sums[at] -= other.sums[at]
    for at in range(len(histogram.sums)):
        histogram.positives[at] -= other.positives[at]
    for at in range(len(histogram.sums)):
        histogram.counts[at] -= other.counts[at]


@njit(cache=True, error_model="numpy")
def split_between_bins(
    size: int, total: float, histogram: Histogram, table: Table, latents: Ints, inverse: Floats
) -> Split:
    """The split with the largest S_left^2 / n_left + S_right^2 / n_right among the edges of bins."""
    sums, _, counts = histogram
    best, best_f, best_p, best_n, best_c = -np.inf, -1, 0, 0, 0.0
    for f in latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(table.n_bins[f] - 1):
            if counts[base + b] == 0:
                continue
            c += sums[base + b]
            n += counts[base + b]
            if n == size:
                break
            gain = c * c * inverse[n] + (total - c) * (total - c) * inverse[size - n]
            if gain > best:
                best, best_f, best_p, best_n, best_c = gain, f, table.starts[f, b + 1] - 1, n, c
    return Split(best_f, best_p, best_n, best_c, best)


@njit(cache=True, error_model="numpy")
def _extremes(rows: Ints, r: Floats) -> tuple[float, float]:
    lowest, highest = r[rows[0]], r[rows[0]]
    for i in rows:
        lowest = min(lowest, r[i])
        highest = max(highest, r[i])
    return lowest, highest


@njit(cache=True, error_model="numpy")
def split_within_bins(
    found: Split,
    rows: Ints,
    total: float,
    slot: int,
    histogram: Histogram,
    table: Table,
    latents: Ints,
    inverse: Floats,
    r: Floats,
    node_of: Ints,
) -> Split:
    """A better split than `found` inside a bin, if there is one.

    With residuals r' = r - mean, the gain beyond the parent's is C^2 (1/n + 1/(N - n)) where C adds up the r' on the
    left. Inside a bin, C moves by at most what its positive r' (upwards) or its negative r' (downwards) add up to.
    """
    sums, positives, counts = histogram
    best, best_f, best_p, best_n, best_c = found.gain, found.latent, found.position, found.size, found.sum
    size = len(rows)
    mean = total * inverse[size]
    parent = total * mean
    up, down, positive = max(0.0, -mean), max(0.0, mean), 0.0
    for b in range(table.n_bins[0]):
        positive += positives[b]
    one_sign = positive <= 1e-10 * size or positive - total <= 1e-10 * size
    if one_sign:  # residuals that are all alike: bound them by their range
        lowest, highest = _extremes(rows, r)
        up, down = highest - mean, mean - lowest
    for f in latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(table.n_bins[f]):
            count = counts[base + b]
            if count > 1:
                start = c - n * mean
                high, low = start + up * count, start - down * count
                if not one_sign:
                    high += positives[base + b]
                    low += sums[base + b] - positives[base + b]
                first = inverse[n + 1] + inverse[size - n - 1]
                last = inverse[n + count - 1] + inverse[size - n - count + 1]
                if parent + max(high * high, low * low) * max(first, last) > best:
                    c_in, n_in, n_seen = c, n, n
                    for p in range(table.starts[f, b], table.starts[f, b + 1] - 1):
                        i = table.order[f, p]
                        if node_of[i] == slot:
                            c_in += r[i]
                            n_in += 1
                        if table.distinct[f, p] and n_in > n_seen and n_in < size:
                            n_seen, rest = n_in, total - c_in
                            gain = c_in * c_in * inverse[n_in] + rest * rest * inverse[size - n_in]
                            if gain > best:
                                best, best_f, best_p, best_n, best_c = gain, f, p, n_in, c_in
            c += sums[base + b]
            n += count
            if n == size:
                break
    return Split(best_f, best_p, best_n, best_c, best)


@njit(cache=True, error_model="numpy")
def midpoint(x: NDArray[np.float32], order: Ints, node_of: Ints, slot: int, position: int) -> float:
    """Halfway between the two values of a node between which a split at a sorted position lies."""
    below, above = position, position + 1
    while node_of[order[below]] != slot:
        below -= 1
    while node_of[order[above]] != slot:
        above += 1
    return 0.5 * np.float64(x[order[below]]) + 0.5 * np.float64(x[order[above]])
