"""Checked input of a metric: latents as float64, factors as codes 0..K-1, what was left out and why.

Every metric calls `prepare` first, so that all of them treat labels, constants, NaN and missing test rows alike.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.held_out import Rng as Rng
from unknot.metrics.held_out import copies, third_of_groups, third_of_rows
from unknot.metrics.latents import LARGEST, Checked, as_they_came, check_latents, enough_rows
from unknot.metrics.rows import Rows as Rows
from unknot.reading.arrays import as_array
from unknot.tables.labels import Labels, known, labels_of

UNSEEN = -1  # code of a test value that never occurs in the training rows
UNKNOWN = -2  # code of a label that is missing
BINS_OF_CONTINUOUS = 20
EXACT = 2**53  # whole numbers up to this are all different in float64
MOST_CLASSES = 100  # a column with more classes than this, and fewer than four rows for each, is an identifier
ROWS_OF_A_CLASS = 5  # on average, where fractions are classes
ALL_DIFFERENT = 50  # so is one of this many rows in which no value repeats


class MissingLabelsError(UnknotError):
    """Labels are missing, and the metric takes none but complete ones."""


@runtime_checkable
class Table(Protocol):
    """A table with named columns, of pandas or another library."""

    columns: Iterable[Any]


@runtime_checkable
class Column(Protocol):
    """One column of such a table."""

    name: Any
    ndim: int


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
    as_is: bool = False,
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
        as_is: whether wide latents may stay as they came: of any precision, mapped from disk, or sparse.
        gaps: whether labels may be missing, whose code is UNKNOWN.
    """
    of_split = rng if latents_test is None else None
    passed = latents, factors, latents_test, factors_test
    make = partial(_prepared, who, passed, of_split, continuous, names, as_is, gaps)
    # A generator moves on with every split, so that no two metrics see the same one.
    if not isinstance(latents, Checked) or isinstance(of_split, np.random.Generator):
        rows = make()
    else:
        table = _table(who, factors)
        measured = isinstance(factors, Labels) and bool(factors.continuous)
        real = factors is not None and (table.dtype.kind == "f" or measured)
        gone = gaps and not all(
            known(_table(who, each)).all() for each in (factors, factors_test) if each is not None
        )
        wide = as_is and latents.wide  # others are in double precision either way
        how = of_split, continuous if real else None, names and tuple(names), wide, gone
        rows = latents.rows(make, passed[1:], *how)
    if rows.skipped:
        text = f"{who}: left out constant factor(s) {', '.join(rows.skipped)}."
        warnings.warn(text, UnknotWarning, stacklevel=3)
    return rows


def _table(who: str, factors: Any) -> NDArray[Any]:
    return factors.values if isinstance(factors, Labels) else as_array(factors, who, "factors")


def _prepared(
    who: str,
    passed: tuple[Any, ...],
    rng: Rng | None,
    continuous: str,
    names: Sequence[str] | None,
    as_is: bool,
    gaps: bool,
) -> Rows:
    latents, factors, latents_test, factors_test = passed
    looked_at = as_they_came if as_is else check_latents
    z = looked_at(who, latents)
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
        z_test = looked_at(who, latents_test, "latents_test")
        about_test = _as_labels(who, factors_test, gaps, "factors_test").like(about)
        y_test = about_test.values
        _same_length(who, z_test, y_test, "latents_test", "factors_test")
        for name, a, b in (("latents", z, z_test), ("factors", y, y_test)):
            if a.shape[1] != b.shape[1]:
                raise UnknotError(f"{who}: {name} has {a.shape[1]} columns, {name}_test {b.shape[1]}.")
    elif rng is not None:
        groups = copies(z)
        copied = groups is not None
        test, train = third_of_rows(z.shape[0], rng) if groups is None else third_of_groups(groups, rng)
        if not np.any(y[train] != y[train[0]]) and np.any(y != y[0]):
            raise UnknotError(
                f"{who}: {len(y)} rows are too few: no factor varies among the {len(train)} left for training after a "
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
            if gaps:
                raise UnknotError(
                    f"{who}: {what} has infinite entries in {bad}; drop those rows, or name what means an unknown "
                    "label (--missing inf, missing=['inf'])."
                )
            raise MissingLabelsError(
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
    if isinstance(factors, Labels | np.ndarray):
        return ()
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
        kind = labels.kinds.get(name) or ("continuous" if fractions and not _few_values(column) else "ordinal")
        is_real = kind == "continuous"
        if is_real and continuous == "bin":
            edges = np.unique(np.quantile(column, np.linspace(0, 1, BINS_OF_CONTINUOUS + 1)[1:-1]))
            column = np.searchsorted(edges, column, side="right")
            if test is not None:
                test = np.where(np.isnan(test), np.nan, np.searchsorted(edges, test, side="right"))
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
                f"(--kinds {name}=continuous)."
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
        where = "" if whole else " where it is known"
        empty = not there.any()
        what = "no row has a label" if empty else f"every factor is constant{where}"
        raise UnknotError(f"{who}: {what} ({', '.join(names)}); nothing can be scored.")
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
        kinds=labels.kinds,
        worded=frozenset(labels.words),
        skipped=skipped,
        notes=notes,
    )
