"""The compiled inside of `boosting`: the trees of a round.

All trees of a round share one pass over the rows for their root histograms. The best split of a node is found in two
steps. First at the edges of at most 256 bins per latent, from histograms which the larger child of a node gets by
subtracting the smaller one from its parent. Then, for exact splits, inside the bins, but only where a bound says that
something better could hide: the residuals of a bin's first rows add up to something between its negative and its
positive part. One bin in a hundred is opened, so that exact splits cost little more than binned ones. Trees are
stored complete: a node that is not split sends every row left.

Trees of many latents look for their splits elsewhere, level by level (see `gbt_screen`), and are cut here.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats
from unknot.metrics.boosting import BINS, Growth, Table

Ints = NDArray[Any]
ROOM_FOR_ROOTS = 4_000_000  # entries of the root histograms of all classes that are grown together
PURE = 2.220446049250313e-16  # nodes whose variance is below are not split, as in scikit-learn


class Histogram(NamedTuple):
    """Residuals of a node per bin; entry latent * BINS + bin."""

    sums: Floats
    positives: Floats  # sums of the positive ones
    counts: NDArray[np.int32]


class Node(NamedTuple):
    """Rows that may be split."""

    rows: Ints
    slot: int  # which histogram they are counted in
    total: float  # of their residuals
    histogram: Histogram


class Split(NamedTuple):
    """Where a node is cut; latent -1 if nowhere."""

    latent: int
    position: int  # in the latent's sorted order, of the last row on the left
    size: int  # of the left child
    sum: float  # of the left child's residuals
    gain: float  # S_left^2 / n_left + S_right^2 / n_right


class Work(NamedTuple):
    """Memory that all trees use."""

    inverse: Floats  # 1 / n, so that no split divides
    histograms: Histogram  # one per node that is still to be split
    spare: Ints
    node_of: Ints  # the histogram that each row is counted in
    latents: Ints
    state: Ints  # of the random numbers


@njit(cache=True, error_model="numpy")
def _root_sums(by_row: Floats, bins: Ints, first: int, last: int, sums: Floats) -> None:
    """Add up residuals per (latent, bin, class) for classes first..last-1, all classes at once."""
    for f in range(len(bins)):
        for i in range(bins.shape[1]):
            into, row = sums[f, bins[f, i]], by_row[i, first:last]
            for k in range(len(row)):
                into[k] += row[k]


@njit(cache=True, error_model="numpy")
def _root_histogram(sums: Floats, r: Floats, table: Table, histogram: Histogram) -> float:
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
    for i in range(len(r)):
        if r[i] > 0:
            for f in range(d):
                histogram.positives[(f << 8) + table.bins_by_row[i, f]] += r[i]
    return squares


@njit(cache=True, error_model="numpy")
def _node_histogram(rows: Ints, r: Floats, table: Table, slot: int, node_of: Ints, histogram: Histogram) -> float:
    """A node's histogram from its rows, which are marked as its own; returns the sum of squared residuals."""
    bins_by_row = table.bins_by_row
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
def _subtract(histogram: Histogram, other: Histogram) -> None:
    for at in range(len(histogram.sums)):
        histogram.sums[at] -= other.sums[at]
    for at in range(len(histogram.sums)):
        histogram.positives[at] -= other.positives[at]
    for at in range(len(histogram.sums)):
        histogram.counts[at] -= other.counts[at]


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
def _split_between_bins(node: Node, table: Table, work: Work) -> Split:
    """The split with the largest S_left^2 / n_left + S_right^2 / n_right among the edges of bins."""
    sums, _, counts = node.histogram
    size, total, inverse = len(node.rows), node.total, work.inverse
    best, best_f, best_p, best_n, best_c = -np.inf, -1, 0, 0, 0.0
    for f in work.latents:
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
def _split_within_bins(split: Split, node: Node, r: Floats, table: Table, work: Work) -> Split:
    """A better split than one between bins inside a bin, if there is one.

    With residuals r' = r - mean, the gain beyond the parent's is C^2 (1/n + 1/(N - n)) where C adds up the r' on the
    left. Inside a bin, C moves by at most what its positive r' (upwards) or its negative r' (downwards) add up to.
    """
    sums, positives, counts = node.histogram
    best_f, best_p, best_n, best_c, best = split
    size, total, slot = len(node.rows), node.total, node.slot
    inverse, node_of = work.inverse, work.node_of
    mean = total * inverse[size]
    parent = total * mean
    up, down, positive = max(0.0, -mean), max(0.0, mean), 0.0
    for b in range(table.n_bins[work.latents[0]]):
        positive += positives[(work.latents[0] << 8) + b]
    one_sign = positive <= 1e-10 * size or positive - total <= 1e-10 * size
    detour = 0.0
    if one_sign:
        # Residuals that are all alike: C moves by little per row, and has to end where the bin ends.
        lowest, highest = _extremes(node.rows, r)
        if highest > lowest:
            detour = (highest - mean) * (mean - lowest) / (highest - lowest)
    for f in work.latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(table.n_bins[f]):
            count = counts[base + b]
            if count > 1:
                start = c - n * mean
                if one_sign:
                    end = start + sums[base + b] - count * mean
                    high, low = max(start, end) + detour * count, min(start, end) - detour * count
                else:
                    high = start + up * count + positives[base + b]
                    low = start - down * count + sums[base + b] - positives[base + b]
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
def _midpoint(x: NDArray[np.float32], order: Ints, node_of: Ints, slot: int, position: int) -> float:
    """Halfway between the two values of a node between which a split at a sorted position lies."""
    below, above = position, position + 1
    while node_of[order[below]] != slot:
        below -= 1
    while node_of[order[above]] != slot:
        above += 1
    return 0.5 * np.float64(x[order[below]]) + 0.5 * np.float64(x[order[above]])


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
def _cut(
    node: int, split: Split, slot: int, exact: bool, table: Table, tree: Growth, node_of: Ints, spare: Ints
) -> int:
    """Part the rows of a node between its children, where a split says so; returns where the right ones begin."""
    left, right, f = 2 * node + 1, 2 * node + 2, split.latent
    low, high = tree.lows[node], tree.highs[node]
    middle: int = high
    if f < 0:
        tree.features[node], tree.thresholds[node] = 0, np.inf
    else:
        threshold: float = table.edges[f, table.bins[f, table.order[f, split.position]]]
        if exact:
            threshold = _midpoint(table.x[f], table.order[f], node_of, slot, split.position)
        tree.features[node], tree.thresholds[node] = f, threshold
        middle = low + _partition(tree.rows[low:high], table.x[f], threshold, spare)
    tree.lows[left], tree.highs[left], tree.lows[right], tree.highs[right] = low, middle, middle, high
    return middle


