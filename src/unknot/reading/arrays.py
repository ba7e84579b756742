"""Anything array-like as an array of numpy."""

from contextlib import suppress
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError

DENSE_BYTES = (
    2 << 30
)  # a sparse matrix that takes more as an array of float64, of which there are soon four, stays sparse


@runtime_checkable
class TorchTensor(Protocol):
    """A tensor of torch, which is known without importing torch."""

    is_sparse: bool

    def detach(self) -> Any:
        """The tensor without its history."""


@runtime_checkable
class Convertible(Protocol):
    """A sparse matrix of SciPy in any layout; one by diagonals has no rows to take."""

    shape: tuple[int, ...]
    nnz: Any
    dtype: Any

    def tocsr(self) -> Any:
        """The same by rows."""

    def tocsc(self) -> Any:
        """The same by columns."""

    def tocoo(self) -> Any:
        """The same as triples."""


class Sparse(Convertible, Protocol):
    """A sparse matrix by rows or columns, as all are once they were read."""

    def __getitem__(self, which: Any) -> Any:
        """Some of the rows or columns."""


@runtime_checkable
class DLPack(Protocol):
    """An array of any library that shares its memory."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """A capsule of the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the memory is."""


def is_sparse(values: Any) -> TypeGuard[Sparse]:
    """Whether these are a sparse matrix; arrays are told at once, since to ask for a protocol takes long."""
    return not isinstance(values, np.ndarray) and isinstance(values, Convertible)


def as_array(values: Any, who: str = "array", what: str = "it") -> NDArray[Any]:
    """Numpy array of anything array-like: tensors on any device, tables, nested lists, small sparse matrices.

    Args:
        values: any of these. A masked array that hides entries is refused: what it hides would be counted.
        who: complains.
        what: the values are.

    >>> as_array(np.ma.masked_array([1, 2], [False, True]), "mig", "factors")
    Traceback (most recent call last):
    unknot.errors.UnknotError: mig: factors is a masked array that hides 1 of 2 entries; drop the rows they are in.
    """
    if type(values) is np.ndarray:  # at once: to ask for protocols takes longer than many a metric
        return _real(values)
    if isinstance(values, np.ma.MaskedArray) and (hidden := int(np.ma.getmaskarray(values).sum())):
        raise UnknotError(
            f"{who}: {what} is a masked array that hides {hidden} of {values.size} entries; drop the rows they are in."
        )
    if is_sparse(values):
        return dense(values, who)
    try:
        if isinstance(values, TorchTensor):
            tensor = values.detach().cpu()
            tensor = tensor if str(tensor.layout) == "torch.strided" else tensor.to_dense()
            values = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
        if isinstance(values, DLPack) and not isinstance(values, np.ndarray):
            # memory on another device, or of a type that numpy has not, is left to the library's own conversion
            with suppress(BufferError, RuntimeError, TypeError, AttributeError):
                return np.from_dlpack(values)
        return _real(np.asarray(values))
    except Exception as error:  # numpy asks the object itself, which may answer with anything
        raise UnknotError(
            f"{who}: {what} is no array of numbers ({' '.join(str(error).split())[:200]})."
        ) from None


def dense(matrix: Sparse, who: str) -> NDArray[Any]:
    """A sparse matrix as an array, if that is not too large."""
    size = 8.0 * matrix.shape[0] * matrix.shape[1]
    if size > DENSE_BYTES:
        raise UnknotError(
            f"{who}: needs all {matrix.shape[0]} x {matrix.shape[1]} latents as an array of {size / 1e9:.0f} GB; score "
            "fewer rows (--limit) or fewer latents."
        )
    array: NDArray[Any] = matrix.tocsr().toarray()
    return array


def _real(array: NDArray[Any]) -> NDArray[Any]:
    """Types that numpy borrows, such as bfloat16, as its own."""
    return array.astype(np.float32) if array.dtype.kind == "V" and array.dtype.itemsize <= 2 else array
