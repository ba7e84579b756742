"""Anything with named columns, read column by column: tables of any library, AnnData, and files of them.

A column is one of Arrow's, or an array (n, d) or sparse matrix that stands beside the table: `obsm` of AnnData, a
dataset of HDF5, an array of an `.npz`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError
from unknot.reading.arrays import Sparse
from unknot.reading.guard import must_fit, parsing
from unknot.tables.arrow import INDEX, Annotated, HuggingFace, as_table, is_table
from unknot.tables.latents import is_vector, latents_of
from unknot.tables.metadata import About

if TYPE_CHECKING:
    import pyarrow as pa

HDF5 = (".h5", ".hdf5", ".h5ad")


@dataclass(frozen=True)
class Frame:
    """Named columns that are read when they are asked for.

    Attributes:
        who: the file, or what the table is called in messages.
        vectors: name of each column -> whether it holds a vector in each row.
        read: the columns of some names.
        about: what the file says beside its columns.
        factors: columns that are factors, whatever they are called.
    """

    who: str
    vectors: Mapping[str, bool]
    read: Callable[[Sequence[str]], Mapping[str, Any]]
    about: About = field(default_factory=About)
    factors: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.vectors)


def frame_of(source: Any, who: str = "table") -> Frame:
    """The columns of a table, of AnnData, or of arrays by name; a frame is what it is."""
    if isinstance(source, Frame):
        return source
    if isinstance(source, Annotated):
        arrays = {**source.obsm, "X": source.X}
        table = as_table(source.obs, "AnnData.obs")
        return _beside("AnnData", table, {name: array for name, array in arrays.items() if array is not None})
    if isinstance(source, Mapping):
        if several := [name for name, part in source.items() if isinstance(part, HuggingFace)]:
            raise UnknotError(f"{who}: has several datasets, {', '.join(several)}; choose one: [{several[0]!r}].")
        arrays = {name: array for name, array in source.items() if len(np.shape(array)) > 1}
        return _beside(who, as_table({n: c for n, c in source.items() if n not in arrays}, who), arrays)
    if is_table(source):
        return _beside(who, as_table(source, who), {})
    raise UnknotError(
        f"{who}: {type(source).__name__} has no named columns; expected a table of pandas, polars or Arrow, a Hugging "
        "Face dataset, AnnData, or the path of a file."
    )


def file_frame(path: Path) -> Frame:
    """The columns of a Parquet or HDF5 file, read when they are asked for."""
    if path.suffix == ".parquet":
        return _of_parquet(path)
    from unknot.tables.hdf5 import hdf5_columns

    vectors, read = hdf5_columns(path)
    return Frame(str(path), vectors, read)


def file_about(path: Path) -> About:
    """What a file of factors says beside its columns, by the names of these; nothing but of Parquet."""
    if path.suffix != ".parquet" or not path.exists():
        return About()
    frame = file_frame(path)
    return frame.about.by_column(frame.who, frame.vectors)


def _beside(who: str, table: "pa.Table", arrays: Mapping[str, Any]) -> Frame:
    """The columns of a table, with arrays that have as many rows."""
    vectors = {str(field.name): is_vector(field.type) for field in table.schema} | dict.fromkeys(arrays, True)

    def read(names: Sequence[str]) -> dict[str, Any]:
        return {name: latents_of(arrays[name], who) if name in arrays else table.column(name) for name in names}

    return Frame(who, vectors, read, About.of(who, table.schema))


def _of_parquet(path: Path) -> Frame:
    import pyarrow.parquet as pq

    with parsing(path, "a Parquet table"), path.open("rb") as stream, pq.ParquetFile(stream) as file:
        about, schema = file.metadata, file.schema_arrow
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))

    def read(names: Sequence[str]) -> dict[str, Any]:
        must_fit(path, max(size, 8 * about.num_rows * len(names)))
        with parsing(path, "a Parquet table"), path.open("rb") as stream:
            table = pq.read_table(stream, columns=list(names))
            return {name: table.column(name) for name in names}

    vectors = {str(field.name): is_vector(field.type) for field in schema if not field.name.startswith(INDEX)}
    return Frame(str(path), vectors, read, About.of(str(path), schema))


def n_rows(column: Any) -> int:
    """How many rows a column has."""
    return int(column.shape[0]) if isinstance(column, np.ndarray | Sparse) else len(column)
