"""Tables of any library as Arrow's, through the interface they all have; no library is imported for it but Arrow.

pandas, polars, DuckDB and others hand over their columns by `__arrow_c_stream__`, a Hugging Face dataset by its format.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from unknot.errors import UnknotError

if TYPE_CHECKING:
    import pyarrow as pa

INDEX = "__index_level_"  # how pandas calls an index that it hands over as a column


@runtime_checkable
class ArrowStream(Protocol):
    """A table or a column that hands over its data as Arrow's."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The data as a stream of Arrow."""


@runtime_checkable
class Frame(ArrowStream, Protocol):
    """A table: it has named columns besides."""

    columns: Any


@runtime_checkable
class HuggingFace(Protocol):
    """A dataset of Hugging Face."""

    features: Mapping[str, Any]

    def with_format(self, type: str) -> Any:
        """The same rows, handed over in another form."""


@runtime_checkable
class ClassLabel(Protocol):
    """A column of Hugging Face whose whole numbers have names."""

    names: list[str]

    def int2str(self, values: Any) -> Any:
        """The names of numbers."""


@runtime_checkable
class Annotated(Protocol):
    """AnnData: observations `obs` with arrays `obsm` and a matrix `X` beside them."""

    obs: Any
    obsm: Mapping[str, Any]
    X: Any


def is_table(values: Any) -> bool:
    """Whether it is a table with named columns."""
    return isinstance(values, Frame | HuggingFace | Mapping)


def as_table(values: Any, who: str) -> "pa.Table":
    """A table of any library as Arrow's, without the index of pandas."""
    import pyarrow as pa

    if isinstance(values, HuggingFace):
        table = values.with_format("arrow")[:]
        if not isinstance(table, pa.Table):
            raise UnknotError(
                f"{who}: is a dataset that is streamed, which has no rows to choose from; take some, such as "
                "datasets.Dataset.from_list(list(stream.take(1000)))."
            )
        for name, feature in values.features.items():
            if isinstance(feature, ClassLabel):
                place = table.column_names.index(name)
                table = table.set_column(place, name, worded(_known(table.column(name)), feature.names))
        return table
    if isinstance(values, Mapping):
        return pa.table({str(name): column_of(column, f"{who}: '{name}'") for name, column in values.items()})
    try:
        table = pa.table(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise _mixed(who, error) from None
    return table.select([name for name in table.column_names if not name.startswith(INDEX)])


def column_of(values: Any, who: str) -> "pa.ChunkedArray":
    """One column of any library, or a list or array of values, as Arrow's."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return values
    try:
        if isinstance(values, ArrowStream):
            return pa.chunked_array(values)
        if isinstance(values, np.ndarray) and values.ndim == 2:
            values = list(values)
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
        raise _mixed(who, error) from None


def worded(codes: Any, words: Sequence[str]) -> "pa.ChunkedArray":
    """Numbers of classes with their words, as a categorical; unknown is NaN."""
    import pyarrow as pa

    try:
        indices = column_of(codes, "words").combine_chunks().cast("int32")
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array(list(words), pa.string()))])
    except pa.ArrowException as error:
        raise UnknotError(f"words: classes are not the numbers of {len(words)} words ({error}).") from None


def _known(codes: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Numbers of classes without -1, which Hugging Face writes for an unknown one."""
    import pyarrow.compute as pc

    return pc.if_else(pc.less(codes, 0), None, codes)


def _mixed(who: str, error: Exception) -> UnknotError:
    reason = " ".join(" ".join(map(str, error.args)).split())[:200]
    return UnknotError(
        f"{who}: a column mixes words and numbers, or holds what is neither ({reason}); make each column of one kind, "
        "with None where a value is missing."
    )
