"""Factors as they come: whole numbers, words, dates, measurements, lists of tags; with gaps.

Every column becomes numbers. Words become classes in alphabetical order (those of a categorical in its own), dates
days since 1970, a list of words one factor of 0 and 1 for each word; what is unknown becomes NaN.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import Kind
from unknot.reading.arrays import as_array
from unknot.tables.arrow import as_table, column_of, is_table, worded

if TYPE_CHECKING:
    import pyarrow as pa

EXACT = 2**53  # whole numbers up to this are all different in float64
MOST_TAGS = 100  # factors that one column of lists becomes
FEW_DATES = 20  # dates with no more values than this are classes


@dataclass(frozen=True)
class Labels:
    """Factors with their names, as numbers.

    Attributes:
        values: (n, f) whole numbers, or real ones with NaN where a label is unknown.
        columns: names of the factors.
        words: factor -> what its classes 0, 1, ... are called, for those that were words.
        kinds: factor -> its kind, where it is known: a continuous one is a measurement even where its values are whole
            numbers, and others are classes even where theirs have fractions.
    """

    values: NDArray[Any]
    columns: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def continuous(self) -> frozenset[str]:
        """Names of the factors that are measurements."""
        return frozenset(name for name, kind in self.kinds.items() if kind == "continuous")

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getitem__(self, rows: Any) -> "Labels":
        return Labels(self.values[rows], self.columns, self.words, self.kinds)

    def only(self, columns: Sequence[int], rows: Any = slice(None)) -> "Labels":
        """Some of the factors, in some of the rows; whole numbers again if nothing is missing there."""
        values = self.values[rows][:, columns]
        return Labels(values, tuple(self.columns[j] for j in columns), self.words, self.kinds)

    def by_name(self) -> dict[str, Any]:
        """Factor -> its column, words as a categorical of Arrow."""
        columns = dict(zip(self.columns, self.values.T, strict=True))
        return columns | {
            name: worded(columns[name], words) for name, words in self.words.items() if name in columns
        }

    def like(self, first: "Labels") -> "Labels":
        """The same with classes of words numbered as in other labels; words that are new there come after them."""
        for name, own in zip(self.columns, first.columns, strict=False):
            if (name in self.words) != (own in first.words):
                raise UnknotError(
                    f"factor '{name}' is words in some rows and numbers in others; make it one of both."
                )
        both = zip(self.columns, first.columns, strict=False)
        return self.numbered({name: first.words[own] for name, own in both if own in first.words})

    def numbered(self, words: Mapping[str, tuple[str, ...]]) -> "Labels":
        """The same with classes numbered as in words of factors; those that are new come after them."""
        values, words = (
            self.values.copy(),
            {**self.words, **{n: words[n] for n in self.columns if n in words}},
        )
        for j, name in enumerate(self.columns):
            own = self.words.get(name, ())
            if own != words.get(name, ()) and own:
                classes = {word: i for i, word in enumerate(dict.fromkeys((*words[name], *own)))}
                place = np.array([classes[word] for word in own])
                there = known(values[:, j])
                values[there, j] = place[values[there, j].astype(np.int64)]
                words[name] = tuple(classes)
        return Labels(values, self.columns, words, self.kinds)


def known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of factors (n, f) are known."""
    return ~np.isnan(values) if values.dtype.kind == "f" else np.ones(values.shape, dtype=np.bool_)


