"""Columns of HDF5 files: datasets by their names, and the layout that AnnData publishes for `.h5ad`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unknot.errors import UnknotError, extras
from unknot.reading.guard import must_fit, parsing
from unknot.tables.arrow import column_of
from unknot.tables.sparse import matrix_of

READ_BY = "encoding-type"  # the attribute by which AnnData says how a group is to be read
SPARSE = ("csr_matrix", "csc_matrix")


def hdf5_columns(path: Path) -> tuple[dict[str, bool], Callable[[Sequence[str]], Mapping[str, Any]]]:
    """Name of each column -> whether it holds vectors, and what reads some of them."""
    places = _places(path)

    def read(names: Sequence[str]) -> dict[str, Any]:
        with _opened(path) as file:
            must_fit(path, sum(_n_bytes(file[places[name]]) for name in names))
            return {name: _column(file[places[name]], f"{path}: {name}") for name in names}

    with _opened(path) as file:
        return {name: _is_vector(file[place]) for name, place in places.items()}, read


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with extras(f"{path}: reading HDF5"):
        import h5py
    with parsing(path, "an HDF5 file"), h5py.File(path, "r") as file:
        yield file


def _n_bytes(item: Any) -> int:
    """How much memory a dataset takes, or those of a group."""
    import h5py

    return int(item.nbytes) if isinstance(item, h5py.Dataset) else sum(map(_n_bytes, item.values()))


def _places(path: Path) -> dict[str, str]:
    """Name of each column -> where it is: of AnnData those of `obs` and `obsm`, and `X`; of others all datasets."""
    import h5py

    with _opened(path) as file:
        if "obs" not in file:
            places: dict[str, str] = {}
            file.visititems(
                lambda name, item: places.update({name: name} if isinstance(item, h5py.Dataset) else {})
            )
            return places
        index = file["obs"].attrs.get("_index", "_index")
        places = {
            name: f"obs/{name}" for name in file["obs"].attrs.get("column-order", file["obs"]) if name != index
        }
        places |= {str(index): f"obs/{index}"} if index in file["obs"] else {}
        places |= {name: f"obsm/{name}" for name in file.get("obsm", {})}
        return places | ({"X": "X"} if "X" in file else {})


def _is_vector(item: Any) -> bool:
    return item.attrs.get(READ_BY) in SPARSE or len(_shape(item)) > 1


def _shape(item: Any) -> tuple[int, ...]:
    import h5py

    return tuple(item.shape) if isinstance(item, h5py.Dataset) else ()


def _column(item: Any, who: str) -> Any:
    import h5py
    import pyarrow as pa

    if isinstance(item, h5py.Dataset):
        words = h5py.check_string_dtype(item.dtype) is not None
        values = item.asstr()[...] if words else item[...]
        return values if values.ndim > 1 else column_of(values, who)
    kind = item.attrs.get(READ_BY, "")
    if kind in SPARSE:
        parts = {part: item[part][...] for part in ("data", "indices", "indptr")}
        return matrix_of(who, {**parts, "shape": item.attrs["shape"]}, kind.removesuffix("_matrix"))
    if kind == "categorical":
        codes = item["codes"][...].astype(np.int64)
        classes = _column(item["categories"], who).combine_chunks()
        return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), classes)])
    if "values" in item and "mask" in item:  # nullable numbers, booleans and words
        values = item["values"]
        array = values.asstr()[...] if h5py.check_string_dtype(values.dtype) else values[...]
        return pa.chunked_array([pa.array(array, mask=item["mask"][...].astype(bool))])
    raise UnknotError(f"{who}: is stored as '{kind or 'a group'}', which is no column of labels or latents.")
