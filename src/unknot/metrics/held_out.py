"""Which rows are held out where nobody says: a third, with whole groups and all copies of a row on one side."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import Ints
from unknot.reading.arrays import is_sparse

Rng = int | np.random.Generator
MANY = 100  # values that a latent takes if it is not made of classes
LOOKED_AT = 100  # latents in which copies are looked for
SEEN = 65_536  # entries of a code that is mostly zero of which values are counted
BLOCK, CHUNK = 1_024, 4_096  # latents, and rows, of such a code looked at at a time


def third(latents: Any, rng: Rng) -> tuple[Ints, Ints]:
    """A random third of the rows, at least one, and the rest; copies of a row are on one side."""
    groups = copies(latents)
    if groups is not None:
        return third_of_groups(groups, rng)
    return third_of_rows(latents.shape[0], rng)


def third_of_rows(n: int, rng: Rng) -> tuple[Ints, Ints]:
    """A random third of n rows, at least one, and the rest."""
    order = np.random.default_rng(rng).permutation(n)
    return order[: max(1, n // 3)], order[max(1, n // 3) :]


def third_of_groups(groups: Ints, rng: Rng) -> tuple[Ints, Ints]:
    """Rows of random groups, together about a third of all, and the other rows; every group is on one side."""
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise UnknotError(
            f"score: all {len(groups)} rows are of one group, so that none can be held out; a group is a part of the "
            "rows, such as those of one patient."
        )
    order = np.random.default_rng(rng).permutation(len(names))
    filled = np.cumsum(counts[order])
    wanted = len(groups) / 3
    # as near to a third as whole groups come, at least one group on either side
    n_test = int(np.clip(np.argmin(np.abs(filled - wanted)) + 1, 1, len(names) - 1))
    held_out = np.isin(codes.reshape(-1), order[:n_test])
    return np.flatnonzero(held_out), np.flatnonzero(~held_out)


def copies(latents: Any) -> Ints | None:
    """Which rows are one row copied, as codes (n,); None where no row was.

    Equal rows alone prove nothing: a code of few values repeats them. But where a latent takes many values and equal
    values of it always come with equal rows, the rows are copies. Of wide codes that are mostly zero, so are equal rows
    if one of their values stands in no other row.

    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> len(np.unique(copies(np.vstack([rows, rows])))), copies(rows), copies(np.round(rows))
    (200, None, None)
    """
    sparse = is_sparse(latents)
    looked_at = latents.tocsc() if sparse else latents
    telling, most, filled = None, MANY, 0
    for i in range(min(latents.shape[1], LOOKED_AT)):
        column = looked_at[:, [i]].toarray()[:, 0] if sparse else looked_at[:, i]
        filled += int(np.count_nonzero(column))
        ordered = np.sort(column)
        n_values = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        if n_values == len(column):
            return None
        if n_values > most:
            telling, most = column, n_values
    codes = None if telling is None else _told_apart(latents, telling)
    if codes is None and latents.shape[1] > LOOKED_AT and 2 * filled < LOOKED_AT * latents.shape[0]:
        return _mostly_zero(latents)
    return codes


def _told_apart(latents: Any, telling: NDArray[Any]) -> Ints | None:
    """Codes of rows by a latent, if equal values of it come with equal rows."""
    order = np.argsort(telling, kind="stable")
    first = np.append(True, telling[order][1:] != telling[order][:-1])
    leader = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    rows = latents.tocsr() if is_sparse(latents) else latents
    if not _equal(rows[order], rows[leader]):
        return None
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(first) - 1
    return codes


def _mostly_zero(latents: Any) -> Ints | None:
    """Copies among rows of which few values are not zero, by what these are and where."""
    from scipy.sparse import csr_array, vstack

    from unknot.metrics.kernels.sparse_columns import add_hashes, own_values, stored

    if not is_sparse(latents):
        chunks = (latents[first : first + CHUNK] for first in range(0, len(latents), CHUNK))
        latents = vstack([csr_array(chunk.astype(np.float64)) for chunk in chunks])
    matrix = latents.tocsc()
    (n, d), step = matrix.shape, max(1, matrix.nnz // SEEN)
    if len(np.unique(matrix.data[::step])) <= MANY:
        return None
    hashes = np.zeros(n, dtype=np.uint64)
    blocks = [slice(first, min(first + BLOCK, d)) for first in range(0, d, BLOCK)]
    for block in blocks:
        add_hashes(stored(matrix, block), block.start, hashes)
    codes, counts = np.unique(hashes, return_inverse=True, return_counts=True)[1:]
    if not np.any(counts[codes[hashes != 0]] > 1):
        return None
    proven = np.zeros(len(counts), dtype=np.bool_)
    for block in blocks:
        own_values(stored(matrix, block), codes, proven)
    copied = np.flatnonzero((proven & (counts > 1))[codes])
    if not len(copied):
        return None
    leader = np.empty(len(counts), dtype=np.int64)
    leader[codes[::-1]] = np.arange(n)[::-1]
    result, rows = np.arange(n), matrix.tocsr()
    if not _equal(rows[copied], rows[leader[codes[copied]]]):
        return None
    result[copied] = leader[codes[copied]]
    return result


def _equal(first: Any, second: Any) -> bool:
    """Whether two arrays, or two sparse matrices, have the same values."""
    return not (first != second).nnz if is_sparse(first) else np.array_equal(first, second)


def repeated(latents: NDArray[Any]) -> bool:
    """Whether two rows are equal, as far as the first latents show.

    >>> repeated(np.array([[0, 1], [0, 2], [1, 2]])), repeated(np.array([[0, 1], [2, 2], [0, 1]]))
    (False, True)
    """
    rows, codes = (
        np.arange(len(latents)),
        np.zeros(len(latents), dtype=np.int64),
    )  # which may be equal, and to which
    for i in range(min(latents.shape[1], LOOKED_AT)):
        values = latents[rows, i]
        order = np.lexsort((values, codes))
        values, known = values[order], codes[order]
        new = np.append(True, (values[1:] != values[:-1]) | (known[1:] != known[:-1]))
        alone = new & np.append(new[1:], True)
        rows, codes = rows[order][~alone], np.cumsum(new)[~alone]
        if not len(rows):
            return False
    return True
