"""The compiled inside of `boosting`: residuals, trees and rounds of gradient boosting.

The trees of a round share one pass over the rows for their root histograms, all classes at once. Trees are
stored complete: a node that is not split sends every row left.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics._gbt_splits import (
    Histogram,
    Split,
    midpoint,
    node_histogram,
    root_histogram,
    root_sums,
    split_between_bins,
    split_within_bins,
    subtract,
)
from unknot.metrics.boosting import BINS, Table

Floats = NDArray[np.float64]
Ints = NDArray[Any]

BLOCK = 64  # rows of a softmax at a time, so that they stay in the fastest cache
ROOM_FOR_ROOTS = 4_000_000  # entries of the root histograms of all classes that are grown together
PURE = 2.220446049250313e-16  # nodes whose variance is below are not split, as in scikit-learn
FLAT = 1e-150  # leaves whose mean curvature is below are worth 0, as in scikit-learn


@njit(cache=True, error_model="numpy")
def _exp(x: Floats, out: Floats, bits: Ints, power: Floats) -> None:
    """exp(x) for x <= 0 to the last digit or two, in a form that compiles to vector instructions."""
    for i in range(len(x)):
        v = max(x[i], -708.0)
        k = math.floor(v * 1.4426950408889634 + 0.5)
        r = v - k * 0.693145751953125 - k * 1.4286068203094172e-6  # ln 2 in two parts
        bits[i] = (np.int64(k) + 1023) << 52  # 2^k, as `power` sees the same memory
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 0.0001984126984126984
        p = p * r + 0.001388888888888889
        p = p * r + 0.008333333333333333
        p = p * r + 0.041666666666666664
        p = p * r + 0.16666666666666666
        p = p * r + 0.5
        out[i] = p * r * r + r + 1.0
    for i in range(len(x)):
        out[i] *= power[i]


@njit(cache=True, error_model="numpy")
def _softmax_residuals(raw: Floats, y: Ints, start: int, stop: int, out: Floats) -> None:
    """1[y = k] - softmax(raw)_k of rows start..stop-1; arrays are (K, n)."""
    n_classes, m = len(raw), stop - start
    top, total, shifted = raw[0, start:stop].copy(), np.zeros(m), np.empty(m)
    bits = np.empty(m, dtype=np.int64)
    power = bits.view(np.float64)
    for k in range(1, n_classes):
        row = raw[k, start:stop]
        for i in range(m):
            top[i] = max(top[i], row[i])
    for k in range(n_classes):
        row, e = raw[k, start:stop], out[k, start:stop]
        for i in range(m):
            shifted[i] = row[i] - top[i]
        _exp(shifted, e, bits, power)
        for i in range(m):
            total[i] += e[i]
    for i in range(m):
        total[i] = -1.0 / total[i]
    for k in range(n_classes):
        e = out[k, start:stop]
        for i in range(m):
            e[i] *= total[i]
    for i in range(start, stop):
        out[y[i], i] += 1.0


@njit(cache=True, error_model="numpy")
def _residuals(raw: Floats, y: Ints, by_class: Floats, by_row: Floats) -> None:
    """Negative gradient of the log loss, as (K, n) for single trees and as (n, K) for the roots of all."""
    n_trees, n = raw.shape
    if n_trees == 1:  # two classes
        for i in range(n):
            by_class[0, i] = by_row[i, 0] = y[i] - 1.0 / (1.0 + math.exp(-raw[0, i]))
        return
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        _softmax_residuals(raw, y, start, stop, by_class)
        for i in range(start, stop):
            row = by_row[i]
            for k in range(n_trees):
                row[k] = by_class[k, i]


@njit(cache=True, error_model="numpy")
def _shuffle(items: Ints, state: Ints) -> None:
    """Fisher-Yates with a xorshift generator: the order in which equally good latents are tried."""
    x = state[0]
    for j in range(len(items) - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        other = np.int64(x % np.uint64(j + 1))
        items[j], items[other] = items[other], items[j]
    state[0] = x


@njit(cache=True, error_model="numpy")
def _partition(rows: Ints, x: NDArray[np.float32], threshold: float, spare: Ints) -> int:
    """Move the rows with x <= threshold to the front, both parts in their old order; returns how many."""
    left, right = 0, 0
    for j in range(len(rows)):
        i = rows[j]
        goes_left = x[i] <= threshold
        rows[left] = i
        spare[right] = i
        left += goes_left
        right += not goes_left
    for j in range(right):
        rows[left + j] = spare[j]
    return left


@njit(cache=True, error_model="numpy")
def _leaf(rows: Ints, r: Floats, shrink: float) -> float:
    """One Newton step: shrink * sum of residuals / sum of p (1 - p), where p (1 - p) = |r| (1 - |r|)."""
    slope, curvature = 0.0, 0.0
    for i in rows:
        slope += r[i]
        curvature += abs(r[i]) * (1.0 - abs(r[i]))
    return shrink * slope / curvature if curvature >= FLAT * len(rows) and len(rows) > 0 else 0.0


class Work(NamedTuple):
    """Memory that all trees use."""

    inverse: Floats  # 1 / n, so that no split divides
    histograms: Histogram  # one per node that is still to be split
    rows: Ints
    spare: Ints
    node_of: Ints  # the histogram that each row is counted in
    latents: Ints
    state: Ints  # of the random numbers


@njit(cache=True, error_model="numpy")
def _grow(
    r: Floats,
    sums: Floats,
    table: Table,
    exact: bool,
    work: Work,
    tree: tuple[Ints, Floats],
    importances: Floats,
) -> Ints:
    """One tree on the residuals r, whose root sums are known; leaf j then holds rows[bounds[j]:bounds[j + 1]]."""
    inverse, hists, rows, spare, node_of, latents, state = work
    features, thresholds = tree
    n_inner = len(features)
    lows, highs = np.zeros(2 * n_inner + 1, dtype=np.int64), np.zeros(2 * n_inner + 1, dtype=np.int64)
    slots, total, squares = np.zeros(len(lows), dtype=np.int64), np.zeros(len(lows)), np.zeros(len(lows))
    histogram = Histogram(hists.sums[0], hists.positives[0], hists.counts[0])
    squares[0] = root_histogram(sums, r, table, histogram)
    highs[0], used = len(r), 1
    for i in range(len(r)):
        rows[i], node_of[i] = i, 0
        total[0] += r[i]
    for node in range(n_inner):
        low, high, slot, left, right = lows[node], highs[node], slots[node], 2 * node + 1, 2 * node + 2
        size, found = high - low, Split(-1, 0, 0, 0.0, 0.0)
        histogram = Histogram(hists.sums[slot], hists.positives[slot], hists.counts[slot])
        if size > 1 and squares[node] * inverse[size] - (total[node] * inverse[size]) ** 2 > PURE:
            _shuffle(latents, state)
            found = split_between_bins(size, total[node], histogram, table, latents, inverse)
            if exact:
                found = split_within_bins(
                    found, rows[low:high], total[node], slot, histogram, table, latents, inverse, r, node_of
                )
        lows[left], highs[right] = low, high
        if found.latent < 0:
            features[node], thresholds[node] = 0, np.inf
            highs[left] = lows[right] = high
            continue
        f = found.latent
        if exact:
            threshold = midpoint(table.x[f], table.order[f], node_of, slot, found.position)
        else:
            threshold = table.edges[f, table.bins[f, table.order[f, found.position]]]
        features[node], thresholds[node] = f, threshold
        importances[f] += found.gain - total[node] * total[node] * inverse[size]
        middle = low + _partition(rows[low:high], table.x[f], threshold, spare)
        highs[left] = lows[right] = middle
        total[left], total[right] = found.sum, total[node] - found.sum
        if right < n_inner:
            small, large = (left, right) if middle - low <= high - middle else (right, left)
            new = Histogram(hists.sums[used], hists.positives[used], hists.counts[used])
            mine = rows[lows[small] : highs[small]]
            squares[small] = node_histogram(mine, r, table.bins_by_row, used, node_of, new)
            squares[large] = squares[node] - squares[small]
            subtract(histogram, new)
            slots[small], slots[large] = used, slot
            used += 1
    bounds = np.empty(n_inner + 2, dtype=np.int64)
    for leaf in range(n_inner + 1):
        bounds[leaf] = lows[n_inner + leaf]
    bounds[n_inner + 1] = len(r)
    return bounds


@njit(cache=True, error_model="numpy")
def boost(
    raw: Floats,
    y: Ints,
    columns: Any,
    exact: bool,
    learning_rate: float,
    features: Ints,
    thresholds: Floats,
    values: Floats,
    importances: Floats,
    state: Ints,
) -> None:
    """Add len(features) rounds of trees to the raw predictions (K, n), in place, with all that is to know of them.

    `columns` is a `Table` as a plain tuple, so that compiled code on disk does not depend on who made it.
    """
    table = Table(*columns)
    n_trees, n = raw.shape
    d, n_leaves = len(table.x), values.shape[2]
    shrink = (n_trees - 1.0) / n_trees if n_trees > 1 else 1.0
    by_class, by_row = np.empty((n_trees, n)), np.empty((n, n_trees))
    inverse = np.zeros(n + 1)
    for m in range(1, n + 1):
        inverse[m] = 1.0 / m
    together = max(1, min(n_trees, ROOM_FOR_ROOTS // (d * BINS)))
    shape = (max(1, n_leaves // 2), d * BINS)
    hists = Histogram(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int32))
    rows, spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    work = Work(inverse, hists, rows, spare, np.empty(n, dtype=np.int16), np.arange(d), state)
    for t in range(len(features)):
        _residuals(raw, y, by_class, by_row)
        for first in range(0, n_trees, together):
            last = min(first + together, n_trees)
            sums = np.zeros((d, BINS, last - first))
            root_sums(by_row, table.bins, first, last, sums)
            for k in range(first, last):
                r, tree = by_class[k], (features[t, k], thresholds[t, k])
                bounds = _grow(r, sums[:, :, k - first], table, exact, work, tree, importances)
                for leaf in range(n_leaves):
                    mine = rows[bounds[leaf] : bounds[leaf + 1]]
                    values[t, k, leaf] = _leaf(mine, r, shrink)
                    step = learning_rate * values[t, k, leaf]
                    for i in mine:
                        raw[k, i] += step


@njit(cache=True, error_model="numpy")
def add_trees(
    raw: Floats, x: NDArray[np.float32], features: Ints, thresholds: Floats, values: Floats, learning_rate: float
) -> None:
    """Add the output of every tree to the raw predictions (K, n) of rows x (n, d)."""
    n_rounds, n_trees, n_inner = features.shape
    for t in range(n_rounds):
        for k in range(n_trees):
            feature, threshold, value = features[t, k], thresholds[t, k], values[t, k]
            for i in range(len(x)):
                node = 0
                while node < n_inner:
                    node = 2 * node + 1 + (x[i, feature[node]] > threshold[node])
                raw[k, i] += learning_rate * value[node - n_inner]
