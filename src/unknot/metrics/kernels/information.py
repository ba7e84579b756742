"""Mutual information of binned latents and factors, in nats, from contingency tables.

Latents become bin numbers (*codes*), codes and factors become counts, and everything else is read from the
counts. MIG, MED, modularity and the SNC alignment share this file, so that they bin and count alike.

Plug-in estimates: for a latent with B occupied bins that is independent of a factor with K values, the expected
estimate is not 0 but about (B - 1)(K - 1) / (2 n). `table_information(..., correct=True)` subtracts that.
"""

import sys
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.latents import dead, extent

Codes = NDArray[np.int32]  # (n, d) bin numbers
Tables = list[Ints]  # per factor: counts (d, bins, values)

CHUNK = 65_536  # rows in flight, so that memory does not grow with the table
WORTH_COMPILING = 20_000_000  # (row, latent, factor) triples whose numpy time is about that of importing numba
MOST_BINS = 10_000  # a table of counts has so many rows for each latent


def equal_width(latents: Floats, bins: int = 20) -> Codes:
    """Codes 0..bins-1 of latents (n, d): bins of equal width between each latent's minimum and maximum.

    The code is the number of left edges that are <= the value, less one, so bins are closed on the left and the
    maximum falls into the last. A latent without variance is all zeros. Affine maps with a positive slope leave
    codes as they are (up to rounding at an edge); one outlier can empty most bins.

    >>> equal_width(np.array([[0.0], [0.9], [1.0], [1.1], [2.0]]), 2).ravel()
    array([0, 0, 1, 1, 1], dtype=int32)
    """
    edges = equal_width_edges(latents, bins)
    codes = np.empty(latents.shape, dtype=np.int32)
    for rows in _chunks(len(latents)):
        _code_width(latents[rows], edges, codes[rows], _compiled(latents.size))
    return codes


def equal_width_edges(latents: Floats, bins: int = 20) -> Floats:
    """Left edges (d, bins) of `equal_width`; all but the first are infinite where a latent is dead.

    `code(others, edges[:, 1:])` codes other rows by the same bins; what lies outside falls into the end bins.
    """
    check_bins(bins)
    low, high = extent(latents, compiled=_compiled(latents.size))
    # Steps of the halved range: the range itself can overflow.
    step = (high / 2 - low / 2) / bins * 2
    edges = low[:, None] + step[:, None] * np.arange(bins)
    edges[dead(latents, (low, high)), 1:] = np.inf
    return edges


