"""Latents of any library as numpy's array or SciPy's sparse matrix, in the precision they have, copied once at most."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning
from unknot.reading.arrays import TorchTensor, as_array, is_sparse
from unknot.tables.arrow import ArrowStream, HuggingFace, as_table, column_of

if TYPE_CHECKING:
    import pyarrow as pa


def latents_of(latents: Any, who: str = "latents") -> Any:
    """Latents of anything that holds numbers: an array of numpy, or a sparse matrix by rows.

    Args:
        latents: an array of numpy, torch, JAX or any library with DLPack, on any device; a sparse matrix of SciPy or
            torch; a table of numbers; a column of lists; nested lists.
        who: for messages.
    """
    if is_sparse(latents):
        return _by_rows(latents, who)
    if isinstance(latents, TorchTensor):
        return _of_torch(latents, who)
    if isinstance(latents, np.ndarray) and latents.dtype != object:
        return latents
    if isinstance(latents, HuggingFace):
        return vectors(who, [as_table(latents, who).column(i) for i in range(len(latents.features))])
    if isinstance(latents, ArrowStream):
        return _of_stream(latents, who)
    array = as_array(latents, who, "latents")
    if array.dtype == object and array.ndim == 1:  # a column of arrays
        return vectors(who, [column_of(list(array), who)])
    return array


def vectors(who: str, columns: "list[pa.ChunkedArray]") -> NDArray[Any]:
    """Columns of numbers, or one of lists of numbers, as an array (n, d)."""
    from pyarrow import types

    if len(columns) == 1 and _is_list(columns[0].type):
        return _of_lists(who, columns[0])
    for column in columns:
        if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
            raise UnknotError(f"{who}: latents hold {column.type}; expected columns of numbers, or one of lists.")
        if column.null_count:
            raise UnknotError(f"{who}: latents have {column.null_count} missing entries; drop those rows.")
    arrays = [column.to_numpy() for column in columns]
    return np.column_stack(arrays) if arrays else np.empty((0, 0))


def is_vector(kind: Any) -> bool:
    """Whether a type of Arrow is a list of numbers."""
    from pyarrow import types

    if not _is_list(kind):
        return False
    inside = _storage(kind).value_type
    return bool(types.is_floating(inside) or types.is_integer(inside))


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    kind = _storage(kind)
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _storage(kind: Any) -> Any:
    import pyarrow as pa

    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _of_lists(who: str, column: "pa.ChunkedArray") -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks])
    if column.null_count:
        raise UnknotError(f"{who}: latents are missing in {column.null_count} row(s); drop those rows.")
    lengths = np.unique(pc.list_value_length(column).to_numpy())
    if len(lengths) != 1:
        some = ", ".join(map(str, lengths[:5]))
        raise UnknotError(f"{who}: lists of latents have different lengths ({some}, ...); expected one.")
    flat = pc.list_flatten(column)
    if flat.null_count:
        raise UnknotError(f"{who}: latents have {flat.null_count} missing entries; drop those rows.")
    if not is_vector(column.type):
        raise UnknotError(f"{who}: latents are lists of {flat.type}; expected lists of numbers.")
    array: NDArray[Any] = flat.to_numpy().reshape(len(column), int(lengths[0]))
    return array


def _of_stream(latents: Any, who: str) -> NDArray[Any]:
    import pyarrow as pa

    try:
        table = as_table(latents, who)
    except UnknotError:
        return vectors(who, [pa.chunked_array(latents)])
    return vectors(who, table.columns)


def _of_torch(tensor: Any, who: str) -> Any:
    if str(tensor.layout) == "torch.strided":
        return as_array(tensor)
    from scipy.sparse import coo_array

    triples = tensor.detach().cpu().to_sparse_coo().coalesce()
    values = triples.values()
    values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    return _by_rows(coo_array((values, triples.indices().numpy()), shape=tuple(tensor.shape)), who)


def _by_rows(matrix: Any, who: str) -> Any:
    """A sparse matrix by rows in canonical form: in order, each entry once, numbers throughout."""
    from scipy.sparse import csr_array

    if matrix.dtype.kind not in "fiub":
        raise UnknotError(f"{who}: latents hold {matrix.dtype} values; expected numbers.")
    rows = csr_array(matrix)
    if rows.dtype == np.float16:  # which SciPy keeps, and computes nothing of
        rows = csr_array((rows.data.astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)
    if not rows.has_canonical_format:
        before = rows.nnz
        rows = rows.copy()
        rows.sum_duplicates()
        what = (
            f"{before - rows.nnz} entries stood twice and were added up" if rows.nnz < before else "put in order"
        )
        warnings.warn(f"{who}: the sparse matrix was not in canonical form: {what}.", UnknotWarning, stacklevel=4)
    bad = int((~np.isfinite(rows.data)).sum())
    if bad:
        raise UnknotError(
            f"{who}: latents have {bad} NaN or infinite entries among the {rows.nnz} that are stored; a model that "
            "diverged cannot be scored. Drop those rows or columns."
        )
    return rows
