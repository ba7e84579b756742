"""Checked input of a metric: latents as float64, factors as codes 0..K-1, what was left out and why.

Every metric calls `prepare` first, so that all of them treat labels, constants, NaN and missing test rows alike.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.held_out import Rng as Rng
from unknot.metrics.held_out import copies, third
from unknot.metrics.score import Score
from unknot.reading.arrays import Sparse, as_array
from unknot.tables.labels import Labels, known, labels_of
from unknot.tables.latents import latents_of

UNSEEN = -1  # code of a test value that never occurs in the training rows
UNKNOWN = -2  # code of a label that is missing
NARROW = 100  # latents up to this many are held in double precision
ROWS = 65_536  # looked through at a time
BINS_OF_CONTINUOUS = 20
LARGEST = 1e150  # squares of larger latents, and sums of them, leave the range of float64
EXACT = 2**53  # whole numbers up to this are all different in float64
MOST_CLASSES = 100  # a column with more classes than this, and fewer than four rows for each, is an identifier
ROWS_OF_A_CLASS = 5  # on average, where fractions are classes
ALL_DIFFERENT = 50  # so is one of this many rows in which no value repeats


@runtime_checkable
class Table(Protocol):
    """A table with named columns, of pandas or another library."""

    columns: Iterable[Any]


@runtime_checkable
class Column(Protocol):
    """One column of such a table."""

    name: Any
    ndim: int


class HeldOut(NamedTuple):
    """The rows that a metric is judged on."""

    latents: Floats  # (n_test, d)
    factors: Ints  # (n_test, k) codes of the factors that vary
    numbers: Floats  # (n_test, k) the same as the caller gave them


@dataclass(frozen=True)
class Rows:
    """Latents and factors, checked; constant factors are gone from `factors` and listed in `skipped`."""

    latents: Floats  # (n, d)
    factors: Ints  # (n, k) codes 0..K-1 of the factors that vary
    sizes: Ints  # (k,) number of codes
    given: NDArray[Any]  # (n, all columns) the factors as the caller gave them
    kept: Ints  # (k,) which of the caller's columns these are
    names: tuple[str, ...]  # of all the caller's columns
    continuous: Bools  # (k,) whether a factor was given as real numbers
    latents_test: Floats | None = None
    factors_test: Ints | None = None  # UNSEEN where a value is not among the training rows
    given_test: NDArray[Any] | None = None
    nominal: tuple[str, ...] = ()  # names of the factors that were given as words
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def n_factors(self) -> int:
        """How many factors vary."""
        return len(self.kept)

    @cached_property
    def numbers(self) -> Floats:
        """The varying factors (n, k) as the caller gave them, for regressions."""
        return self.given[:, self.kept].astype(np.float64)

    @cached_property
    def held_out(self) -> HeldOut:
        """The held-out rows, of what was prepared with an `rng` or with test rows."""
        if self.latents_test is None or self.factors_test is None or self.given_test is None:
            raise UnknotError("rows were prepared without held-out rows; pass an rng to prepare.")
        return HeldOut(
            self.latents_test, self.factors_test, self.given_test[:, self.kept].astype(np.float64, copy=False)
        )

    def spread(self, per_factor: Any) -> Floats:
        """Values of the varying factors at the caller's columns along the last axis, NaN where skipped."""
        return spread(per_factor, self.kept, len(self.names))

    def about(self) -> dict[str, Any]:
        """The entries every score's `parts` should have."""
        n_test = 0 if self.latents_test is None else len(self.latents_test)
        return {
            "factor_names": list(self.names),
            "skipped": dict(self.skipped),
            "notes": list(self.notes),
            "n_rows": len(self.latents),
            "n_test_rows": n_test,
        }

    def score(self, value: float, per_factor: Mapping[str, Any], **parts: Any) -> Score:
        """A score of these rows.

        Args:
            value: the headline.
            per_factor: parts whose last axis is the factors that vary; see `spread`.
            parts: all others.
        """
        by_column = {name: self.spread(values) for name, values in per_factor.items()}
        return Score(float(value), {**self.about(), **by_column, **parts}, tuple(by_column))

    def note_continuous(self, how: str) -> None:
        """Note what is done with each factor that was given as real numbers, or as words that have no order."""
        self.notes.extend(f"factor '{self.names[j]}' is continuous: {how}." for j in self.kept[self.continuous])
        self.notes.extend(
            f"factor '{self.names[j]}' is words: its classes count as the numbers 0 to {size - 1}, in this order."
            for j, size in zip(self.kept, self.sizes, strict=True)
            if self.names[j] in self.nominal and size > 2
        )

    def need_two_factors(self, who: str) -> None:
        """Refuse rows of which one factor alone varies."""
        if self.n_factors < 2:
            raise UnknotError(
                f"{who}: needs at least 2 factors that vary; got {self.n_factors} ({self.names[self.kept[0]]})."
            )


