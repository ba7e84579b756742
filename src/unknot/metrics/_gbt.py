"""The compiled inside of `boosting`: gradient boosted trees with exact splits.

The best split of a node is found twice over. First at the edges of at most 256 bins per latent, from histograms that
a node gets by subtracting its smaller child from its parent. Then, for exact splits, inside those bins only where a
bound says that something better could hide: the sum of a bin's first rows lies between its sum of negative and
its sum of positive residuals, so that few bins are ever opened. Trees are stored complete: a node that is not
split sends every row left.
"""

import math

import numpy as np
from numba import njit

BINS = 256
ROWS_AT_A_TIME = 64  # softmax and transposition work on blocks that stay in the fastest cache


@njit(cache=True, error_model="numpy")
def residuals(raw, y, by_class, by_row):
    """Negative gradient of the log loss: 1[y = k] - p_k, stored as (K, n) and as (n, K)."""
    n_trees, n = raw.shape
    if n_trees == 1:
        for i in range(n):
            r = y[i] - 1.0 / (1.0 + math.exp(-raw[0, i]))
            by_class[0, i] = r
            by_row[i, 0] = r
        return
    top = np.empty(ROWS_AT_A_TIME)
    total = np.empty(ROWS_AT_A_TIME)
    for start in range(0, n, ROWS_AT_A_TIME):
        m = min(ROWS_AT_A_TIME, n - start)
        top[:] = -np.inf
        total[:] = 0.0
        for k in range(n_trees):
            for i in range(m):
                top[i] = max(top[i], raw[k, start + i])
        for k in range(n_trees):
            for i in range(m):
                by_class[k, start + i] = math.exp(raw[k, start + i] - top[i])
            for i in range(m):
                total[i] += by_class[k, start + i]
        for i in range(m):
            total[i] = -1.0 / total[i]
        for k in range(n_trees):
            for i in range(m):
                by_class[k, start + i] *= total[i]
        for i in range(m):
            by_class[y[start + i], start + i] += 1.0
        for i in range(m):
            for k in range(n_trees):
                by_row[start + i, k] = by_class[k, start + i]


@njit(cache=True, error_model="numpy")
def root_histograms(by_row, bins, n_bins, y, first, last, sums, positives):
    """Sum of residuals and of positive residuals per (latent, bin, class) for classes first..last-1."""
    d, n = bins.shape
    width = last - first
    for f in range(d):
        for b in range(n_bins[f]):
            for k in range(width):
                sums[f, b, k] = 0.0
                positives[f, b, k] = 0.0
        for i in range(n):
            b = bins[f, i]
            into = sums[f, b]
            of = by_row[i]
            for k in range(width):
                into[k] += of[first + k]
        if by_row.shape[1] == 1:
            for i in range(n):
                positives[f, bins[f, i], 0] += max(by_row[i, 0], 0.0)
        else:
            for i in range(n):
                if first <= y[i] < last:
                    positives[f, bins[f, i], y[i] - first] += by_row[i, y[i]]


@njit(cache=True, error_model="numpy")
def node_histogram(rows, r, bins_by_row, slot, node_of, sums, positives, counts):
    """Histograms of one node from its rows; returns the sum of squared residuals."""
    d = bins_by_row.shape[1]
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
def shuffle(items, state):
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
def best_split(
    exact, size, total, slot, sums, positives, counts, r, node_of, order, starts, distinct, n_bins, latents, inverse, stats
):
    """Latent, sorted position, left size, left sum and gain of the best split; latent -1 if there is none."""
    best, best_f, best_p, best_n, best_c = -np.inf, -1, 0, 0, 0.0
    for f in latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(n_bins[f] - 1):
            if counts[base + b] == 0:
                continue
            c += sums[base + b]
            n += counts[base + b]
            if n == size:
                break
            gain = c * c * inverse[n] + (total - c) * (total - c) * inverse[size - n]
            if gain > best:
                best, best_f, best_p, best_n, best_c = gain, f, starts[f, b + 1] - 1, n, c
    if not exact:
        return best_f, best_p, best_n, best_c, best
    mean = total * inverse[size]
    level = total * mean  # what the gain is when nothing is gained
    below, above = max(0.0, mean), max(0.0, -mean)
    for f in latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(n_bins[f]):
            count = counts[base + b]
            if count > 1:
                start = c - n * mean
                high = start + positives[base + b] + above * count
                low = start + sums[base + b] - positives[base + b] - below * count
                reach = max(high * high, low * low)
                first = inverse[n + 1] + inverse[size - n - 1]
                last = inverse[n + count - 1] + inverse[size - n - count + 1]
                bound = level + reach * max(first, last)
                if bound > best:
                    stats[0] += 1
                    c_in, n_in, n_seen = c, n, n
                    for p in range(starts[f, b], starts[f, b + 1] - 1):
                        i = order[f, p]
                        if node_of[i] == slot:
                            c_in += r[i]
                            n_in += 1
                        if distinct[f, p] and n_in > n_seen and n_in < size:
                            n_seen = n_in
                            rest = total - c_in
                            gain = c_in * c_in * inverse[n_in] + rest * rest * inverse[size - n_in]
                            if gain > best:
                                best, best_f, best_p, best_n, best_c = gain, f, p, n_in, c_in
            c += sums[base + b]
            n += count
            if n == size:
                break
    return best_f, best_p, best_n, best_c, best


@njit(cache=True, error_model="numpy")
def midpoint(x, order, node_of, slot, position):
    """Halfway between the two values of a node that a split at a sorted position lies between."""
    below = position
    while node_of[order[below]] != slot:
        below -= 1
    above = position + 1
    while node_of[order[above]] != slot:
        above += 1
    return 0.5 * np.float64(x[order[below]]) + 0.5 * np.float64(x[order[above]])


