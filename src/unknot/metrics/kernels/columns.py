"""Mutual information of wide codes and factors: latents in blocks, dense of any precision, on disk, or sparse.

Counts are those of `information.width_contingency` to the last one; tables are never kept for all latents at once,
and latents are never copied as a whole.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import WIDE, Bools, Floats, Ints
from unknot.metrics.kernels.information import (
    bin_entropy,
    equal_frequency_cuts,
    table_information,
    width_contingency,
)
from unknot.metrics.latents import dead

JOINT = 128  # joint values of a group of factors that are counted as one
ROOM = 2**26  # bytes of tables held at once
ROWS = 512  # rows whose latents stay in the cache while they are turned into columns


@dataclass(frozen=True)
class Information:
    """What each latent knows about each factor, in nats.

    Attributes:
        mutual: (d, k) mutual information.
        entropy: of the binned latent, (d, 1), or (d, k) where each factor has rows of its own.
    """

    mutual: Floats
    entropy: Floats


@dataclass(frozen=True)
class Binning:
    """How latents are cut: `bins` of equal width, or zero by itself and `bins` of equal count of the others.

    >>> Binning.of("zero+10"), Binning.of(20)
    (Binning(bins=10, zero=True), Binning(bins=20, zero=False))
    """

    bins: int
    zero: bool = False

    @classmethod
    def of(cls, bins: int | str) -> "Binning":
        """That of a number, or of a name such as "zero+10"."""
        word, plus, number = str(bins).rpartition("+")
        count = int(number) if number.isdecimal() and len(number) < 10 else 0
        if isinstance(bins, bool) or count < 1 or (word, plus) not in (("", ""), ("zero", "+")):
            raise UnknotError(
                f"bins is {bins!r}; expected a whole number of at least 1, such as 20, or 'zero+10'."
            )
        return cls(count, bool(plus))

    @property
    def total(self) -> int:
        """How many bins there are at most."""
        return self.bins + self.zero


def binned_information(
    latents: Floats,
    factors: Ints,
    sizes: Ints,
    bins: int | str = 20,
    *,
    correct: bool = False,
) -> Information:
    """Mutual information of latents (n, d) and factors (n, k), from one table where d is small, else in blocks.

    Arguments as of `column_information`.
    """
    if isinstance(bins, str) or latents.shape[1] > WIDE:
        return column_information(latents, factors, sizes, bins, correct=correct)
    tables = width_contingency(latents, factors, sizes, bins)
    return Information(table_information(tables, correct=correct), bin_entropy(tables)[:, None])


def column_information(
    latents: Any,
    factors: Ints,
    sizes: Ints,
    bins: int | str = 20,
    *,
    correct: bool = False,
) -> Information:
    """Mutual information of all latents (n, d) and factors (n, k).

    Args:
        latents: an array of any floating type, in memory or mapped from disk, or a sparse matrix of SciPy.
        factors: codes 0..size-1.
        sizes: (k,) how many codes each factor has.
        bins: of equal width, or "zero+10": see `Binning`.
        correct: subtract the bias (B - 1)(K - 1) / (2 n) of B occupied bins and K occurring values.
    """
    from unknot.metrics.kernels.column_tables import reduce

    d, offsets = latents.shape[1], np.append(0, np.cumsum(sizes)).astype(np.int64)
    mutual, entropy = np.empty((d, len(sizes))), np.empty((d, 1))
    for block, tables in column_tables(latents, factors, sizes, bins):
        reduce(tables, offsets, correct, mutual[block], entropy[block])
    return Information(mutual, entropy)


def column_tables(
    latents: Any, factors: Ints, sizes: Ints, bins: int | str = 20
) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    """Counts (b, bins, values of all factors, one after the other) of one block of latents after the other."""
    from scipy.sparse import issparse

    binning = Binning.of(bins)
    return (_sparse_tables if issparse(latents) else _dense_tables)(latents, factors, sizes, binning)


def _sparse_tables(
    latents: Any, factors: Ints, sizes: Ints, binning: Binning
) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    from unknot.metrics.kernels.column_tables import count_sparse, sparse_extent

    matrix = latents.tocsc()
    n, d = matrix.shape
    ends = np.cumsum(sizes)
    cells = (factors + (ends - sizes)).astype(np.uint16 if ends[-1] < 2**16 else np.uint32)
    totals = np.concatenate([np.bincount(y, minlength=s) for y, s in zip(factors.T, sizes, strict=True)])
    low, high = np.empty(d), np.empty(d)
    sparse_extent(matrix.indptr, matrix.data, n, low, high)
    for block in _blocks(d, binning.total * int(ends[-1])):
        first, last = matrix.indptr[block.start], matrix.indptr[block.stop]
        start = matrix.indptr[block.start : block.stop + 1] - first
        rows, values = matrix.indices[first:last], matrix.data[first:last]
        if binning.zero:
            edges = _cuts([values[a:b] for a, b in pairwise(start)], binning.bins)
        else:
            gone = _sparse_dead(start, values, n, low[block], high[block])
            edges = width_edges(low[block], high[block], gone, binning.bins)
        tables = np.zeros((block.stop - block.start, binning.total, int(ends[-1])), dtype=np.int32)
        count_sparse(start, rows, values, edges, binning.zero, cells, totals, tables)
        yield block, tables


def _dense_tables(
    latents: NDArray[Any], factors: Ints, sizes: Ints, binning: Binning
) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    from unknot.metrics.kernels.column_tables import count_dense, single

    n, d = latents.shape
    groups = _groups(sizes)
    cells, parts, joint = _joint_values(factors, sizes, groups)
    width = len(joint)
    for block in _blocks(d, binning.total * (width + int(sizes.sum()))):
        edges = _dense_edges(latents, block, binning)
        counts = np.zeros((block.stop - block.start, binning.total, width), dtype=np.int32)
        for first in range(0, n, ROWS):
            chunk = slice(first, first + ROWS)
            columns = np.ascontiguousarray(latents[chunk, block].T, dtype=np.float64)
            count_dense(columns, edges, binning.zero, cells[chunk], counts)
            release(latents)
        if width == sizes.sum():
            yield block, counts
        else:
            tables = np.zeros((*counts.shape[:2], int(sizes.sum())), dtype=np.int32)
            single(counts, parts, joint, tables)
            yield block, tables


def _dense_edges(latents: NDArray[Any], block: slice, binning: Binning) -> Floats:
    """Left edges of bins, or cuts of what is not zero, of one block of latents."""
    n, wide = len(latents), block.stop - block.start
    if binning.zero:
        columns = np.ascontiguousarray(latents[:, block].T, dtype=np.float64)
        return _cuts([column[column != 0] for column in columns], binning.bins)
    low, high = np.full(wide, np.inf), np.full(wide, -np.inf)
    for first in range(0, n, ROWS):
        chunk = latents[first : first + ROWS, block]
        low, high = np.minimum(low, chunk.min(axis=0)), np.maximum(high, chunk.max(axis=0))
        release(latents)
    gone = np.zeros(wide, dtype=np.bool_)
    narrow = np.flatnonzero(maybe_dead(low, high, n))
    if len(narrow):
        gone[narrow] = dead(np.asarray(latents[:, block.start + narrow], dtype=np.float64))
    return width_edges(low, high, gone, binning.bins)


def width_edges(low: Floats, high: Floats, gone: Bools, bins: int) -> Floats:
    """Left edges (..., bins) of bins of equal width between the smallest and the largest value of what is not dead."""
    edges: Floats = low[..., None] + width_steps(low, high, bins)[..., None] * np.arange(bins)
    edges[gone, 1:] = np.inf
    return edges


def width_steps(low: Floats, high: Floats, bins: int) -> Floats:
    """How far the edges of bins of equal width are apart: steps of the halved range, since the range can overflow."""
    result: Floats = (high / 2 - low / 2) / bins * 2
    return result


def _cuts(values: list[NDArray[Any]], bins: int) -> Floats:
    """Cuts (b, bins - 1) of each latent's values that are not zero into bins of equal count, padded with infinity."""
    cuts = np.full((len(values), max(1, bins - 1)), np.inf)
    for row, column in zip(cuts, values, strict=True):
        points = equal_frequency_cuts(np.sort(column[column != 0].astype(np.float64)), bins)
        row[: len(points)] = points
    return cuts