def labels_of(
    factors: Any,
    *,
    who: str = "factors",
    names: Sequence[str] = (),
    prefix: str = "factor_",
    missing: Sequence[Any] = (),
) -> Labels:
    """Factors of anything: an array, a table, a column of words or a list of them.

    Args:
        factors: what the caller has.
        who: for messages.
        names: of the factors; a table brings its own.
        prefix: of the numbers that are the names of factors without any.
        missing: values that stand for an unknown label, besides None, NaN and empty words.

    >>> labels = labels_of({"species": ["owl", None, "ant"], "tags": [["red"], [], ["red", "big"]]})
    >>> labels.columns, labels.words["species"]
    (('species', 'tags=big', 'tags=red'), ('ant', 'owl'))
    >>> labels.values.tolist()
    [[1.0, 0.0, 1.0], [nan, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    if isinstance(factors, Labels):
        return factors
    if isinstance(factors, np.ma.MaskedArray):
        factors = as_array(factors, who, "factors")  # which refuses one that hides entries
    if is_table(factors):
        table = as_table(factors, who)
        columns = [(str(name), table.column(i)) for i, name in enumerate(table.column_names)]
        return _joined(who, columns, missing, names)
    array = _array(factors)
    if array is not None and (array.ndim == 0 or array.dtype.kind in "fiub"):
        if array.ndim == 0:
            raise UnknotError(f"{who}: factors has shape (); expected (n_samples, n_factors).")
        array = _without(array, missing)
        own = tuple(names) or _numbered(array, prefix)
        return Labels(array if array.ndim > 1 else array[:, None], own)
    if array is None or array.ndim < 2:
        single = column_of(factors, who)
        name = names[0] if len(names) == 1 else f"{prefix}0"
        return _joined(who, [(name, single)], missing, ())
    if array.ndim != 2:
        raise UnknotError(f"{who}: factors has shape {array.shape}; expected (n_samples, n_factors).")
    own = tuple(names) or _numbered(array, prefix)
    if len(own) != array.shape[1]:
        raise UnknotError(f"{who}: {len(own)} factor names for {array.shape[1]} factors; give one name each.")
    parts = [(name, column_of(array[:, j], f"{who}: factor '{name}'")) for j, name in enumerate(own)]
    return _joined(who, parts, missing, ())


def group_codes(groups: Any, who: str) -> NDArray[np.int64]:
    """The number of the group that each row belongs to, of names or numbers of any kind."""
    import pyarrow as pa

    array = _array(groups)
    if array is not None and array.ndim == 1 and array.dtype.kind in "iub":
        return array.astype(np.int64)
    column = column_of(groups, who)
    if column.null_count:
        raise UnknotError(f"{who}: {column.null_count} row(s) have no group; give each its own, or drop them.")
    if not len(column):
        return np.zeros(0, np.int64)
    try:
        coded = pa.chunked_array(column).dictionary_encode().unify_dictionaries().combine_chunks()
    except pa.ArrowException:
        raise UnknotError(f"{who}: groups hold {column.type}; expected a name or a number for each row.") from None
    return np.asarray(coded.indices).astype(np.int64)


def _numbered(array: NDArray[Any], prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{j}" for j in range(array.shape[1] if array.ndim > 1 else 1))


def _array(factors: Any) -> NDArray[Any] | None:
    """Numpy's array of it; None of lists of different lengths, which have none."""
    try:
        return as_array(factors)
    except ValueError:
        return None


def _without(array: NDArray[Any], missing: Sequence[Any]) -> NDArray[Any]:
    """Numbers with NaN in the place of those that stand for nothing."""
    numbers = list(_numbers(missing))
    gaps = np.isin(array, numbers) if numbers else np.zeros(0, dtype=np.bool_)
    return np.where(gaps, np.nan, array.astype(np.float64)) if gaps.any() else array


def _numbers(words: Iterable[Any]) -> Iterator[float]:
    for word in words:
        try:
            yield float(word)
        except (TypeError, ValueError):
            continue


def _joined(
    who: str,
    columns: Iterable[tuple[str, "pa.ChunkedArray"]],
    missing: Sequence[Any],
    names: Sequence[str],
) -> Labels:
    parts = [part for name, column in columns for part in _factors(who, name, column, missing)]
    if not parts:
        raise UnknotError(f"{who}: has no column of factors.")
    if len(names) and len(names) != len(parts):
        raise UnknotError(f"{who}: {len(names)} factor names for {len(parts)} factors; give one name each.")
    own = tuple(map(str, names)) or tuple(part.name for part in parts)
    values = [part.values for part in parts]
    whole = all(column.dtype.kind in "iub" for column in values)
    return Labels(
        np.stack(values, axis=1).astype(np.int64 if whole else np.float64),
        own,
        {name: part.words for name, part in zip(own, parts, strict=True) if part.words},
        {name: "continuous" for name, part in zip(own, parts, strict=True) if part.measured},
    )


@dataclass(frozen=True)
class _Part:
    """One factor, from a column or from a word of one."""

    name: str
    values: NDArray[Any]
    words: tuple[str, ...] = ()
    measured: bool = False


def _factors(who: str, name: str, column: "pa.ChunkedArray", missing: Sequence[Any]) -> Iterator[_Part]:
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        yield _categories(name, column, missing)
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        yield _words(who, name, column, missing)
    elif types.is_boolean(kind):
        yield _Part(name, _filled(column.cast("int64"), np.int64))
    elif types.is_integer(kind):
        yield _whole(name, column, missing)
    elif types.is_floating(kind) or types.is_decimal(kind):
        yield _Part(name, _without(_filled(column.cast("float64"), np.float64), missing))
    elif types.is_temporal(kind):
        yield _date(who, name, column)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind):
        yield from _tags(who, name, column)
    elif types.is_null(kind):
        raise UnknotError(f"{who}: factor '{name}' has no label in any row; leave the column out.")
    else:
        raise UnknotError(
            f"{who}: factor '{name}' holds {kind}; expected numbers, words, dates, booleans or lists of words."
        )


