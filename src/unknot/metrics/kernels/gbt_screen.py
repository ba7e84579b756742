"""The compiled inside of `screening`: the best split of every node of a level, among many latents.

A node has a histogram of at most 32 coarse bins per latent. Its entries are whole numbers, so that one addition does
for three: in the lowest bits the sum of the residuals, in units that let the sum of all fit; above it the sum of the
positive ones, rounded up; in the highest the count. Whole numbers also make the histogram of a node's larger child
exact, which is what the smaller one leaves of its parent.

No split is lost. With r' = r - mean, the gain of a cut beyond the parent's is C^2 w, where C adds up the r' of the n
rows on its left and w = 1/n + 1/(N - n). It is known at the edges of coarse bins. Within a bin C rises by at most P,
its positive r', and falls by at most what P is more than the bin's own sum; and w, which is convex, is at most that of
one of its edges. Only bins that could hold something better than the best edge are opened: one in a thousand.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Bools, Floats
from unknot.metrics.boosting import Growth, Screen

Ints = NDArray[Any]
PURE = 2.220446049250313e-16  # nodes whose variance is below are not split, as in scikit-learn
BINS = 32  # of a latent at most
CELLS = BINS * BINS  # of two latents
FEW = 400  # rows that are added to each latent by itself
JUST_BELOW = 1 - 1e-9  # the share of the best edge's gain that a cut must exceed, so that the edge itself does


class Scale(NamedTuple):
    """How entries are packed."""

    sum_bits: int
    positive_bits: int
    unit: float  # residuals are so many units large
    positive_unit: float


class Path(NamedTuple):
    """What is known at the edges of a latent's bins: before the first bin, and after each."""

    words: Ints  # entries added up
    sizes: Floats  # n, rows to the left
    sums: Floats  # C, their sum less the node's mean
    weights: Floats  # w = 1/n + 1/(N - n), 0 where a side is empty
    positives: Floats  # P of all bins to the left


@njit(cache=True, error_model="numpy", nogil=True)
def _pack(r: Floats, words: Ints) -> Scale:
    """Each residual as an entry of its own."""
    n, positive, total = len(r), 0.0, 0.0
    for i in range(n):
        positive += max(r[i], 0.0)
        total += abs(r[i])
    count_bits = 1
    while n >> count_bits:
        count_bits += 1
    positive_bits = count_bits + 1
    sum_bits = 63 - count_bits - positive_bits
    unit = (2.0 ** (sum_bits - 1) - n) / max(total, 1e-300)
    positive_unit = (2.0**positive_bits - 1 - n) / max(positive, 1e-300)
    one = np.int64(1) << (sum_bits + positive_bits)
    for i in range(n):
        up = np.int64(np.ceil(max(r[i], 0.0) * positive_unit))
        words[i] = one + (up << sum_bits) + np.int64(np.rint(r[i] * unit))
    return Scale(sum_bits, positive_bits, unit, positive_unit)


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_dense(rows: Ints, words: Ints, bins: Ints, histogram: Ints) -> None:
    """Rows are added to the cells of two latents, and cells to the bins of both: half as many additions."""
    n_rows, own = len(rows), words[rows]
    if n_rows < FEW:
        for p in range(len(bins)):
            codes, into = bins[p], histogram[2 * p * BINS : 2 * (p + 1) * BINS]
            for j in range(n_rows):
                code = codes[rows[j]]
                into[code >> 5] += own[j]
                into[BINS + (code & 31)] += own[j]
        return
    cells = np.empty((2, CELLS), dtype=np.int64)
    for p in range(0, len(bins), 2):
        first, second = bins[p], bins[p + 1]
        cells[:] = 0
        for j in range(n_rows):
            i, word = rows[j], own[j]
            cells[0, first[i]] += word
            cells[1, second[i]] += word
        for half in range(2):
            start = 2 * (p + half) * BINS
            _add_cells(cells[half], histogram[start : start + BINS], histogram[start + BINS : start + 2 * BINS])


