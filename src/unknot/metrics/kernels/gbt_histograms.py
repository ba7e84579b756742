"""The compiled inside of `screening`: how residuals are spread over the coarse bins of many latents, in every node.

Residuals are rounded to whole numbers, in units that let the sum of all fit, so that sums are exact and do not depend
on the order of rows. Whole numbers also make one addition do for three: a row is a word, with its residual in the
lowest bits, above it the residual again if it is positive, rounded up, and a one in the highest. The histogram of a
node has sums of words, entry bin * width + latent. That of its larger child is what the smaller one leaves.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats
from unknot.metrics.boosting import COARSE as BINS
from unknot.metrics.boosting import Growth, Screen

Ints = NDArray[Any]
CELLS = BINS * BINS  # of two latents
FEW = 400  # rows that are added to each latent by itself


@njit(cache=True, error_model="numpy", nogil=True)
def _bits(number: int) -> int:
    """How many bits a whole number takes."""
    bits = 1
    while number >> bits:
        bits += 1
    return bits


@njit(cache=True, error_model="numpy", nogil=True)
def _pack(r: Floats, words: Ints, scale: Floats) -> None:
    """Each residual of fewer than 2^19 rows as a word, and how that is done: `Scale` of `gbt_screen` reads it."""
    n, above, below, n_above = len(r), 0.0, 0.0, 0
    for i in range(n):
        above += max(r[i], 0.0)
        below -= min(r[i], 0.0)
        n_above += r[i] > 0.0
    positive_bits = _bits(n_above) + min(4, max(1, 18 - _bits(n)))  # the fewer, the larger they are by rounding up
    sum_bits = min(63 - positive_bits, 53) - _bits(n)  # 53 at most, so that N times a sum is exact as a float
    unit = (2.0 ** (sum_bits - 1) - n) / max(above, below, 1e-300)
    largest, positive = 0.0, 0.0
    for i in range(n):
        q = np.rint(r[i] * unit)
        largest, positive = max(largest, abs(q)), positive + max(q, 0.0)
    share = (2.0**positive_bits - 1 - n_above) / max(positive, 1.0)
    one = np.int64(1) << (sum_bits + positive_bits)
    for i in range(n):
        q = np.rint(r[i] * unit)
        words[i] = one + (np.int64(np.ceil(max(q, 0.0) * share)) << sum_bits) + np.int64(q)
    scale[0], scale[1], scale[2], scale[3] = sum_bits, positive_bits, share, largest


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_dense(rows: Ints, words: Ints, bins: Ints, histogram: Ints) -> None:
    """Rows are added to the cells of two latents, and cells to the bins of both: half as many additions."""
    n_rows, own, width = len(rows), words[rows], 2 * len(bins)
    if n_rows < FEW:
        sums = np.empty((2, BINS), dtype=np.int64)
        for p in range(len(bins)):
            codes = bins[p]
            sums[:] = 0
            for j in range(n_rows):
                code = codes[rows[j]]
                sums[0, code // BINS] += own[j]
                sums[1, code % BINS] += own[j]
            for b in range(BINS):
                histogram[b * width + 2 * p] = sums[0, b]
                histogram[b * width + 2 * p + 1] = sums[1, b]
        return
    cells = np.empty((4, CELLS), dtype=np.int64)
    for p in range(0, len(bins), 4):
        first, second, third, fourth = bins[p], bins[p + 1], bins[p + 2], bins[p + 3]
        cells[:] = 0
        for j in range(n_rows):
            i, word = np.uint32(rows[j]), own[j]
            cells[0, first[i]] += word
            cells[1, second[i]] += word
            cells[2, third[i]] += word
            cells[3, fourth[i]] += word
        for pair in range(4):
            _add_cells(cells[pair], width, histogram[2 * (p + pair) :])


@njit(cache=True, error_model="numpy", nogil=True)
def _add_cells(cells: Ints, width: int, histogram: Ints) -> None:
    """Give the cells of two latents to the bins of each."""
    second = np.zeros(BINS, dtype=np.int64)
    for a in range(BINS):
        row, total = cells[a * BINS : (a + 1) * BINS], np.int64(0)
        for b in range(BINS):
            total += row[b]
            second[b] += row[b]
        histogram[a * width] = total
    for b in range(BINS):
        histogram[b * width + 1] = second[b]


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_roots(words: Ints, bins: Ints, histograms: Ints) -> None:
    """The histograms of all rows, of four trees at a time: they fall into the same cells, side by side."""
    n_trees, n = words.shape
    of_rows, cells = np.zeros(4 * n, dtype=np.int64), np.empty((2, 4 * CELLS), dtype=np.int64)
    for k in range(0, n_trees, 4):
        for tree in range(k, min(k + 4, n_trees)):
            of_rows[tree - k :: 4] = words[tree]
        for p in range(0, len(bins), 2):
            first, second = bins[p], bins[p + 1]
            cells[:] = 0
            for i in range(n):
                _add_four(cells[0], 4 * np.int64(first[i]), of_rows, 4 * i)
                _add_four(cells[1], 4 * np.int64(second[i]), of_rows, 4 * i)
            for pair in range(2):
                _add_cells_of_four(cells[pair], 2 * len(bins), histograms[k : k + 4, 2 * (p + pair) :])


@njit(cache=True, error_model="numpy", nogil=True)
def _add_cells_of_four(cells: Ints, width: int, histograms: Ints) -> None:
    """The same of four trees or fewer; cells are spent."""
    second = np.zeros(4 * BINS, dtype=np.int64)
    for a in range(BINS):
        row = cells[4 * a * BINS :]
        for b in range(BINS):
            _add_four(second, 4 * b, row, 4 * b)
        rest = BINS // 2
        while rest:  # fold the row, as one sum would wait for the last one
            for b in range(rest):
                _add_four(row, 4 * b, row, 4 * (b + rest))
            rest //= 2
    for tree in range(len(histograms)):
        for b in range(BINS):
            histograms[tree, b * width] = cells[4 * b * BINS + tree]
            histograms[tree, b * width + 1] = second[4 * b + tree]


@intrinsic
def _add_four(_: Any, into: Any, to: Any, values: Any, at: Any) -> Any:
    """Add values[at : at + 4] to into[to : to + 4], in one instruction, where Numba would make four."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        four = ir.VectorType(ir.IntType(64), 4)
        places = [
            builder.bitcast(
                builder.gep(context.make_array(kind)(context, builder, array).data, [index]), four.as_pointer()
            )
            for kind, array, index in zip(signature.args[::2], arguments[::2], arguments[1::2], strict=True)
        ]
        both = [builder.load(place, align=8) for place in places]
        builder.store(builder.add(*both), places[0], align=8)
        return context.get_dummy_value()

    return types.void(into, types.int64, values, types.int64), build


