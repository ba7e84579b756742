"""Compiled looks at sparse latents, one after the other, that pay for no zero: lines, bins of equal count, copies.

Copies of rows are looked for in arrays as well.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.kernels.svm import fit, winners


class Stored(NamedTuple):
    """Entries of some columns of a sparse matrix."""

    starts: Ints  # (b + 1,) where those of each column begin
    rows: Ints
    values: Floats


class Classes(NamedTuple):
    """Classes of factors, those of all numbered one after the other."""

    codes: Ints  # (k, n) class of each row, -1 of one that training rows lack, -2 where it has none
    rows: Ints  # (k,) how many have one
    counts: Ints  # (classes of all factors,) rows
    offsets: Ints  # (k + 1,) where each factor's begin


def stored(matrix: Any, columns: slice) -> Stored:
    """Some columns of a matrix by columns (CSC) of SciPy."""
    first, last = matrix.indptr[columns.start], matrix.indptr[columns.stop]
    values = matrix.data[first:last].astype(np.float64)
    return Stored(matrix.indptr[columns.start : columns.stop + 1] - first, matrix.indices[first:last], values)


def classes_of(codes: Ints, sizes: Ints) -> Classes:
    """Those of codes (k, n)."""
    counts = [np.bincount(own[own >= 0], minlength=size) for own, size in zip(codes, sizes, strict=True)]
    offsets = np.append(0, np.cumsum(sizes))
    return Classes(np.ascontiguousarray(codes), (codes > -2).sum(axis=1), np.concatenate(counts), offsets)


@njit(cache=True, nogil=True)
def sparse_accuracies(
    train: Stored, classes: Classes, test: Stored, classes_test: Classes, cost: float, result: Floats
) -> None:
    """Test accuracy (b, k) of each factor from each latent alone, see `svm.accuracies`."""
    offsets = classes.offsets
    k = len(offsets) - 1
    for i in range(len(result)):
        entries = slice(train.starts[i], train.starts[i + 1])
        order = np.argsort(train.values[entries])
        x, rows = train.values[entries][order], train.rows[entries][order]
        first, last = test.starts[i], test.starts[i + 1]
        x_test = np.zeros(last - first + 1)  # the last stands for rows that are not stored
        x_test[:-1] = test.values[first:last]
        for j in range(k):
            own = classes.codes[j][rows]
            counts = classes.counts[offsets[j] : offsets[j + 1]]
            winner = winners(x_test, fit(x[own >= 0], own[own >= 0], counts, cost))
            at_zero, right = winner[-1], 0
            hidden = classes_test.counts[offsets[j] + at_zero]
            for t in range(first, last):
                c = classes_test.codes[j, test.rows[t]]
                hidden -= c == at_zero
                right += c == winner[t - first]
            result[i, j] = (right + hidden) / classes_test.rows[j]


@njit(cache=True, nogil=True)
def ranked_tables(stored: Stored, classes: Classes, targets: Ints, sizes: Ints, tables: Ints) -> None:
    """Fill tables (b, sum of squared sizes) of each factor's classes in as many bins of equal count.

    Cuts are those of `information.equal_frequency_cuts`; rows that are not stored are counted by subtraction.

    Args:
        stored: entries, none of them 0.
        classes: of every row.
        targets: (sum of sizes less one each) ranks at which each factor's bins should end.
        sizes: (k,) bins, and classes, of each factor.
        tables: zeros.
    """
    n = classes.codes.shape[1]
    for i in range(len(tables)):
        entries = slice(stored.starts[i], stored.starts[i + 1])
        order = np.argsort(stored.values[entries])
        x, rows = stored.values[entries][order], stored.rows[entries][order]
        zeros, below = n - len(x), 0
        for value in x:
            below += value < 0.0
        changes = _changes(x, below, zeros)
        first_target, first_cell = 0, 0
        for j in range(len(sizes)):
            size = sizes[j]
            cuts = _nearest(changes, targets[first_target : first_target + size - 1])
            table = tables[i, first_cell : first_cell + size * size].reshape(size, size)
            totals = classes.counts[classes.offsets[j] : classes.offsets[j + 1]].copy()
            b = 0
            for t in range(len(x)):
                rank = t if t < below else t + zeros
                while b < len(cuts) and cuts[b] <= rank:
                    b += 1
                c = classes.codes[j, rows[t]]
                table[b, c] += 1
                totals[c] -= 1
            b = 0
            while b < len(cuts) and cuts[b] <= below:
                b += 1
            for c in range(len(totals)):
                table[b, c] += totals[c]
            first_target, first_cell = first_target + size - 1, first_cell + size * size


@njit(cache=True, nogil=True)
def _changes(x: Floats, below: int, zeros: int) -> Ints:
    """Ranks at which the value changes: of rising values, `below` of them negative, and zeros in between."""
    changes = np.empty(len(x) + 1, dtype=np.int64)
    m = 0
    for t in range(len(x) + 1):
        if t == below and zeros > 0:
            if t > 0:
                changes[m] = t
                m += 1
            if t < len(x):
                changes[m] = t + zeros
                m += 1
        elif 0 < t < len(x) and x[t] > x[t - 1]:
            changes[m] = t if t <= below else t + zeros
            m += 1
    return changes[:m]


@njit(cache=True, nogil=True)
def _nearest(changes: Ints, targets: Ints) -> Ints:
    """Of the ranks where a value changes, those nearest to rising targets, the lower of two as near; each once."""
    chosen = np.empty(len(targets), dtype=np.int64)
    m, above = 0, 0
    for target in targets:
        if not len(changes):
            break
        while above < len(changes) - 1 and changes[above] < target:
            above += 1
        below = max(above - 1, 0)
        near = changes[below] if abs(target - changes[below]) <= abs(changes[above] - target) else changes[above]
        if m == 0 or chosen[m - 1] != near:
            chosen[m] = near
            m += 1
    return chosen[:m]


@njit(cache=True, nogil=True)
def _word(bits: Any, column: int) -> Any:
    """A number for a value, by its bits, in a column."""
    word = bits ^ (np.uint64(column) * np.uint64(0x9E3779B97F4A7C15))
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def add_hashes(columns: Stored, first: int, hashes: Ints) -> None:
    """Add to hashes (n,) of rows what their values are, none of them 0, and in which columns, `first` the first."""
    bits = columns.values.view(np.uint64)
    for i in range(len(columns.starts) - 1):
        for t in range(columns.starts[i], columns.starts[i + 1]):
            if columns.values[t] != 0.0:
                hashes[columns.rows[t]] += _word(bits[t], first + i)


@njit(cache=True, nogil=True)
def row_hashes(rows: Floats, hashes: Ints) -> None:
    """Add to hashes (n,) what values rows (n, d) of an array have that are not 0, and in which columns."""
    bits = rows.view(np.uint64)
    for r in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            if rows[r, i] != 0.0:
                hashes[r] += _word(bits[r, i], i)


@njit(cache=True, nogil=True)
def own_values(columns: Stored, codes: Ints, proven: Ints) -> None:
    """Say of which kinds of rows, with codes (n,), a value stands in no row of another kind."""
    for i in range(len(columns.starts) - 1):
        entries = slice(columns.starts[i], columns.starts[i + 1])
        order = np.argsort(columns.values[entries])
        values, kinds = columns.values[entries][order], codes[columns.rows[entries][order]]
        first = 0
        while first < len(values):
            last, alone = first + 1, values[first] != 0.0
            while last < len(values) and values[last] == values[first]:
                alone &= kinds[last] == kinds[first]
                last += 1
            if alone:
                proven[kinds[first]] = True
            first = last
