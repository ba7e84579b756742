"""Latents as metrics take them: numbers, finite, of any precision, and which of them are dead."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.rows import Rows
from unknot.reading.arrays import DENSE_BYTES, as_array, is_sparse
from unknot.tables.latents import latents_of

NARROW = 100  # latents up to this many are held in double precision
ROWS = 65_536  # looked through at a time
LARGEST = 1e150  # squares of larger latents, and sums of them, leave the range of float64
T = TypeVar("T")


class Checked:
    """Finite latents (n, d) that many metrics are given in turn: rows are held out and coded once for all of them.

    Metrics take it in place of the array; none changes what it shares.

    Attributes:
        source: the latents as they came: of any precision, mapped from disk, or sparse.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self._rows: dict[tuple[Any, ...], tuple[Rows, Any]] = {}
        self._shared: dict[Callable[[Floats], Any], Any] = {}

    @cached_property
    def array(self) -> Floats:
        """The latents in double precision, made when a metric asks for them."""
        return as_array(self.source).astype(np.float64, copy=False)

    @property
    def wide(self) -> bool:
        """Whether metrics that can leave them as they came do so."""
        return bool(self.source.shape[1] > NARROW)

    def __len__(self) -> int:
        return int(self.source.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)

    def once(self, make: Callable[[Floats], T]) -> T:
        """What `make` returns of the latents, made once for all metrics that ask for it."""
        if make not in self._shared:
            self._shared[make] = make(self.array)
        result: T = self._shared[make]
        return result

    def rows(self, make: Callable[[], Rows], sources: tuple[Any, ...], *how: Any) -> Rows:
        """What `make` returns, made once for the same objects and the same way of looking at them."""
        key = (*map(id, sources), *how)
        if key not in self._rows:
            self._rows[key] = make(), sources  # kept alive with the rows, so that no other object gets their id
        rows = self._rows[key][0]
        return replace(rows, skipped=dict(rows.skipped), notes=list(rows.notes))


def check_latents(who: str, latents: Any, what: str = "latents", *, copy: bool = True) -> Floats:
    """Latents as a finite (n, d) float64 array, or an error that names the columns at fault.

    Without a copy the caller's own array may come back, which is not to be changed.
    """
    if isinstance(latents, Checked):
        return latents.array
    given = latents_of(latents, who)
    _check_shape(who, given, what)
    array: Floats = as_array(given, who, what).astype(np.float64, copy=copy)
    largest = max(-float(array.min()), float(array.max())) if array.size else 0.0
    if not LARGEST >= largest:  # NaN too
        _refuse_entries(who, array, what, largest)
    return array


def checked_latents(who: str, latents: Any, what: str = "latents") -> Any:
    """Finite latents (n, d): narrow ones in double precision, wide ones as they came, sparse or not."""
    array = latents_of(latents, who)
    _check_shape(who, array, what)
    if is_sparse(array):
        entries = array.tocsr().data
        if (largest := float(np.abs(entries).max(initial=0))) > LARGEST:
            _refuse_entries(who, entries, what, largest)
        return array
    if array.shape[1] <= NARROW:
        return check_latents(who, array, what)
    for start in range(0, len(array), ROWS):
        block = array[start : start + ROWS]
        largest = max(-float(block.min()), float(block.max()))
        if not LARGEST >= largest:
            _refuse_entries(who, block, what, largest)
    return array


def as_they_came(who: str, latents: Any, what: str = "latents") -> Any:
    """Finite latents (n, d): wide ones as `checked_latents` leaves them, the others in double precision."""
    source = latents.source if isinstance(latents, Checked) else checked_latents(who, latents, what)
    return source if source.shape[1] > NARROW else check_latents(who, latents, what)


def came_sparse(latents: Any) -> bool:
    """Whether what a metric was given is a sparse matrix."""
    return is_sparse(latents.source if isinstance(latents, Checked) else latents)


def sparse_and_short(latents: Any) -> bool:
    """Whether it is a sparse matrix of more latents than rows, which probes leave as it is.

    One that is filled by a tenth and has room as an array is better off as one.
    """
    source = latents.source if isinstance(latents, Checked) else latents
    if not is_sparse(source) or len(source.shape) != 2 or source.shape[1] <= source.shape[0]:
        return False
    entries = source.shape[0] * source.shape[1]
    return bool(int(source.nnz) <= 0.1 * entries or 8 * entries > DENSE_BYTES)