@njit(cache=True, error_model="numpy", nogil=True)
def _add_cells(cells: Ints, first: Ints, second: Ints) -> None:
    """Give the cells of two latents to the bins of each."""
    for a in range(BINS):
        row, total = cells[a * BINS : (a + 1) * BINS], np.int64(0)
        for b in range(BINS):
            total += row[b]
            second[b] += row[b]
        first[a] += total


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_roots(words: Ints, bins: Ints, histograms: Ints) -> None:
    """The histograms of all rows, of four trees at a time: they fall into the same cells, side by side."""
    n_trees, n = words.shape
    of_rows, cells = np.zeros((n, 4), dtype=np.int64), np.empty((CELLS, 4), dtype=np.int64)
    histograms[:] = 0
    for k in range(0, n_trees, 4):
        some = words[k : k + 4]
        of_rows[:, : len(some)] = some.T
        for p in range(len(bins)):
            cells[:] = 0
            codes, start = bins[p], 2 * p * BINS
            for i in range(n):
                cell = cells[codes[i]]
                cell[0] += of_rows[i, 0]
                cell[1] += of_rows[i, 1]
                cell[2] += of_rows[i, 2]
                cell[3] += of_rows[i, 3]
            for half in range(len(some)):
                into = histograms[k + half, start : start + 2 * BINS]
                for a in range(BINS):
                    total = np.int64(0)
                    for b in range(BINS):
                        word = cells[a * BINS + b, half]
                        total += word
                        into[BINS + b] += word
                    into[a] += total


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_sparse(rows: Ints, words: Ints, screen: Screen, histogram: Ints) -> None:
    """Only entries outside of the most common bin are added up: it has what they leave."""
    whole = np.int64(0)
    for i in rows:
        whole += words[i]
        for at in screen.entries[screen.rows[i] : screen.rows[i + 1]]:
            histogram[at] += words[i]
    for f in range(len(screen.common)):
        rest = whole
        for at in range(screen.starts[f], screen.starts[f] + screen.n_bins[f]):
            rest -= histogram[at]
        histogram[screen.common[f]] = rest


@njit(cache=True, error_model="numpy", nogil=True)
def _fill(rows: Ints, words: Ints, screen: Screen, histogram: Ints) -> None:
    histogram[:] = 0
    if len(screen.bins):
        _fill_dense(rows, words, screen.bins, histogram)
    else:
        _fill_sparse(rows, words, screen, histogram)


@njit(cache=True, error_model="numpy", nogil=True)
def _walk(entries: Ints, size: int, total: float, scale: Scale, path: Path) -> None:
    """Fill in the path of one latent from its part of a histogram; loops are short, to become vector instructions."""
    above, mask = 64 - scale.sum_bits, (np.int64(1) << scale.positive_bits) - 1
    mean, unit, positive_unit = total / size, 1.0 / scale.unit, 1.0 / scale.positive_unit
    lift, whole, n_bins = max(0.0, -mean), np.float64(size), len(entries)
    words, sizes, sums, weights, positives = path
    word = np.int64(0)
    for b in range(n_bins):
        word += entries[b]
        words[b + 1] = word
    for b in range(n_bins + 1):
        left = (words[b] << above) >> above
        rest = (words[b] - left) >> scale.sum_bits
        n = np.float64(rest >> scale.positive_bits)
        sizes[b] = n
        sums[b] = np.float64(left) * unit - mean * n
        positives[b] = np.float64(rest & mask) * positive_unit + lift * n
    for b in range(n_bins + 1):
        both = sizes[b] * (whole - sizes[b])
        weights[b] = whole / both if both > 0.5 else 0.0


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"nnan", "nsz"})
def _within(size: int, slack: float, divisible: Bools, path: Path, bounds: Floats) -> None:
    """The most that a cut inside each bin can gain.

    In the first and in the last bin with rows w has no bound of its own. But there C is at most n |r'|, too, so that
    C^2 / n is at most |r'| times what C can reach, and no |r'| is above 2.
    """
    _, sizes, sums, weights, positives = path
    whole = np.float64(size)
    for b in range(len(divisible)):
        up = positives[b + 1] - positives[b] + slack
        down = up - (sums[b + 1] - sums[b])
        reach = max(sums[b] + up, down - sums[b])
        inner = reach * reach * max(weights[b], weights[b + 1])
        share = max(weights[b + 1] * sizes[b + 1], weights[b] * (whole - sizes[b]))  # N / (rows of all other bins)
        outer = 2.0 * max(up, down) * (share if share > 0.5 else whole)
        at_end = sizes[b] < 0.5 or sizes[b + 1] > whole - 0.5
        bounds[b] = (outer if at_end else inner) if divisible[b] else 0.0


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"nnan", "nsz"})
def _bounds(
    size: int, total: float, slack: float, scale: Scale, screen: Screen, histogram: Ints, path: Path, most: Floats
) -> float:
    """Fill in the most that each latent can gain; returns what the best edge gains at least."""
    best = 0.0
    bounds = np.zeros(BINS)
    for f in range(len(most)):
        start, n_bins = screen.starts[f], screen.n_bins[f]
        _walk(histogram[start : start + n_bins], size, total, scale, path)
        _within(size, slack, screen.divisible[f, :n_bins], path, bounds)
        high, low = 0.0, 0.0
        for b in range(n_bins):
            c, w = abs(path.sums[b]), path.weights[b]
            high = max(high, max(bounds[b], (c + slack) * (c + slack) * w))
            less = max(c - slack, 0.0)
            low = max(low, less * less * w)
        most[f] = high
        best = max(best, low)
    return best