@njit(cache=True, error_model="numpy", nogil=True)
def _fill_sparse(rows: Ints, words: Ints, screen: Screen, histogram: Ints) -> None:
    """Only entries outside of the most common bin are added up: it has what they leave."""
    width = len(screen.common)
    rest = np.zeros(width, dtype=np.int64)
    whole = np.int64(0)
    for i in rows:
        whole += words[i]
        for at in screen.entries[screen.rows[i] : screen.rows[i + 1]]:
            histogram[at] += words[i]
    for b in range(BINS):
        rest += histogram[b * width : (b + 1) * width]
    for f in range(width):
        histogram[screen.common[f]] = whole - rest[f]


@njit(cache=True, error_model="numpy", nogil=True)
def _fill(rows: Ints, words: Ints, screen: Screen, histogram: Ints) -> None:
    histogram[:] = 0
    if len(screen.bins):
        _fill_dense(rows, words, screen.bins, histogram)
    else:
        _fill_sparse(rows, words, screen, histogram)


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
def count_level(level: int, residuals: Floats, columns: Any, trees: Any, kept: Any) -> None:
    """Fill in the histograms of all nodes of a level, of one tree per row of the residuals.

    `columns` is a `Screen` and `trees` a `Growth` as plain tuples, so that compiled code on disk does not depend on who
    made them. What is kept between levels: histograms (K, leaves / 2, entries), words and nodes (K, n) of the rows, and
    how words are packed (K, 4).
    """
    screen = Screen(*columns)
    hists, words, node_of, scales = kept
    features, thresholds, rows, lows, highs, slots, totals, squares = trees
    first, n_trees = 2**level - 1, len(residuals)
    for k in range(n_trees):
        r = residuals[k]
        tree = Growth(features[k], thresholds[k], rows[k], lows[k], highs[k], slots[k], totals[k], squares[k])
        for node in range(first // 2, first):
            _branch(node, r, words[k], tree, screen, hists[k], node_of[k])
        if level == 0:
            tree.lows[0], tree.highs[0], tree.slots[0], tree.totals[0], tree.squares[0] = 0, len(r), 0, 0.0, 0.0
            for i in range(len(r)):
                tree.rows[i], node_of[k, i] = i, 0
                tree.totals[0] += r[i]
                tree.squares[0] += r[i] * r[i]
            _pack(r, words[k], scales[k])
            if not len(screen.bins):
                _fill(tree.rows, words[k], screen, hists[k, 0])
    if level == 0 and len(screen.bins):
        _fill_roots(words[:n_trees], screen.bins, hists[:n_trees, 0])