@njit(cache=True, error_model="numpy")
def _grow(
    r: Floats, sums: Floats, table: Table, exact: bool, work: Work, tree: Growth, importances: Floats
) -> None:
    """One tree on the residuals r, whose root sums are known."""
    inverse, hists, spare, node_of, latents, state = work
    lows, highs, slots, total, squares = tree.lows, tree.highs, tree.slots, tree.totals, tree.squares
    n_inner = len(tree.features)
    histogram = Histogram(hists.sums[0], hists.positives[0], hists.counts[0])
    squares[0], total[0] = _root_histogram(sums, r, table, histogram), 0.0
    lows[0], highs[0], slots[0], used = 0, len(r), 0, 1
    for i in range(len(r)):
        tree.rows[i], node_of[i] = i, 0
        total[0] += r[i]
    for node in range(n_inner):
        low, high, slot, left, right = lows[node], highs[node], slots[node], 2 * node + 1, 2 * node + 2
        size, split = high - low, Split(-1, 0, 0, 0.0, 0.0)
        histogram = Histogram(hists.sums[slot], hists.positives[slot], hists.counts[slot])
        if size > 1 and squares[node] * inverse[size] - (total[node] * inverse[size]) ** 2 > PURE:
            _shuffle(latents, state)
            here = Node(tree.rows[low:high], slot, total[node], histogram)
            split = _split_between_bins(here, table, work)
            if exact:
                split = _split_within_bins(split, here, r, table, work)
        middle = _cut(node, split, slot, exact, table, tree, node_of, spare)
        if split.latent < 0:
            squares[left] = squares[right] = 0.0
            continue
        importances[split.latent] += split.gain - total[node] * total[node] * inverse[size]
        total[left], total[right] = split.sum, total[node] - split.sum
        if right < n_inner:
            small, large = (left, right) if middle - low <= high - middle else (right, left)
            new = Histogram(hists.sums[used], hists.positives[used], hists.counts[used])
            mine = tree.rows[lows[small] : highs[small]]
            squares[small] = _node_histogram(mine, r, table, used, node_of, new)
            squares[large] = squares[node] - squares[small]
            _subtract(histogram, new)
            slots[small], slots[large] = used, slot
            used += 1