@njit(cache=True, error_model="numpy", nogil=True)
def _search(
    node: int, r: Floats, tree: Growth, scale: Scale, screen: Screen, histogram: Ints, node_of: Ints, latents: Ints
) -> tuple[int, int]:
    """The latent and the sorted position of the best cut of a node; latents are tried in the given order."""
    size, total, slot = tree.highs[node] - tree.lows[node], tree.totals[node], tree.slots[node]
    mean = total / size
    slack = 0.25 * size / scale.unit  # half a unit of each row on the smaller side
    words, (sizes, sums, weights, positives) = np.zeros(BINS + 1, dtype=np.int64), np.zeros((4, BINS + 1))
    path, bounds, most = Path(words, sizes, sums, weights, positives), np.zeros(BINS), np.empty(len(latents))
    best = JUST_BELOW * _bounds(size, total, slack, scale, screen, histogram, path, most)
    best_f, best_p = -1, 0
    for f in latents:
        if most[f] <= best:
            continue
        start, n_bins = screen.starts[f], screen.n_bins[f]
        _walk(histogram[start : start + n_bins], size, total, scale, path)
        _within(size, slack, screen.divisible[f, :n_bins], path, bounds)
        for b in range(n_bins):
            gain = path.sums[b + 1] ** 2 * path.weights[b + 1]
            first, last = screen.places[f, b], screen.places[f, b + 1]
            if gain > best:
                best, best_f, best_p = gain, f, last - 1
            if bounds[b] <= best:
                continue
            c, n, seen = path.sums[b], np.int64(path.sizes[b]), np.int64(path.sizes[b])
            for p in range(first, last - 1):
                i = screen.order[f, p]
                if node_of[i] == slot:
                    c += r[i] - mean
                    n += 1
                if screen.cuts[f, p] and seen < n < size:
                    seen = n
                    gain = c * c * size / (np.float64(n) * (size - n))
                    if gain > best:
                        best, best_f, best_p = gain, f, p
    return best_f, best_p


@njit(cache=True, error_model="numpy", nogil=True)
def _branch(node: int, r: Floats, words: Ints, tree: Growth, screen: Screen, hists: Ints, node_of: Ints) -> None:
    """Give both children of a node their histograms: the smaller one a new one, the larger one what is left."""
    left, right, slot = 2 * node + 1, 2 * node + 2, tree.slots[node]
    tree.squares[left] = tree.squares[right] = 0.0
    if tree.highs[right] == tree.lows[right]:
        return
    leaner = tree.highs[left] - tree.lows[left] <= tree.highs[right] - tree.lows[right]
    small, large = (left, right) if leaner else (right, left)
    new = 1 + node  # each inner node has taken one
    rows = tree.rows[tree.lows[small] : tree.highs[small]]
    _fill(rows, words, screen, hists[new])
    for at in range(hists.shape[1]):
        hists[slot, at] -= hists[new, at]
    for i in rows:
        tree.squares[small] += r[i] * r[i]
        node_of[i] = new
    tree.squares[large] = tree.squares[node] - tree.squares[small]
    tree.slots[small], tree.slots[large] = new, slot


@njit(cache=True, error_model="numpy", nogil=True)
def find_splits(
    level: int,
    residuals: Floats,
    columns: Any,
    trees: Any,
    kept: Any,
    latents: Ints,
    splits: Ints,
) -> None:
    """The best split of all nodes of a level, of one tree per row of the residuals; -1 where there is none.

    `columns` is a `Screen` and `trees` a `Growth` as plain tuples, so that compiled code on disk does not depend on who
    made them. What is kept between levels: histograms (K, leaves / 2, entries), words and nodes (K, n) of the rows.
    """
    screen = Screen(*columns)
    hists, words, node_of = kept
    features, thresholds, rows, lows, highs, slots, totals, squares = trees
    first, n_trees = 2**level - 1, len(residuals)
    if level == 0 and len(screen.bins):
        for k in range(n_trees):
            _pack(residuals[k], words[k])
        _fill_roots(words[:n_trees], screen.bins, hists[:n_trees, 0])
    for k in range(n_trees):
        r = residuals[k]
        scale = _pack(r, words[k])
        tree = Growth(features[k], thresholds[k], rows[k], lows[k], highs[k], slots[k], totals[k], squares[k])
        if level == 0:
            tree.lows[0], tree.highs[0], tree.slots[0], tree.totals[0], tree.squares[0] = 0, len(r), 0, 0.0, 0.0
            for i in range(len(r)):
                tree.rows[i], node_of[k, i] = i, 0
                tree.totals[0] += r[i]
                tree.squares[0] += r[i] * r[i]
            if not len(screen.bins):
                _fill(tree.rows, words[k], screen, hists[k, 0])
        for node in range(first // 2, first):
            _branch(node, r, words[k], tree, screen, hists[k], node_of[k])
        for node in range(first, 2 * first + 1):
            size = tree.highs[node] - tree.lows[node]
            splits[k, node - first, 0] = -1
            if size > 1 and tree.squares[node] / size - (tree.totals[node] / size) ** 2 > PURE:
                slot = tree.slots[node]
                split = _search(node, r, tree, scale, screen, hists[k, slot], node_of[k], latents)
                splits[k, node - first, 0], splits[k, node - first, 1] = split