def column(latents: Any, i: int) -> Floats:
    """One latent (n,) in double precision, of any latents that `checked_latents` returns."""
    one = latents[:, [i]].toarray()[:, 0] if is_sparse(latents) else latents[:, i]
    return np.asarray(one, dtype=np.float64)


def in_blocks(latents: Any) -> Iterator[Floats]:
    """Dense latents in double precision, some at a time; all of them if they are in it already."""
    if latents.dtype == np.float64:
        yield latents
        return
    for start in range(0, latents.shape[1], NARROW):
        yield latents[:, start : start + NARROW].astype(np.float64)


def _check_shape(who: str, array: Any, what: str) -> None:
    if array.dtype.kind not in "fiub":
        raise UnknotError(f"{who}: {what} holds {array.dtype} values; expected numbers.")
    if array.ndim == 3:
        raise UnknotError(
            f"{who}: {what} has shape {array.shape}, which looks like slots (n, k, d); flatten them on purpose "
            "with latents.reshape(len(latents), -1) or --flatten-slots."
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise UnknotError(f"{who}: {what} has shape {array.shape}; expected (n_samples, n_latents).")


def enough_rows(who: str, latents: Floats) -> Floats:
    """The latents, of which there must be two rows or more."""
    if latents.shape[0] < 2:
        raise UnknotError(f"{who}: {latents.shape[0]} row(s); at least two samples are needed.")
    return latents


def _refuse_entries(who: str, array: Floats, what: str, largest: float) -> None:
    if not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array).all(axis=0))
        count = int((~np.isfinite(array)).sum())
        raise UnknotError(
            f"{who}: {what} has {count} NaN or infinite entries, in column(s) {', '.join(map(str, bad[:10]))}; "
            "a model that diverged cannot be scored. Drop those rows or columns."
        )
    raise UnknotError(
        f"{who}: {what} has entries as large as {largest:.3g}, whose squares are not finite; a model that diverged "
        "cannot be scored. Scale the latents down if they are meant."
    )


def extent(latents: Floats, *, compiled: bool = False) -> tuple[Floats, Floats]:
    """Smallest and largest value of each latent (n, d), by compiled code if it is loaded, or is to be."""
    if (compiled or "numba" in sys.modules) and latents.flags.c_contiguous and len(latents):
        from unknot.metrics.kernels.tables import extent as compiled_extent

        low, high = compiled_extent(latents)
        return low, high
    return latents.min(axis=0), latents.max(axis=0)


def dead(latents: Floats, ends: tuple[Floats, Floats] | None = None) -> Bools:
    """Which latents have no variance, up to rounding: a standard deviation within 1e-12 of max(1, |mean|).

    Args:
        latents: (n, d).
        ends: smallest and largest value of each, if they are known already.
    """
    result = np.zeros(latents.shape[1], dtype=np.bool_)
    low, high = extent(latents) if ends is None else ends
    # std >= range / sqrt(2 n), so only a narrow latent can be dead, and the others are spared the sums.
    largest = np.maximum(1.0, np.maximum(abs(low), abs(high)))
    narrow = np.flatnonzero(high / 2 - low / 2 <= 1e-12 * np.sqrt(len(latents)) * largest)
    columns = latents[:, narrow]
    result[narrow] = columns.std(axis=0) <= 1e-12 * np.maximum(1.0, np.abs(columns.mean(axis=0)))
    return result


def dead_latents(latents: Any) -> Ints:
    """Which latents have no variance, of any latents that `checked_latents` returns."""
    if not latents.shape[0]:
        return np.empty(0, dtype=np.int64)
    if is_sparse(latents):
        columns = latents.tocsc()
        filled = np.diff(columns.indptr)
        full = np.flatnonzero(filled == latents.shape[0])  # only these can be one value that is not zero
        result = np.asarray(abs(columns).max(axis=0).todense()).ravel() == 0
        result[full] = dead(columns[:, full].toarray().astype(np.float64)) if len(full) else False
        return np.flatnonzero(result)
    blocks = [latents[:, start : start + NARROW] for start in range(0, latents.shape[1], NARROW)]
    return np.flatnonzero(np.concatenate([dead(np.asarray(block, dtype=np.float64)) for block in blocks]))