@njit(cache=True, error_model="numpy")
def grow_round(
    residuals: tuple[Floats, Floats], columns: Any, exact: bool, trees: Any, importances: Floats, state: Ints
) -> None:
    """Fit one tree per class to the residuals, (K, n) and (n, K); trees and importances are filled in.

    `columns` is a `Table` and `trees` a `Growth` as plain tuples, so that compiled code on disk does not depend on who
    made them.
    """
    table = Table(*columns)
    by_class, by_row = residuals
    n_trees, n = by_class.shape
    d, n_inner = len(table.x), trees[0].shape[1]
    work = _work(n, d, max(1, (n_inner + 1) // 2), state)
    together = max(1, min(n_trees, ROOM_FOR_ROOTS // (d * BINS)))
    for first in range(0, n_trees, together):
        last = min(first + together, n_trees)
        sums = np.zeros((d, BINS, last - first))
        _root_sums(by_row, table.bins, first, last, sums)
        for k in range(first, last):
            _grow(by_class[k], sums[:, :, k - first], table, exact, work, _tree(trees, k), importances)


@njit(cache=True, error_model="numpy", nogil=True)
def cut_level(
    level: int,
    residuals: Floats,
    splits: Ints,
    columns: Any,
    exact: bool,
    trees: Any,
    node_of: Ints,
    importances: Floats,
) -> None:
    """Cut the nodes of a level, of one tree per row of the residuals; splits (K, nodes, 2) are latent and position."""
    table = Table(*columns)
    spare = np.empty(residuals.shape[1], dtype=np.int32)
    first = 2**level - 1
    for k in range(len(residuals)):
        tree, r = _tree(trees, k), residuals[k]
        for node in range(first, 2 * first + 1):
            left, right, total = 2 * node + 1, 2 * node + 2, tree.totals[node]
            latent, position = splits[k, node - first]
            split = Split(latent, position, 0, 0.0, 0.0)
            middle = _cut(node, split, tree.slots[node], exact, table, tree, node_of[k], spare)
            if latent < 0:
                continue
            low, high, below = tree.lows[node], tree.highs[node], 0.0
            for i in tree.rows[low:middle]:
                below += r[i]
            tree.totals[left], tree.totals[right] = below, total - below
            gain = below * below / (middle - low) + (total - below) ** 2 / (high - middle)
            importances[latent] += gain - total * total / (high - low)


@njit(cache=True, error_model="numpy")
def _tree(trees: Any, k: int) -> Growth:
    """One of several trees."""
    features, thresholds, rows, lows, highs, slots, totals, squares = trees
    return Growth(features[k], thresholds[k], rows[k], lows[k], highs[k], slots[k], totals[k], squares[k])


@njit(cache=True, error_model="numpy")
def _work(n: int, d: int, n_slots: int, state: Ints) -> Work:
    inverse = np.zeros(n + 1)
    for m in range(1, n + 1):
        inverse[m] = 1.0 / m
    shape = (n_slots, d * BINS)
    hists = Histogram(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int32))
    spare = np.empty(n, dtype=np.int32)
    return Work(inverse, hists, spare, np.empty(n, dtype=np.int16), np.arange(d), state)