@njit(cache=True, error_model="numpy")
def partition(rows, x, threshold, spare):
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
def boost(
    raw, y, x, bins, bins_by_row, n_bins, order, starts, distinct, edges, root_counts,
    exact, depth, learning_rate, features, thresholds, values, importances, state, stats
):
    """Add `len(features)` rounds of trees to the raw predictions, in place."""
    n_trees, n = raw.shape
    d = len(x)
    shrink = (n_trees - 1.0) / n_trees if n_trees > 1 else 1.0
    by_class, by_row = np.empty((n_trees, n)), np.empty((n, n_trees))
    inverse = np.zeros(n + 1)
    inverse[1:] = 1.0 / np.arange(1, n + 1)
    chunk = max(1, min(n_trees, 4_000_000 // (d * BINS)))
    root_sums, root_positives = np.empty((d, BINS, chunk)), np.empty((d, BINS, chunk))
    slots = 1 << (depth - 1)
    sums, positives = np.zeros((slots, d * BINS)), np.zeros((slots, d * BINS))
    counts = np.zeros((slots, d * BINS), dtype=np.int32)
    rows, spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    node_of = np.empty(n, dtype=np.int16)
    latents = np.arange(d)
    nodes = 2 << depth
    lows, highs = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    slot_of = np.zeros(nodes, dtype=np.int64)
    total, squares = np.zeros(nodes), np.zeros(nodes)
    for t in range(len(features)):
        residuals(raw, y, by_class, by_row)
        for first in range(0, n_trees, chunk):
            last = min(first + chunk, n_trees)
            root_histograms(by_row, bins, n_bins, y, first, last, root_sums, root_positives)
            for k in range(first, last):
                r = by_class[k]
                for f in range(d):
                    for b in range(n_bins[f]):
                        at = (f << 8) + b
                        sums[0, at] = root_sums[f, b, k - first]
                        positives[0, at] = root_positives[f, b, k - first]
                        counts[0, at] = root_counts[f, b]
                total[0] = 0.0
                squares[0] = 0.0
                for i in range(n):
                    rows[i] = i
                    total[0] += r[i]
                    squares[0] += r[i] * r[i]
                node_of[:] = 0
                lows[0], highs[0], slot_of[0], used = 0, n, 0, 1
                for node in range((1 << depth) - 1):
                    low, high, slot = lows[node], highs[node], slot_of[node]
                    size = high - low
                    impurity = squares[node] * inverse[size] - (total[node] * inverse[size]) ** 2
                    f, left_size, left_sum, gain = -1, size, total[node], 0.0
                    if size > 1 and impurity > 2.220446049250313e-16:
                        shuffle(latents, state)
                        f, p, left_size, left_sum, gain = best_split(
                            exact, size, total[node], slot, sums[slot], positives[slot], counts[slot],
                            r, node_of, order, starts, distinct, n_bins, latents, inverse, stats
                        )
                    left, right = 2 * node + 1, 2 * node + 2
                    lows[left], highs[right] = low, high
                    if f < 0:
                        features[t, k, node], thresholds[t, k, node] = 0, np.inf
                        highs[left] = lows[right] = high
                        total[left], squares[left], total[right], squares[right] = 0.0, 0.0, 0.0, 0.0
                        continue
                    if exact:
                        threshold = midpoint(x[f], order[f], node_of, slot, p)
                    else:
                        threshold = edges[f, bins[f, order[f, p]]]
                    features[t, k, node], thresholds[t, k, node] = f, threshold
                    importances[f] += gain - total[node] * total[node] * inverse[size]
                    middle = low + partition(rows[low:high], x[f], threshold, spare)
                    highs[left] = lows[right] = middle
                    total[left], total[right] = left_sum, total[node] - left_sum
                    if right < (1 << depth) - 1:
                        small, large = (left, right) if middle - low <= high - middle else (right, left)
                        new = used
                        used += 1
                        squares[small] = node_histogram(
                            rows[lows[small] : highs[small]], r, bins_by_row, new, node_of,
                            sums[new], positives[new], counts[new]
                        )
                        squares[large] = squares[node] - squares[small]
                        for at in range(d * BINS):
                            sums[slot, at] -= sums[new, at]
                            positives[slot, at] -= positives[new, at]
                            counts[slot, at] -= counts[new, at]
                        slot_of[small], slot_of[large] = new, slot
                for leaf in range(1 << depth):
                    node = (1 << depth) - 1 + leaf
                    top, bottom = 0.0, 0.0
                    for j in range(lows[node], highs[node]):
                        v = r[rows[j]]
                        top += v
                        bottom += abs(v) * (1.0 - abs(v))
                    m = highs[node] - lows[node]
                    value = 0.0
                    if m > 0 and bottom * inverse[m] >= 1e-150:
                        value = shrink * top / bottom
                    values[t, k, leaf] = value
                    for j in range(lows[node], highs[node]):
                        raw[k, rows[j]] += learning_rate * value


@njit(cache=True, error_model="numpy")
def add_trees(raw, x, features, thresholds, values, learning_rate):
    """Add the output of every tree to raw predictions (K, n) of rows x (n, d)."""
    n_rounds, n_trees, n_inner = features.shape
    for t in range(n_rounds):
        for k in range(n_trees):
            for i in range(len(x)):
                node = 0
                while node < n_inner:
                    node = 2 * node + 1 + (x[i, features[t, k, node]] > thresholds[t, k, node])
                raw[k, i] += learning_rate * values[t, k, node - n_inner]
