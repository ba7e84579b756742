"""Which columns of a table are latents, which factors, and how a second table is joined to it."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning, unknown
from unknot.factors import Kind
from unknot.reading.arrays import Sparse, is_sparse
from unknot.tables.arrow import column_of
from unknot.tables.frames import Frame, frame_of, n_rows
from unknot.tables.labels import Labels, labels_of
from unknot.tables.latents import vectors
from unknot.tables.metadata import FACTOR, About

LATENT = "latent_"  # how columns are called that need not be chosen, as those of factors
WILD = "*?["


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are; names may have wildcards, such as `z*`.

    Attributes:
        latents: columns of numbers, or one that holds a vector in each row. Left out: those called `latent_...`, or the
            only one of vectors.
        factors: columns of labels. Left out: those called `factor_...`.
        groups: the column that says what each row belongs to.
        join: the column that two tables are joined by.
        missing: values that stand for an unknown label, besides None, NaN and empty words.
    """

    latents: Sequence[str] = ()
    factors: Sequence[str] = ()
    groups: str = ""
    join: str = ""
    missing: Sequence[Any] = ()

    def __post_init__(self) -> None:
        for name in ("latents", "factors", "missing"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    @property
    def chosen(self) -> bool:
        """Whether anything is said."""
        return self != Columns()


@dataclass(frozen=True)
class Chosen:
    """What was read of one table or two."""

    latents: Any
    factors: Labels | None
    groups: Any
    kinds: Mapping[str, Kind]
    rows: Any  # of the first table that have labels; None for all


def choose(first: Frame, labels: Frame | None, columns: Columns) -> Chosen:
    """Latents, factors and groups of a table, or of two that are joined; of two the second has the labels."""
    second = first if labels is None else labels
    latents = _latents(first, columns)
    beside = {columns.groups, columns.join} - {""} | (set(latents) if second is first else set())
    factors = _factors(second, columns, beside)
    both = labels is not None
    first_too = [name for name in (columns.groups, columns.join) if name and (name in first.vectors or not both)]
    own = _read(first, [*latents, *first_too, *([] if both else factors)])
    z = _stacked(first.who, [own[name] for name in latents])
    theirs, rows = own, None
    if both:
        keys = [name for name in (columns.groups, columns.join) if name and name not in own]
        theirs = _read(second, [*factors, *keys, *([columns.join] if columns.join else [])])
        own, theirs, rows = _joined(first, second, own, theirs, n_rows(z), columns.join)
    group = own.get(columns.groups, theirs.get(columns.groups)) if columns.groups else None
    names = {name: name if name in second.factors else name.removeprefix(FACTOR) for name in factors}
    chosen = {names[name]: _plain(second.who, names[name], theirs[name]) for name in factors}
    about = second.about.by_column(second.who, set(second.names) - set([] if columns.latents or both else latents))
    own_names = {name: names.get(name, name.removeprefix(FACTOR)) for name in (*about.kinds, *about.words)}
    words = {own_names[name]: own for name, own in about.words.items()}
    kinds = {own_names[name]: kind for name, kind in about.kinds.items()}
    y = labels_of(chosen, who=second.who, missing=columns.missing).numbered(words) if chosen else None
    return Chosen(z if rows is None else z[rows], y, group, kinds, rows)


def labelled_frame(who: str, latents: Any, labels: Labels | None) -> Frame:
    """Latents and factors as the columns of a table, words as words."""
    columns = labels.by_name() if labels else {}
    frame = frame_of({"latents": latents, **columns}, who)
    about = About(labels.kinds, labels.words) if labels else About()
    return replace(frame, about=about, factors=tuple(columns))


def _latents(frame: Frame, columns: Columns) -> list[str]:
    if columns.latents:
        return _matching(frame, columns.latents, "latents")
    own = [name for name in frame.names if name.startswith(LATENT)] or [n for n in frame.names if n == "latents"]
    wide = [name for name, vector in frame.vectors.items() if vector]
    if own or len(wide) == 1:
        return own or wide
    which = f"several hold vectors ({', '.join(wide)})" if wide else "no latent_ column is there"
    raise UnknotError(
        f"{frame.who}: expected columns latent_... and factor_<name>; {which}. Name the latents: --latents NAME, or "
        f'--latents "z*". Its columns are {_listed(frame.names)}.'
    )


def _factors(frame: Frame, columns: Columns, others: set[str]) -> list[str]:
    if columns.factors:
        prefixed = [
            FACTOR + name if name not in frame.vectors and FACTOR + name in frame.vectors else name
            for name in columns.factors
        ]
        return [name for name in _matching(frame, prefixed, "factors") if name not in others]
    own = [name for name in frame.factors if name not in others]
    own = own or [name for name in frame.names if name.startswith(FACTOR)]
    left = [name for name in frame.names if name not in others and name not in own]
    if left and not (own and columns.chosen):
        raise UnknotError(
            f"{frame.who}: expected columns latent_... and factor_<name>; '{left[0]}' is neither. Name the factors, "
            f"such as --factors {shlex.quote(left[0])}; there are {_listed(left)}.",
            field="factors",
        )
    return own


def _matching(frame: Frame, patterns: Sequence[str], what: str) -> list[str]:
    """The columns that names or wildcards stand for, in the order of the names, each once."""
    found: dict[str, None] = {}
    for pattern in patterns:
        wild = any(sign in pattern for sign in WILD) and pattern not in frame.vectors
        names = [name for name in frame.names if fnmatchcase(name, pattern)] if wild else [pattern]
        if wild and not names:
            raise UnknotError(f"{frame.who}: no column is called '{pattern}'; there are {_listed(frame.names)}.")
        for name in names:
            if name not in frame.vectors:
                raise unknown(f"column of {frame.who}", name, frame.names, field=what)
            found[name] = None
    return list(found)


def _read(frame: Frame, names: Sequence[str]) -> dict[str, Any]:
    for name in names:
        if name not in frame.vectors:
            raise unknown(f"column of {frame.who}", name, frame.names)
    return dict(frame.read(list(dict.fromkeys(names))))


def _stacked(who: str, columns: Sequence[Any]) -> Any:
    """Columns side by side; a single one of vectors as it is."""
    if len(columns) == 1 and isinstance(columns[0], np.ndarray | Sparse):
        return columns[0]
    if any(isinstance(column, np.ndarray | Sparse) for column in columns):
        raise UnknotError(f"{who}: latents are one array or several columns of numbers, not both; choose.")
    return vectors(who, list(columns))


def _plain(who: str, name: str, column: Any) -> Any:
    """A column of factors as one of Arrow's."""
    if is_sparse(column) or (isinstance(column, np.ndarray) and column.ndim > 1):
        raise UnknotError(f"{who}: factor '{name}' has shape {column.shape}; a factor has one value in each row.")
    return column


def _joined(
    first: Frame, second: Frame, own: Mapping[str, Any], theirs: Mapping[str, Any], rows: int, join: str
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The columns of both where rows have the same key, and which rows of the first these are; None for all."""
    if not join:
        counts = rows, *{n_rows(column) for column in theirs.values()}
        if len(set(counts)) > 1:
            raise UnknotError(
                f"{first.who} has {counts[0]} rows, {second.who} has {counts[1]}; both need one row per sample, or a "
                "column that says which belong together: --join NAME."
            )
        return dict(own), dict(theirs), None
    mine, keys = _keys(first, own, join), _keys(second, theirs, join)
    order = {key: i for i, key in enumerate(keys)}
    if len(order) < len(keys):
        twice = next(key for i, key in enumerate(keys) if order[key] != i)
        raise UnknotError(
            f"{second.who}: '{twice}' stands twice in its column {join}; one row of labels for each is needed."
        )
    at = np.array([order.get(key, -1) for key in mine], dtype=np.int64)
    there = at >= 0
    if not there.any():
        raise UnknotError(
            f"no {join} of {first.who}, such as '{mine[0]}', is in {second.who}, whose are such as '{keys[0]}'."
        )
    theirs = {name: _taken(column, at[there]) for name, column in theirs.items()}
    if not there.all():
        text = (
            f"{first.who}: {np.sum(~there)} of {len(mine)} rows have no {join} in {second.who} and are left out."
        )
        warnings.warn(text, UnknotWarning, stacklevel=5)
        own = {name: _taken(column, np.flatnonzero(there)) for name, column in own.items()}
    return dict(own), dict(theirs), None if there.all() else there


def _keys(frame: Frame, columns: Mapping[str, Any], join: str) -> list[str]:
    return list(map(str, column_of(columns[join], f"{frame.who}: {join}").to_pylist()))


def _taken(column: Any, rows: NDArray[np.int64]) -> Any:
    return column[rows] if isinstance(column, np.ndarray | Sparse) else column.take(rows)


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
