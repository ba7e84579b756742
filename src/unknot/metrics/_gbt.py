"""The compiled inside of `boosting`: gradient boosted trees with exact splits.

The best split of a node is found in two steps. First at the edges of at most 256 bins per latent, from histograms
which the larger child of a node gets by subtracting the smaller one from its parent. Then, for exact splits, inside
the bins, but only where a bound says that something better could hide: the residuals of a bin's first rows add up
to something between its negative and its positive part. One bin in a hundred is opened, so that exact splits
cost little more than binned ones. Trees are stored complete: a node that is not split sends every row left.
"""

import math
from collections import namedtuple

import numpy as np
from numba import njit

BINS = 256
BLOCK = 64  # rows of a softmax at a time, so that they stay in the fastest cache
ROOM_FOR_ROOTS = 4_000_000  # entries of the root histograms of all classes that are grown together
PURE = 2.220446049250313e-16  # nodes whose variance is below are not split, as in scikit-learn
FLAT = 1e-150  # leaves whose mean curvature is below are worth 0, as in scikit-learn

Histogram = namedtuple("Histogram", "sums positives counts")  # of residuals, flat: latent * BINS + bin
Split = namedtuple("Split", "latent position size sum gain")  # size and sum of the left child


@njit(cache=True, error_model="numpy")
def _exp(x, out, bits, power):
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
def _softmax_residuals(raw, y, out):
    """1[y = k] - softmax(raw)_k for a block of rows; arrays are (K, rows)."""
    n_classes, m = raw.shape
    top, total, shifted = np.full(m, -np.inf), np.zeros(m), np.empty(m)
    bits = np.empty(m, dtype=np.int64)
    power = bits.view(np.float64)
    for k in range(n_classes):
        row = raw[k]
        for i in range(m):
            top[i] = max(top[i], row[i])
    for k in range(n_classes):
        row, e = raw[k], out[k]
        for i in range(m):
            shifted[i] = row[i] - top[i]
        _exp(shifted, e, bits, power)
        for i in range(m):
            total[i] += e[i]
    for i in range(m):
        total[i] = -1.0 / total[i]
    for k in range(n_classes):
        e = out[k]
        for i in range(m):
            e[i] *= total[i]
    for i in range(m):
        out[y[i], i] += 1.0


@njit(cache=True, error_model="numpy")
def _residuals(raw, y, by_class, by_row):
    """Negative gradient of the log loss, as (K, n) for single trees and as (n, K) for the roots of all."""
    n_trees, n = raw.shape
    if n_trees == 1:  # two classes
        for i in range(n):
            by_class[0, i] = by_row[i, 0] = y[i] - 1.0 / (1.0 + math.exp(-raw[0, i]))
        return
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        _softmax_residuals(raw[:, start:stop], y[start:stop], by_class[:, start:stop])
        for i in range(start, stop):
            row = by_row[i]
            for k in range(n_trees):
                row[k] = by_class[k, i]


@njit(cache=True, error_model="numpy")
def _root_sums(by_row, bins, first, last, sums):
    """Sums of residuals per (latent, bin, class) for classes first..last-1, all classes at once."""
    for f in range(len(bins)):
        sums[f] = 0.0
        for i in range(bins.shape[1]):
            into, row = sums[f, bins[f, i]], by_row[i, first:last]
            for k in range(len(row)):
                into[k] += row[k]


@njit(cache=True, error_model="numpy")
def _root_histogram(sums, r, table, histogram):
    """The root's histogram of one class; returns the sum of squared residuals."""
    d = len(table.n_bins)
    histogram.positives[:] = 0.0
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
def _node_histogram(rows, r, bins_by_row, slot, node_of, histogram):
    """A node's histogram from its rows, which are marked as its own; returns the sum of squared residuals."""
    d = bins_by_row.shape[1]
    sums, positives, counts = histogram
    sums[:] = 0.0
    positives[:] = 0.0
    counts[:] = 0
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
def _subtract(histogram, other):
    for at in range(len(histogram.sums)):
        histogram.sums[at] -= other.sums[at]
    for at in range(len(histogram.sums)):
        histogram.positives[at] -= other.positives[at]
    for at in range(len(histogram.sums)):
        histogram.counts[at] -= other.counts[at]


@njit(cache=True, error_model="numpy")
def _shuffle(items, state):
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
def _split_between_bins(size, total, histogram, table, latents, inverse):
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
def _extremes(rows, r):
    lowest, highest = r[rows[0]], r[rows[0]]
    for i in rows:
        lowest = min(lowest, r[i])
        highest = max(highest, r[i])
    return lowest, highest


@njit(cache=True, error_model="numpy")
def _split_within_bins(found, rows, total, slot, histogram, table, latents, inverse, r, node_of):
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
def _midpoint(x, order, node_of, slot, position):
    """Halfway between the two values of a node between which a split at a sorted position lies."""
    below, above = position, position + 1
    while node_of[order[below]] != slot:
        below -= 1
    while node_of[order[above]] != slot:
        above += 1
    return 0.5 * np.float64(x[order[below]]) + 0.5 * np.float64(x[order[above]])