def equal_frequency(latents: Floats, bins: int) -> Codes:
    """Codes of latents (n, d) in up to `bins` bins of about equal count; equal values always share a bin.

    >>> equal_frequency(np.array([[1.0], [1.0], [1.0], [2.0], [3.0], [3.0]]), 2).ravel()
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    ordered = np.sort(latents, axis=0)
    return code(latents, [equal_frequency_cuts(column, bins) for column in ordered.T])


def equal_frequency_cuts(ordered: Floats, bins: int) -> Floats:
    """Cut points, at most bins - 1, of one sorted latent (n,) into bins of about equal count; see `cuts_near`.

    >>> equal_frequency_cuts(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0]), 3)
    array([0.5, 1.5])
    """
    return cuts_near(ordered, equal_ranks(len(ordered), bins))


def cuts_near(ordered: Floats, targets: Floats | Ints) -> Floats:
    """Cut points of one sorted latent (n,) at target ranks, as near as may be.

    A cut lies only between two distinct values: for every target at the nearest rank where the value changes (the
    lower one when two are as near), half-way between the neighbours. A value belongs to the bin given by the number
    of cuts <= it.
    """
    chosen = _cut_ranks(_changes(ordered), targets)
    left, right = ordered[chosen - 1], ordered[chosen]
    middle = left / 2 + right / 2
    result: Floats = np.where(middle > left, np.minimum(middle, right), right)
    return result


def _changes(ordered: Floats) -> Ints:
    """Ranks at which a sorted latent changes its value: rank r lies between the r-th and the next row."""
    return np.flatnonzero(ordered[1:] > ordered[:-1]) + 1


def equal_ranks(n: int, bins: int) -> Floats:
    """Whole ranks that cut n rows into bins of about equal count."""
    check_bins(bins)
    ranks: Floats = np.rint(np.arange(1, bins) * n / bins)
    return ranks


def _cut_ranks(changes: Ints, targets: Floats | Ints) -> Ints:
    """Of the ranks where a value changes, those nearest to targets."""
    if len(changes) == 0 or len(targets) == 0:
        return np.empty(0, dtype=np.int64)
    above = np.minimum(np.searchsorted(changes, targets), len(changes) - 1)
    below = np.maximum(above - 1, 0)
    lower_is_near = np.abs(targets - changes[below]) <= np.abs(changes[above] - targets)
    return np.unique(changes[np.where(lower_is_near, below, above)])


def code(latents: Floats, cuts: Iterable[Floats]) -> Codes:
    """Codes of latents (n, d) given the sorted cut points of each latent: how many cuts are <= the value."""
    points = list(cuts)
    codes = np.empty(latents.shape, dtype=np.int32)
    if _compiled(latents.size):
        from unknot.metrics.kernels.tables import cut_codes

        padded = np.full((len(points), max(1, *map(len, points))), np.inf)
        for i, row in enumerate(points):
            padded[i, : len(row)] = row
        for rows in _chunks(len(latents)):
            cut_codes(np.ascontiguousarray(latents[rows]), padded, codes[rows])
    else:
        for i, row in enumerate(points):
            codes[:, i] = np.searchsorted(row, latents[:, i], side="right")
    return codes


def contingency(codes: Codes, n_bins: int, factors: Ints, sizes: Ints) -> Tables:
    """Per factor j, counts[latent, bin, value] of shape (d, n_bins, sizes[j]), int64.

    Args:
        codes: (n, d) bin numbers 0..n_bins-1.
        n_bins: how many bins the codes may use.
        factors: (n, k) codes 0..sizes[j]-1.
        sizes: (k,) number of values of each factor.
    """
    counts, offsets = _empty_tables(codes.shape[1], n_bins, sizes)
    compiled = _compiled(codes.size * len(sizes))
    for rows in _chunks(len(codes)):
        _count(codes[rows], factors[rows], offsets, counts, compiled)
    return np.split(counts, offsets[1:], axis=2)


def width_contingency(latents: Floats, factors: Ints, sizes: Ints, bins: int = 20) -> Tables:
    """The tables of `contingency` for `equal_width` codes, without ever holding all codes."""
    edges = equal_width_edges(latents, bins)
    counts, offsets = _empty_tables(latents.shape[1], bins, sizes)
    codes = np.empty((min(CHUNK, len(latents)), latents.shape[1]), dtype=np.int32)
    compiled = _compiled(latents.size * len(sizes))
    for rows in _chunks(len(latents)):
        part = codes[: len(latents[rows])]
        _code_width(latents[rows], edges, part, compiled)
        _count(part, factors[rows], offsets, counts, compiled)
    return np.split(counts, offsets[1:], axis=2)


def mutual_information(codes: Codes, n_bins: int, factors: Ints, sizes: Ints) -> Floats:
    """MI (d, k) in nats between coded latents and factors, never negative; arguments as in `contingency`."""
    return table_information(contingency(codes, n_bins, factors, sizes))


def width_information(
    latents: Floats, factors: Ints, sizes: Ints, bins: int = 20, *, correct: bool = False
) -> Floats:
    """MI (d, k) in nats between equal-width bins of latents (n, d) and factors (n, k)."""
    return table_information(width_contingency(latents, factors, sizes, bins), correct=correct)


def frequency_information(latents: Floats, factors: Ints, sizes: Ints) -> Floats:
    """MI (d, k) in nats, factor j against latents in sizes[j] bins of equal count (the SNC alignment)."""
    route = _frequency_tables if _compiled(latents.size * len(sizes)) else _sorted_tables
    return table_information(route(latents, factors, sizes))


def _frequency_tables(latents: Floats, factors: Ints, sizes: Ints) -> Tables:
    """Tables (d, size, size): one pass over each latent counts between the cuts of all factors at once."""
    from unknot.metrics.kernels.ranked_tables import count_between, cut, deal, merge

    n, d = latents.shape
    of_factor = [np.rint(np.arange(1, size) * n / size).astype(np.int64) for size in sizes]
    targets = np.unique(np.concatenate(of_factor))
    places = np.searchsorted(targets, np.concatenate(of_factor))
    cells = (factors + (np.cumsum(sizes) - sizes)).astype(np.int32)
    bucket_of, steps = np.empty(n, dtype=np.uint16), np.empty(len(targets), dtype=np.int64)
    tables = np.zeros((d, int((sizes**2).sum())), dtype=np.int64)
    for i in range(d):
        column = np.ascontiguousarray(latents[:, i])
        near, below, low, scale = deal(column, targets, bucket_of)
        near.sort()
        thresholds = cut(near, below, targets, steps)
        counts = count_between(column, bucket_of, low, scale, thresholds, cells, int(sizes.sum()))
        merge(counts, steps, places, sizes, tables[i])
    ends = np.cumsum(sizes**2)
    return [tables[:, end - size**2 : end].reshape(d, size, size) for size, end in zip(sizes, ends, strict=True)]


def _sorted_tables(latents: Floats, factors: Ints, sizes: Ints) -> Tables:
    """The same tables without compiled code: in the order of a latent a bin is a stretch of rows."""
    n, d = latents.shape
    columns, values = np.ascontiguousarray(latents.T), np.ascontiguousarray(factors.T)
    tables: Tables = [np.empty((d, size, size), dtype=np.int64) for size in sizes]
    for i, column in enumerate(columns):
        order = np.argsort(column)
        changes = _changes(column[order])
        stretches = {}
        for size in map(int, np.unique(sizes)):
            ends = np.concatenate([[0], _cut_ranks(changes, equal_ranks(n, size)), [n]])
            stretches[size] = np.repeat(np.arange(len(ends) - 1) * size, np.diff(ends))
        for j, size in enumerate(map(int, sizes)):
            cells = stretches[size] + values[j][order]
            tables[j][i] = np.bincount(cells, minlength=size * size).reshape(size, size)
    return tables


def table_information(tables: Tables, *, correct: bool = False) -> Floats:
    """MI (d, k) in nats of contingency tables, never negative.

    Summed as n_bv log(n_bv n / (n_b n_v)): a table that is exactly independent gives exactly 0.

    Args:
        tables: per factor (d, bins, values) counts.
        correct: subtract the bias (B - 1)(K - 1) / (2 n) of B occupied bins and K occurring values.
    """
    columns = []
    for table in tables:
        joint = table.astype(np.float64)
        of_bin, of_value = joint.sum(axis=2, keepdims=True), joint.sum(axis=1, keepdims=True)
        n = of_bin.sum(axis=1, keepdims=True)
        expected = of_bin * of_value
        ratio = np.divide(joint * n, expected, out=np.ones_like(joint), where=joint > 0)
        mi = (joint * np.log(ratio)).sum(axis=(1, 2)) / n[:, 0, 0]
        if correct:
            freedom = ((of_bin > 0).sum(axis=(1, 2)) - 1) * ((of_value > 0).sum(axis=(1, 2)) - 1)
            mi -= freedom / (2 * n[:, 0, 0])
        columns.append(np.maximum(mi, 0.0))
    return np.stack(columns, axis=1)


def entropy(counts: NDArray[np.integer] | NDArray[np.floating]) -> Floats:
    """Entropy in nats of the distribution proportional to non-negative counts, along the last axis.

    >>> entropy(np.array([[2, 2], [4, 0]])) / np.log(2)
    array([1., 0.])
    """
    weights = np.asarray(counts, dtype=np.float64)
    total = weights.sum(axis=-1, keepdims=True)
    p = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    result: Floats = np.abs((p * logs).sum(axis=-1))
    return result


def factor_entropy(factors: Ints, sizes: Ints) -> Floats:
    """Entropy (k,) in nats of each factor of factors (n, k), of the rows whose code is not negative."""
    known = (y[y >= 0] for y in factors.T)
    return np.array([float(entropy(np.bincount(y, minlength=s))) for y, s in zip(known, sizes, strict=True)])


def bin_entropy(tables: Tables) -> Floats:
    """Entropy (d,) in nats of each binned latent of contingency tables."""
    return entropy(tables[0].sum(axis=2))


def share(part: Floats, whole: Floats) -> Floats:
    """Quotient part / whole where there is a whole, 0 where there is none."""
    wholes = np.broadcast_to(whole, part.shape)
    return np.divide(part, wholes, out=np.zeros_like(part), where=wholes > 0)


def check_bins(bins: int) -> None:
    """Refuse what is no number of bins."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 1 <= bins <= MOST_BINS:
        raise UnknotError(f"bins is {bins!r}; expected a whole number from 1 to {MOST_BINS:,}, such as 20.")


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, CHUNK):
        yield slice(start, start + CHUNK)


