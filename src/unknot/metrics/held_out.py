"""Which rows are held out where nobody says: a third, with whole groups and all copies of a row on one side."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import WIDE, Ints
from unknot.reading.arrays import is_sparse

Rng = int | np.random.Generator
MANY = 100  # values that a latent takes if it is not made of classes
LOOKED_AT = 100  # latents in which copies are looked for
SEEN = 65_536  # entries of a part of a code of which values are counted
BLOCK, ENTRIES = 1_024, 2**22  # latents, and numbers, looked at at a time


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
    values of it always come with equal rows, the rows are copies. So are equal rows of wide codes if one of their
    values, not 0, stands in no other row; narrow codes, such as a grid that is rotated, repeat rows without copies.

    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> len(np.unique(copies(np.vstack([rows, rows])))), copies(rows), copies(np.round(rows))
    (200, None, None)
    """
    sparse = is_sparse(latents)
    looked_at = latents.tocsc() if sparse else latents
    telling, most = None, MANY
    for i in range(min(latents.shape[1], LOOKED_AT)):
        column = looked_at[:, [i]].toarray()[:, 0] if sparse else looked_at[:, i]
        ordered = np.sort(column)
        n_values = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        if n_values == len(column):
            return None
        if n_values > most:
            telling, most = column, n_values
    codes = None if telling is None else _told_apart(latents, telling)
    return _by_own_values(looked_at) if codes is None and latents.shape[1] > WIDE else codes


def _told_apart(latents: Any, telling: NDArray[Any]) -> Ints | None:
    """Codes of rows by a latent, if equal values of it come with equal rows."""
    order = np.argsort(telling, kind="stable")
    first = np.append(True, telling[order][1:] != telling[order][:-1])
    leader = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    if not _equal(latents, order, leader):
        return None
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(first) - 1
    return codes


def _by_own_values(latents: Any) -> Ints | None:
    """Copies among rows, of an array or a matrix by columns, that are equal and have a value of their own."""
    from unknot.metrics.kernels.sparse_columns import own_values

    hashes = _hashes(latents)
    codes, counts = np.unique(hashes, return_inverse=True, return_counts=True)[1:]
    wanted = counts > 1
    wanted[codes[hashes == 0]] = False  # nothing shows that two rows of zeros are one
    if not wanted.any() or _few_values(latents):
        return None
    n, proven = latents.shape[0], np.zeros(len(counts), dtype=np.bool_)
    for _, columns in _columns(latents):
        own_values(columns, codes, proven)
        if proven[wanted].all():
            break
    copied = np.flatnonzero((proven & wanted)[codes])
    if not len(copied):
        return None
    leader = np.empty(len(counts), dtype=np.int64)
    leader[codes[::-1]] = np.arange(n)[::-1]
    result = np.arange(n)
    if not _equal(latents, copied, leader[codes[copied]]):
        return None
    result[copied] = leader[codes[copied]]
    return result


def _hashes(latents: Any) -> NDArray[np.uint64]:
    """A number (n,) for each row, the same of equal rows, and 0 of zeros."""
    from unknot.metrics.kernels.sparse_columns import add_hashes, row_hashes

    n, d = latents.shape
    hashes = np.zeros(n, dtype=np.uint64)
    if is_sparse(latents):
        for first, columns in _columns(latents):
            add_hashes(columns, first, hashes)
        return hashes
    for part in _parts(n, d):
        row_hashes(np.ascontiguousarray(latents[part], dtype=np.float64), hashes[part])
    return hashes


def _few_values(latents: Any) -> bool:
    """Whether all that is not 0, or what was seen of it, takes few values."""
    n, d = latents.shape
    entries = (latents.tocsc().data,) if is_sparse(latents) else (latents[part] for part in _parts(n, d))
    seen: NDArray[Any] = np.empty(0)
    for part in entries:
        filled = part[part != 0]
        seen = np.union1d(seen, filled[:: max(1, len(filled) // SEEN)])
        if len(seen) > MANY:
            return False
    return True


def _columns(latents: Any) -> Iterator[tuple[int, Any]]:
    """What is not 0 in some columns after the other, with the first of them."""
    from scipy.sparse import csc_array

    from unknot.metrics.kernels.sparse_columns import stored

    n, d = latents.shape
    for part in _parts(d, 1 if is_sparse(latents) else n, most=BLOCK):
        if is_sparse(latents):
            yield part.start, stored(latents, part)
        else:
            block = csc_array(latents[:, part].astype(np.float64))
            yield part.start, stored(block, slice(0, block.shape[1]))


def _parts(n: int, width: int, most: int = ENTRIES) -> Iterator[slice]:
    """Slices of n rows, or columns, of so many entries each, that are looked at one after the other."""
    step = min(most, max(1, ENTRIES // width))
    return (slice(first, min(first + step, n)) for first in range(0, n, step))


def _equal(latents: Any, first: Ints, second: Ints) -> bool:
    """Whether some rows are equal to others, one by one."""
    if is_sparse(latents):
        rows = latents.tocsr()
        return not (rows[first] != rows[second]).nnz
    parts = _parts(len(first), latents.shape[1])
    return all(np.array_equal(latents[first[part]], latents[second[part]]) for part in parts)


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
