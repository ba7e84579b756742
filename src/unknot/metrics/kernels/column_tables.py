"""Compiled contingency tables of one latent after the other, of dense columns or of sparse ones.

A latent's table stays in the cache while all rows are counted. Rows are counted by the joint value of a few factors
at once (*groups*), which takes as many steps fewer, and tables of single factors are sums of those.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[Any]


@njit(cache=True, nogil=True)
def bin_of(value: float, edges: Floats, per_width: float, last: int, zero: bool) -> int:
    """The number of left edges <= value, less one; with `zero` that of 0 itself is 0 and others come after it."""
    if zero:
        if value == 0.0:
            return 0
        low, high = 0, last  # cuts <= value, by halving
        while low < high:
            half = (low + high) // 2
            if edges[half] <= value:
                low = half + 1
            else:
                high = half
        return low + 1
    guess = (value - edges[0]) * per_width
    b = 0
    if guess > 0:
        b = last if guess >= last else int(guess)
    while b > 0 and value < edges[b]:
        b -= 1
    while b < last and value >= edges[b + 1]:
        b += 1
    return b


@njit(cache=True, nogil=True)
def per_width_of(edges: Floats, zero: bool) -> float:
    """How many bins of equal width there are to one; 0 of other bins, and of a latent of one value."""
    last = len(edges) - 1
    return last / (edges[last] - edges[0]) if not zero and edges[last] > edges[0] else 0.0


@njit(cache=True, nogil=True)
def cut(column: Floats, edges: Floats, step: float, codes: Ints) -> None:
    """Fill in the bins of equal width of a column (n,), those of `bin_of`: at once where doubles tell them apart.

    Args:
        column: values, some of which may lie outside all bins.
        edges: (bins,) low + step * b, or infinite but for the first.
        step: between them.
        codes: (n,) filled in.
    """
    low, last = edges[0], len(edges) - 1
    largest = max(abs(low), abs(edges[last]), 1e-280)
    if 1e-12 * largest < step < np.inf and edges[last] < np.inf:
        per_width, end = 1.0 / step, float(last)
        for r in range(len(column)):
            value = column[r]
            b = np.floor((value - low) * per_width)  # one off at most, by rounding
            b = b - 1.0 if value < low + step * b else b
            b = b + 1.0 if value >= low + step * (b + 1.0) else b
            b = b if b > 0.0 else 0.0
            codes[r] = np.int32(b if b < end else end)
    else:
        per_width = per_width_of(edges, False)
        for r in range(len(column)):
            codes[r] = bin_of(column[r], edges, per_width, last, False)


@njit(cache=True, nogil=True)
def count_dense(columns: Floats, edges: Floats, zero: bool, cells: Ints, counts: Ints) -> None:
    """Add rows to counts (b, bins, all joint values) by the bin of each latent and the cells of each group.

    Args:
        columns: (b, rows) latents.
        edges: (b, e) left edges of bins, or with `zero` cuts of what is not zero, padded with infinity.
        zero: whether 0 has a bin of its own.
        cells: (rows, groups).
        counts: added to.
    """
    b, n = columns.shape
    groups = cells.shape[1]
    for i in range(b):
        table, edge = counts[i], edges[i]
        per_width, last = per_width_of(edge, zero), len(edge) if zero else len(edge) - 1
        for r in range(n):
            row = table[bin_of(columns[i, r], edge, per_width, last, zero)]
            for g in range(groups):
                row[cells[r, g]] += 1


@njit(cache=True, nogil=True)
def count_sparse(
    start: Ints, rows: Ints, values: Any, edges: Floats, zero: bool, cells: Ints, totals: Ints, counts: Ints
) -> None:
    """Fill counts (b, bins, values) of sparse latents; rows that are not stored are 0 and counted by subtraction.

    Args:
        start: (b + 1,) where the entries of each latent begin.
        rows: row of each entry.
        values: its value.
        edges: as of `count_dense`.
        zero: as of `count_dense`.
        cells: (n, k) where each factor's value is counted.
        totals: (values,) rows of each value of each factor.
        counts: zeros.
    """
    k = cells.shape[1]
    for i in range(len(start) - 1):
        table, edge = counts[i], edges[i]
        per_width, last = per_width_of(edge, zero), len(edge) if zero else len(edge) - 1
        for t in range(start[i], start[i + 1]):
            row, cell = table[bin_of(np.float64(values[t]), edge, per_width, last, zero)], cells[rows[t]]
            for j in range(k):
                row[cell[j]] += 1
        rest = table[bin_of(0.0, edge, per_width, last, zero)]
        for v in range(len(totals)):
            stored = 0
            for b in range(len(table)):
                stored += table[b, v]
            rest[v] += totals[v] - stored


@njit(cache=True, nogil=True)
def single(counts: Ints, parts: Ints, joint: Ints, tables: Ints) -> None:
    """Tables (b, bins, values of all factors) of single factors from counts (b, bins, joint values).

    Args:
        counts: by group.
        parts: (joint values, most factors of a group) which value of which factor each joint value stands for.
        joint: (joint values,) how many factors its group has.
        tables: zeros.
    """
    for i in range(len(counts)):
        for b in range(counts.shape[1]):
            row, into = counts[i, b], tables[i, b]
            for v in range(len(row)):
                if row[v]:
                    for f in range(joint[v]):
                        into[parts[v, f]] += row[v]


@njit(cache=True, nogil=True)
def reduce(tables: Ints, offsets: Ints, correct: bool, mutual: Floats, entropy: Floats) -> None:
    """Mutual information (b, k) of tables (b, bins, values of all factors), and entropy of their bins, in nats.

    The entropy is (b, 1) where all factors have the same rows, else (b, k). Information is summed as
    n_bv log(n_bv n / (n_b n_v)): a table that is exactly independent gives exactly 0.
    """
    d, bins, _ = tables.shape
    k = len(offsets) - 1
    of_bin = np.empty(bins)
    for i in range(d):
        table = tables[i]
        for j in range(k):
            first, last = offsets[j], offsets[j + 1]
            n, occupied, present, total = 0.0, 0, 0, 0.0
            for b in range(bins):
                of_bin[b] = 0.0
                for v in range(first, last):
                    of_bin[b] += table[b, v]
                n += of_bin[b]
                occupied += of_bin[b] > 0
            for v in range(first, last):
                of_value = 0.0
                for b in range(bins):
                    of_value += table[b, v]
                present += of_value > 0
                for b in range(bins):
                    if table[b, v]:
                        total += table[b, v] * np.log(table[b, v] * n / (of_bin[b] * of_value))
            if n > 0:
                total /= n
                if correct:
                    total -= (occupied - 1) * (present - 1) / (2 * n)
            mutual[i, j] = max(total, 0.0)
            if j < entropy.shape[1]:
                entropy[i, j] = 0.0
                for b in range(bins):
                    if of_bin[b] > 0:
                        entropy[i, j] -= of_bin[b] / n * np.log(of_bin[b] / n)


@njit(cache=True, nogil=True)
def sparse_extent(start: Ints, values: Any, n: int, low: Floats, high: Floats) -> None:
    """Smallest and largest value of sparse latents of n rows."""
    for i in range(len(start) - 1):
        empty = start[i + 1] - start[i] < n
        small, large = (0.0, 0.0) if empty else (np.inf, -np.inf)
        for t in range(start[i], start[i + 1]):
            small, large = min(small, np.float64(values[t])), max(large, np.float64(values[t]))
        low[i], high[i] = small, large