def spread(per_factor: Any, columns: Ints, n: int) -> Floats:
    """Values at some of n columns along the last axis, NaN at the others."""
    values = np.asarray(per_factor, dtype=np.float64)
    full = np.full((*values.shape[:-1], n), np.nan)
    full[..., columns] = values
    return full


class Checked:
    """Finite latents (n, d) that many metrics are given in turn: rows are held out and coded once for all of them.

    Metrics take it in place of the array; none changes what it shares.

    Attributes:
        source: the latents as they came: of any precision, mapped from disk, or sparse.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self._rows: dict[tuple[Any, ...], tuple[Rows, Any]] = {}

    @cached_property
    def array(self) -> Floats:
        """The latents in double precision, made when a metric asks for them."""
        return as_array(self.source).astype(np.float64, copy=False)

    def __len__(self) -> int:
        return int(self.source.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)

    def rows(self, make: Callable[[], Rows], sources: tuple[Any, ...], *how: Any) -> Rows:
        """What `make` returns, made once for the same objects and the same way of looking at them."""
        key = (*map(id, sources), *how)
        if key not in self._rows:
            self._rows[key] = make(), sources  # kept alive with the rows, so that no other object gets their id
        rows = self._rows[key][0]
        return replace(rows, skipped=dict(rows.skipped), notes=list(rows.notes))


def prepare(
    who: str,
    latents: Any,
    factors: Any,
    latents_test: Any = None,
    factors_test: Any = None,
    *,
    rng: Rng | None = None,
    continuous: Literal["bin", "keep"] = "bin",
    names: Sequence[str] | None = None,
    gaps: bool = False,
) -> Rows:
    """Check what the caller passed and bring it into the one form metrics compute with.

    Args:
        who: the metric's name, for messages.
        latents: (n, d) numbers: an array, a tensor, a sparse matrix, a table or nested lists.
        factors: (n, k) whole numbers, words or dates, or real numbers where `continuous` allows.
        latents_test: held-out latents.
        factors_test: held-out factors.
        rng: of a metric that is judged on held-out rows: splits off a third where they are missing.
        continuous: what to do with a real-valued factor: cut it into 20 bins of equal count, or keep one code
            per distinct value (for metrics that only regress on `numbers`).
        names: factor names; a table brings its own.
        gaps: whether labels may be missing, whose code is UNKNOWN; then checked latents stay as they came, too.
    """
    of_split = rng if latents_test is None else None
    passed = latents, factors, latents_test, factors_test
    make = partial(_prepared, who, passed, of_split, continuous, names, gaps)
    # A generator moves on with every split, so that no two metrics see the same one.
    if not isinstance(latents, Checked) or isinstance(of_split, np.random.Generator):
        rows = make()
    else:
        real = factors is not None and as_array(factors, who, "factors").dtype.kind == "f"
        rows = latents.rows(make, passed[1:], of_split, continuous if real else None, names and tuple(names))
    if rows.skipped:
        text = f"{who}: left out constant factor(s) {', '.join(rows.skipped)}."
        warnings.warn(text, UnknotWarning, stacklevel=3)
    return rows


def _prepared(
    who: str,
    passed: tuple[Any, ...],
    rng: Rng | None,
    continuous: str,
    names: Sequence[str] | None,
    gaps: bool,
) -> Rows:
    latents, factors, latents_test, factors_test = passed
    z = latents.source if gaps and isinstance(latents, Checked) else check_latents(who, latents)
    about = _as_labels(who, factors, gaps)
    y, labels = about.values, tuple(names) if names is not None else about.columns
    if len(labels) != y.shape[1]:
        raise UnknotError(f"{who}: {len(labels)} factor names for {y.shape[1]} factors; give one name each.")
    _same_length(who, z, y, "latents", "factors")
    enough_rows(who, z)
    if (latents_test is None) != (factors_test is None):
        raise UnknotError(f"{who}: latents_test and factors_test go together; only one was given.")
    z_test, y_test, copied = None, None, False
    if latents_test is not None:
        as_is = gaps and isinstance(latents_test, Checked)
        z_test = latents_test.source if as_is else check_latents(who, latents_test, "latents_test")
        about_test = _as_labels(who, factors_test, gaps, "factors_test").like(about)
        y_test = about_test.values
        _same_length(who, z_test, y_test, "latents_test", "factors_test")
        for name, a, b in (("latents", z, z_test), ("factors", y, y_test)):
            if a.shape[1] != b.shape[1]:
                raise UnknotError(f"{who}: {name} has {a.shape[1]} columns, {name}_test {b.shape[1]}.")
    elif rng is not None:
        copied = copies(z) is not None
        test, train = third(z, rng)
        if not np.any(y[train] != y[train[0]]) and np.any(y != y[0]):
            raise UnknotError(
                f"{who}: {len(z)} rows are too few: no factor varies among the {len(train)} left for training after a "
                "third is held out. Give more rows, or held-out rows of their own."
            )
        z, z_test, y, y_test = z[train], z[test], y[train], y[test]
    y, y_test = _exact(y, y_test)
    rows = _encode(who, z, y, z_test, y_test, replace(about, columns=labels), continuous)
    if copied:
        rows.notes.append("rows are copied: all copies of a row are held out, or none.")
    return rows


def _exact(train: NDArray[Any], test: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Whole numbers that float64 cannot tell apart, counted from the smallest; if they are too far apart, ranked."""
    table = train if test is None else np.concatenate([train, test])
    if table.dtype.kind not in "iu" or max(int(table.max()), -int(table.min())) <= EXACT:
        return train, test
    columns = []
    for column in table.T:
        near = int(column.max()) - int(column.min()) <= EXACT
        columns.append(column - column.min() if near else np.unique(column, return_inverse=True)[1])
    exact = np.stack(columns, axis=1).astype(np.int64)
    return exact[: len(train)], None if test is None else exact[len(train) :]


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
    if isinstance(array, Sparse):
        return array
    if array.shape[1] <= NARROW:
        return check_latents(who, array, what)
    for start in range(0, len(array), ROWS):
        block = array[start : start + ROWS]
        largest = max(-float(block.min()), float(block.max()))
        if not LARGEST >= largest:
            _refuse_entries(who, block, what, largest)
    return array


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