def maybe_dead(low: Floats, high: Floats, n: int | Ints) -> Bools:
    """Which latents of n rows can be dead: std >= range / sqrt(2 n)."""
    largest = np.maximum(1.0, np.maximum(abs(low), abs(high)))
    result: Bools = high / 2 - low / 2 <= 1e-12 * np.sqrt(n) * largest
    return result


def _sparse_dead(start: NDArray[Any], values: NDArray[Any], n: int, low: Floats, high: Floats) -> Bools:
    gone = np.zeros(len(low), dtype=np.bool_)
    for i in np.flatnonzero(maybe_dead(low, high, n)):
        column = np.zeros((n, 1))
        stored = values[start[i] : start[i + 1]]
        column[: len(stored), 0] = stored
        gone[i] = dead(column)[0]
    return gone


def _groups(sizes: Ints) -> list[list[int]]:
    """Factors put together, small ones first, as long as they have few joint values."""
    groups: list[list[int]] = []
    joint = JOINT + 1
    for j in np.argsort(sizes, kind="stable"):
        joint *= int(sizes[j])
        if joint > JOINT:
            groups.append([])
            joint = int(sizes[j])
        groups[-1].append(int(j))
    return groups


def _joint_values(
    factors: Ints, sizes: Ints, groups: list[list[int]]
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int8]]:
    """Cell (n, groups) of each row, what each cell stands for (cells, most factors), and of how many factors."""
    offsets = np.cumsum(sizes) - sizes
    spans = [int(np.prod(sizes[group])) for group in groups]
    total = sum(spans)
    cells = np.empty((len(factors), len(groups)), dtype=np.uint16 if total < 2**16 else np.uint32)
    parts = np.zeros((total, max(map(len, groups))), dtype=np.int32)
    joint = np.repeat([len(group) for group in groups], spans).astype(np.int8)
    first = 0
    for g, (group, span) in enumerate(zip(groups, spans, strict=True)):
        shape = tuple(map(int, sizes[group]))
        cells[:, g] = first + np.ravel_multi_index(tuple(factors[:, group].T), shape)
        values = np.stack(np.unravel_index(np.arange(span), shape), axis=1)
        parts[first : first + span, : len(group)] = values + offsets[group]
        first += span
    return cells, parts, joint


def _blocks(d: int, cells: int) -> Iterator[slice]:
    """Stretches of latents whose tables fit into the room there is."""
    size = int(np.clip(ROOM // (4 * cells), 1, d))
    for first in range(0, d, size):
        yield slice(first, min(first + size, d))


def release(latents: NDArray[Any]) -> None:
    """Give back the memory of what was read of an array that is mapped from disk; it can be read again."""
    base: Any = latents
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