def _filled(column: "pa.ChunkedArray", dtype: Any) -> NDArray[Any]:
    """The numbers of a column, real ones with NaN where some are missing."""
    if column.null_count:
        column, dtype = column.cast("float64"), np.float64
    array: NDArray[Any] = column.to_numpy().astype(dtype, copy=False)
    return array


def _whole(name: str, column: "pa.ChunkedArray", missing: Sequence[Any]) -> _Part:
    import pyarrow.compute as pc

    ends = pc.min_max(column).as_py()
    if (
        ends["max"] is not None and max(abs(ends["max"]), abs(ends["min"])) > EXACT
    ):  # ranked, since NaN needs float64
        column = column.dictionary_encode()
        return _categories(name, column, missing)
    return _Part(name, _without(_filled(column.cast("int64"), np.int64), missing))


def _words(who: str, name: str, column: "pa.ChunkedArray", missing: Sequence[Any]) -> _Part:
    part = _categories(name, column.dictionary_encode(), missing, alphabetical=True)
    numbers = [word for word in part.words if list(_numbers([word]))]
    others = [word for word in part.words if word not in set(numbers)]
    if numbers and others:
        raise UnknotError(
            f"{who}: factor '{name}' mixes numbers and words, such as '{numbers[0]}' and '{others[0]}'. Words "
            f"that mean an unknown label are named with --missing (missing=[{others[0]!r}]); if all are classes, "
            f"write the numbers as words ('class {numbers[0]}'), or make the column of a DataFrame categorical."
        )
    return part


def _categories(
    name: str, column: "pa.ChunkedArray", missing: Sequence[Any], *, alphabetical: bool = False
) -> _Part:
    """Classes of a coded column: those that occur, in its own order or in that of the alphabet."""
    coded = column.unify_dictionaries().combine_chunks()
    words = [None if word is None else str(word).strip() for word in coded.dictionary.to_pylist()]
    gaps = {"", None, *map(str, missing)}
    codes = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)
    occurring = np.bincount(codes[codes >= 0], minlength=len(words)) > 0
    classes = list(dict.fromkeys(str(w) for w, o in zip(words, occurring, strict=True) if o and w not in gaps))
    classes = sorted(classes) if alphabetical else classes
    place = {word: i for i, word in enumerate(classes)}
    lookup = np.array([place.get(word, -1) for word in words] + [-1], dtype=np.int64)  # type: ignore[arg-type]
    values = lookup[codes]
    unknown = values < 0
    return _Part(name, np.where(unknown, np.nan, values) if unknown.any() else values, tuple(map(str, classes)))


def _date(who: str, name: str, column: "pa.ChunkedArray") -> _Part:
    """Days since 1970, or seconds of a time of the day or a duration; a measurement unless there are few values."""
    from pyarrow import types

    kind = column.type
    if types.is_interval(kind):
        raise UnknotError(f"{who}: factor '{name}' holds {kind}; give its length as a number.")
    dated = types.is_date(kind) or types.is_timestamp(kind)
    if types.is_time(kind):
        column = column.cast("time64[ns]")
    elif types.is_duration(kind):
        column = column.cast("duration[ns]")
    else:
        column = column.cast("timestamp[ns]")
    values = _filled(column.cast("int64"), np.float64) / (86_400e9 if dated else 1e9)
    return _Part(name, values, measured=len(np.unique(values[~np.isnan(values)])) > FEW_DATES)


def _tags(who: str, name: str, column: "pa.ChunkedArray") -> Iterator[_Part]:
    """One factor of 0 and 1 for each word that occurs; a row without a list is unknown, an empty list has no tag."""
    import pyarrow.compute as pc
    from pyarrow import types

    inside = column.type.value_type
    if not (types.is_string(inside) or types.is_large_string(inside) or types.is_string_view(inside)):
        raise UnknotError(
            f"{who}: factor '{name}' holds lists of {inside}; factors are single values or lists of words. If these "
            "are latents, name the column with --latents."
        )
    words = pc.list_flatten(column).combine_chunks().dictionary_encode()
    owners = np.asarray(pc.list_parent_indices(column).combine_chunks())
    codes = np.asarray(words.indices.fill_null(-1)).astype(np.int64)
    tags = [str(tag) for tag in words.dictionary.to_pylist()]
    if len(tags) > MOST_TAGS:
        raise UnknotError(
            f"{who}: factor '{name}' has {len(tags)} different words in its lists; at most {MOST_TAGS} become factors "
            "of their own. Keep the words that matter."
        )
    gaps = np.asarray(column.is_null())
    for place, tag in sorted(enumerate(tags), key=lambda pair: pair[1]):
        values = np.zeros(len(column), dtype=np.float64 if gaps.any() else np.int64)
        values[owners[codes == place]] = 1
        if gaps.any():
            values[gaps] = np.nan
        yield _Part(f"{name}={tag}", values)