@njit(cache=True, error_model="numpy")
def _partition(rows, x, threshold, spare):
    """Move the rows with x <= threshold to the front, both parts in their old order; returns how many."""
    left, right = 0, 0
    for j in range(len(rows)):
        i = rows[j]
        goes_left = x[i] <= threshold
        rows[left] = i
        spare[right] = i
        left += goes_left
        right += not goes_left
    rows[left:] = spare[:right]
    return left


@njit(cache=True, error_model="numpy")
def _leaf(rows, r, shrink):
    """One Newton step: shrink * sum of residuals / sum of p (1 - p), where p (1 - p) = |r| (1 - |r|)."""
    slope, curvature = 0.0, 0.0
    for i in rows:
        slope += r[i]
        curvature += abs(r[i]) * (1.0 - abs(r[i]))
    return shrink * slope / curvature if curvature >= FLAT * len(rows) and len(rows) > 0 else 0.0


@njit(cache=True, error_model="numpy")
def _grow(r, root_sums, table, exact, inverse, hists, rows, spare, node_of, latents, tree, importances, state):
    """One tree on the residuals r; afterwards leaf j holds rows[bounds[j]:bounds[j + 1]]."""
    features, thresholds = tree
    n_inner = len(features)
    lows, highs = np.zeros(2 * n_inner + 1, dtype=np.int64), np.zeros(2 * n_inner + 1, dtype=np.int64)
    slots, total, squares = np.zeros(len(lows), dtype=np.int64), np.zeros(len(lows)), np.zeros(len(lows))
    histogram = Histogram(hists.sums[0], hists.positives[0], hists.counts[0])
    squares[0] = _root_histogram(root_sums, r, table, histogram)
    total[0] = histogram.sums[: table.n_bins[0]].sum()
    highs[0], used = len(r), 1
    node_of[:] = 0
    for i in range(len(r)):
        rows[i] = i
    for node in range(n_inner):
        low, high, slot, left, right = lows[node], highs[node], slots[node], 2 * node + 1, 2 * node + 2
        size, found = high - low, Split(-1, 0, 0, 0.0, 0.0)
        histogram = Histogram(hists.sums[slot], hists.positives[slot], hists.counts[slot])
        if size > 1 and squares[node] * inverse[size] - (total[node] * inverse[size]) ** 2 > PURE:
            _shuffle(latents, state)
            found = _split_between_bins(size, total[node], histogram, table, latents, inverse)
            if exact:
                found = _split_within_bins(
                    found, rows[low:high], total[node], slot, histogram, table, latents, inverse, r, node_of
                )
        lows[left], highs[right] = low, high
        if found.latent < 0:
            features[node], thresholds[node] = 0, np.inf
            highs[left] = lows[right] = high
            continue
        f = found.latent
        if exact:
            threshold = _midpoint(table.x[f], table.order[f], node_of, slot, found.position)
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
            squares[small] = _node_histogram(mine, r, table.bins_by_row, used, node_of, new)
            squares[large] = squares[node] - squares[small]
            _subtract(histogram, new)
            slots[small], slots[large] = used, slot
            used += 1
    return np.append(lows[n_inner:], len(r))


@njit(cache=True, error_model="numpy")
def boost(raw, y, table, exact, learning_rate, features, thresholds, values, importances, state):
    """Add len(features) rounds of trees to the raw predictions (K, n); all outputs are filled in place."""
    n_trees, n = raw.shape
    d, n_leaves = len(table.x), values.shape[2]
    shrink = (n_trees - 1.0) / n_trees if n_trees > 1 else 1.0
    by_class, by_row = np.empty((n_trees, n)), np.empty((n, n_trees))
    inverse = np.zeros(n + 1)
    inverse[1:] = 1.0 / np.arange(1, n + 1)
    together = max(1, min(n_trees, ROOM_FOR_ROOTS // (d * BINS)))
    shape = (max(1, n_leaves // 2), d * BINS)
    hists = Histogram(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int32))
    rows, spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    node_of, latents = np.empty(n, dtype=np.int16), np.arange(d)
    for t in range(len(features)):
        _residuals(raw, y, by_class, by_row)
        for first in range(0, n_trees, together):
            last = min(first + together, n_trees)
            sums = np.empty((d, BINS, last - first))
            _root_sums(by_row, table.bins, first, last, sums)
            for k in range(first, last):
                r, tree = by_class[k], (features[t, k], thresholds[t, k])
                bounds = _grow(
                    r, sums[:, :, k - first], table, exact, inverse, hists, rows, spare, node_of, latents, tree,
                    importances, state,
                )
                for leaf in range(n_leaves):
                    mine = rows[bounds[leaf] : bounds[leaf + 1]]
                    values[t, k, leaf] = _leaf(mine, r, shrink)
                    step = learning_rate * values[t, k, leaf]
                    for i in mine:
                        raw[k, i] += step


@njit(cache=True, error_model="numpy")
def add_trees(raw, x, features, thresholds, values, learning_rate):
    """Add the output of every tree to the raw predictions (K, n) of rows x (n, d)."""
    n_rounds, n_trees, n_inner = features.shape
    for t in range(n_rounds):
        for k in range(n_trees):
            feature, threshold, value = features[t, k], thresholds[t, k], learning_rate * values[t, k]
            for i in range(len(x)):
                node = 0
                while node < n_inner:
                    node = 2 * node + 1 + (x[i, feature[node]] > threshold[node])
                raw[k, i] += value[node - n_inner]