def dead(latents: Floats, extent: tuple[Floats, Floats] | None = None) -> Bools:
    """Which latents have no variance, up to rounding: a standard deviation within 1e-12 of max(1, |mean|).

    Args:
        latents: (n, d).
        extent: smallest and largest value of each, if they are known already.
    """
    result = np.zeros(latents.shape[1], dtype=np.bool_)
    low, high = extent if extent is not None else (latents.min(axis=0), latents.max(axis=0))
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
    if isinstance(latents, Sparse):
        columns = latents.tocsc()
        filled = np.diff(columns.indptr)
        full = np.flatnonzero(filled == latents.shape[0])  # only these can be one value that is not zero
        result = np.asarray(abs(columns).max(axis=0).todense()).ravel() == 0
        result[full] = dead(columns[:, full].toarray().astype(np.float64)) if len(full) else False
        return np.flatnonzero(result)
    blocks = [latents[:, start : start + NARROW] for start in range(0, latents.shape[1], NARROW)]
    return np.flatnonzero(np.concatenate([dead(np.asarray(block, dtype=np.float64)) for block in blocks]))


def _as_labels(who: str, factors: Any, gaps: bool, what: str = "factors") -> Labels:
    if factors is None:
        raise UnknotError(f"{who}: needs factors, and got none.")
    labels = labels_of(factors, who=who, names=column_names(factors), prefix="")
    array, names = labels.values, labels.columns
    if array.ndim != 2 or array.shape[1] == 0:
        raise UnknotError(f"{who}: {what} has shape {array.shape}; expected (n_samples, n_factors).")
    if array.dtype.kind == "f":
        wrong = np.isinf(array) if gaps else ~np.isfinite(array)
        if wrong.any():
            bad = ", ".join(names[j] for j in np.flatnonzero(wrong.any(axis=0)))
            raise UnknotError(
                f"{who}: {what} has NaN or infinite entries in {bad}; drop those rows, or call unknot.score, which "
                "scores each factor on the rows that have it."
            )
        if array.size and float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) > LARGEST:
            raise UnknotError(
                f"{who}: {what} has entries beyond {LARGEST:g}, whose squares are not finite; scale them down."
            )
    return labels