def _compiled(work: int) -> bool:
    """Whether numba pays: importing it costs more than counting a small table with numpy; counts are the same."""
    return "numba" in sys.modules or work > WORTH_COMPILING


def _empty_tables(d: int, n_bins: int, sizes: Ints) -> tuple[Ints, Ints]:
    """Zeros (d, bins, all values of all factors) and where each factor's values begin."""
    ends = np.cumsum(sizes)
    return np.zeros((d, n_bins, int(ends[-1])), dtype=np.int64), (ends - sizes).astype(np.int64)


def _code_width(latents: Floats, edges: Floats, codes: Codes, compiled: bool) -> None:
    if compiled:
        from unknot.metrics.kernels.tables import width_codes

        width_codes(np.ascontiguousarray(latents), edges, codes)
    else:
        for i, inner in enumerate(edges[:, 1:]):
            codes[:, i] = np.searchsorted(inner, latents[:, i], side="right")


def _count(codes: Codes, factors: Ints, offsets: Ints, counts: Ints, compiled: bool) -> None:
    if compiled:
        from unknot.metrics.kernels.tables import count

        count(np.ascontiguousarray(codes), np.ascontiguousarray(factors), offsets, counts)
        return
    d, n_bins, width = counts.shape
    flat = counts.reshape(-1)
    cell = (codes + np.arange(d) * n_bins) * width
    for j, offset in enumerate(offsets):
        flat += np.bincount((cell + (factors[:, j, None] + offset)).ravel(), minlength=counts.size)
