"""Sparse latents in files: SciPy's own `.npz`, and four arrays beside each other in an `.npz` or `.safetensors`.

| array | holds |
|---|---|
| `latents.data` | the entries that are not zero, row by row |
| `latents.indices` | which latent each of them is of |
| `latents.indptr` | (n + 1,) where the entries of each row begin and end |
| `latents.shape` | (2,) rows and latents |
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading.arrays import is_sparse
from unknot.reading.guard import must_fit

PARTS = ("data", "indices", "indptr", "shape")
NAMES = ("latents", "latents_test")
SCIPY = ("data", "indices", "indptr", "row", "col", "shape", "format")  # what `scipy.sparse.save_npz` writes
KEYS = (*(f"{name}.{part}" for name in NAMES for part in PARTS), *SCIPY)


def packed(arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Arrays by name, sparse ones as the four arrays they are made of."""
    plain: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if is_sparse(array):
            rows = array.tocsr()
            parts = (rows.data, rows.indices, rows.indptr, np.array(rows.shape, dtype=np.int64))
            plain |= {f"{name}.{part}": values for part, values in zip(PARTS, parts, strict=True)}
        else:
            plain[name] = array
    return plain


def unpacked(who: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by name, with sparse matrices put together of their parts."""
    rest = {name: array for name, array in arrays.items() if name not in KEYS}
    for name in NAMES:
        if f"{name}.data" in arrays:
            parts = {part: arrays[f"{name}.{part}"] for part in PARTS if f"{name}.{part}" in arrays}
            rest[name] = matrix_of(f"{who}: {name}", parts, "csr")
    if "format" in arrays and not any(name in rest for name in NAMES):
        form = next(iter(arrays["format"].ravel().tolist()), "")
        form = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
        rest["latents"] = matrix_of(who, {part: arrays[part] for part in SCIPY if part in arrays}, form)
    return rest


def matrix_of(who: str, parts: Mapping[str, Any], form: str) -> Any:
    """A sparse matrix of its parts, which are checked: they come from a file, and SciPy would follow them anywhere."""
    from scipy.sparse import coo_array, csc_array, csr_array

    try:
        shape = tuple(int(size) for size in parts["shape"])
        must_fit(who, 8.0 * sum(shape))  # where each row begins, which a few bytes may claim a great many of
        for part in ("indices", "indptr", "row", "col"):
            if part in parts and parts[part].dtype.kind not in "iu":
                raise TypeError(f"{part} of type {parts[part].dtype}")
        if form == "coo":
            matrix = coo_array((parts["data"], (parts["row"], parts["col"])), shape=shape)
        else:
            matrix = {"csr": csr_array, "csc": csc_array}[form](
                (parts["data"], parts["indices"], parts["indptr"]), shape=shape
            )
            matrix.check_format()
    except KeyError as error:
        raise UnknotError(
            f"{who}: a sparse matrix without {error}; expected {', '.join(PARTS)} of CSR, CSC or COO."
        ) from None
    except UnknotError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise UnknotError(f"{who}: is no sparse matrix ({error}); write it with scipy.sparse.save_npz.") from None
    return matrix.tocsr()