def column_names(factors: Any) -> tuple[str, ...]:
    """The names that a table, or one named column of it, brings; none if it has none."""
    if isinstance(factors, Table):
        return tuple(map(str, factors.columns))
    named = isinstance(factors, Column) and factors.ndim == 1 and factors.name is not None
    return (str(factors.name),) if named else ()


def _same_length(who: str, a: NDArray[Any], b: NDArray[Any], name_a: str, name_b: str) -> None:
    if a.shape[0] != b.shape[0]:
        raise UnknotError(
            f"{who}: {name_a} has {a.shape[0]} rows, {name_b} has {b.shape[0]}; both need one row per sample. "
            "Did a data loader drop its last batch?"
        )


def distinct(column: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Distinct values and the code of each row; whole numbers of small range are counted, not sorted."""
    low, high = column.min(), column.max()
    if column.dtype.kind == "f" or int(high) - int(low) > 4 * len(column) + 1024:
        values, codes = np.unique(column, return_inverse=True)
        return values, codes.reshape(-1)
    above = column - low
    present = np.bincount(above) > 0
    values = np.flatnonzero(present) + low
    return values, above if present.all() else (np.cumsum(present) - 1)[above]


def _few_values(column: NDArray[Any]) -> bool:
    """Whether numbers are names of classes: there are few, and each comes again and again."""
    return len(np.unique(column)) <= min(MOST_CLASSES, len(column) // ROWS_OF_A_CLASS)


def _encode(
    who: str,
    z: Floats,
    y: NDArray[Any],
    z_test: Floats | None,
    y_test: NDArray[Any] | None,
    labels: Labels,
    continuous: str,
) -> Rows:
    names = labels.columns
    codes, codes_test, sizes, kept, real = [], [], [], [], []
    skipped: dict[str, str] = {}
    notes: list[str] = []
    there = known(y)
    whole = bool(there.all())
    for j, name in enumerate(names):
        column, test = y[:, j] if whole else y[there[:, j], j], None if y_test is None else y_test[:, j]
        if not len(column):
            skipped[name] = "no row has a label"
            continue
        fractions = y.dtype.kind == "f" and bool(np.any(column != np.round(column)))
        is_real = name in labels.continuous or (fractions and not _few_values(column))
        if is_real and continuous == "bin":
            edges = np.unique(np.quantile(column, np.linspace(0, 1, BINS_OF_CONTINUOUS + 1)[1:-1]))
            column = np.searchsorted(edges, column, side="right")
            test = None if test is None else np.searchsorted(edges, test, side="right")
            notes.append(f"factor '{name}' is continuous: cut into {len(edges) + 1} bins of equal count.")
        # Whole floats beyond those that are exact are told apart as they are; int64 has no room for the largest.
        huge = column.dtype.kind == "f" and float(np.abs(column).max()) > EXACT
        values, code = distinct(column if is_real or fractions or huge else column.astype(np.int64, copy=False))
        if len(values) == 1:
            skipped[name] = "constant" if whole else "constant where it is known"
            continue
        n = len(column)
        if not is_real and (len(values) > max(MOST_CLASSES, n // 4) or len(values) == n >= ALL_DIFFERENT):
            raise UnknotError(
                f"{who}: factor '{name}' has {len(values)} distinct values in {n} rows; that is an "
                "identifier, not a factor. Leave the column out (--factors), or say that it is a measurement "
                f"(--continuous {name})."
            )
        if not whole:
            code, known_codes = np.full(len(y), UNKNOWN, dtype=np.int64), code
            code[there[:, j]] = known_codes
        codes.append(code)
        sizes.append(len(values))
        kept.append(j)
        real.append(is_real)
        if test is not None:
            at = np.minimum(np.searchsorted(values, test), len(values) - 1)
            seen = np.where(values[at] == test, at, UNSEEN)
            codes_test.append(np.where(np.isnan(test), UNKNOWN, seen) if test.dtype.kind == "f" else seen)
    if not kept:
        raise UnknotError(f"{who}: every factor is constant ({', '.join(names)}); nothing can be scored.")
    return Rows(
        latents=z,
        factors=np.stack(codes, axis=1).astype(np.int64, copy=False),
        sizes=np.array(sizes, dtype=np.int64),
        given=y,
        kept=np.array(kept, dtype=np.int64),
        names=names,
        continuous=np.array(real, dtype=np.bool_),
        latents_test=z_test,
        factors_test=None if y_test is None else np.stack(codes_test, axis=1).astype(np.int64),
        given_test=y_test,
        nominal=tuple(labels.words),
        skipped=skipped,
        notes=notes,
    )
