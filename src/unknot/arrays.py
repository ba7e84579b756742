"""Anything array-like as an array of numpy."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError

DENSE_BYTES = 8 << 30  # a sparse matrix that would take more than this as an array of float64 stays sparse


@runtime_checkable
class TorchTensor(Protocol):
    """A tensor of torch, which is known without importing torch."""

    is_sparse: bool

    def detach(self) -> Any:
        """The tensor without its history."""


@runtime_checkable
class Sparse(Protocol):
    """A sparse matrix of SciPy."""

    shape: tuple[int, ...]
    nnz: Any
    dtype: Any

    def __getitem__(self, which: Any) -> Any:
        """Some of the rows or columns."""

    def tocsr(self) -> Any:
        """The same by rows."""

    def tocsc(self) -> Any:
        """The same by columns."""

    def tocoo(self) -> Any:
        """The same as triples."""


@runtime_checkable
class DLPack(Protocol):
    """An array of any library that shares its memory."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """A capsule of the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the memory is."""


def as_array(values: Any) -> NDArray[Any]:
    """Numpy array of anything array-like: tensors on any device, tables, nested lists, small sparse matrices."""
    if isinstance(values, Sparse):
        return dense(values, "array")
    if isinstance(values, TorchTensor):
        tensor = values.detach().cpu()
        tensor = tensor.to_dense() if tensor.is_sparse or str(tensor.layout) != "torch.strided" else tensor
        if str(tensor.dtype) == "torch.bfloat16":
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    if isinstance(values, DLPack) and not isinstance(values, np.ndarray):
        try:
            return np.from_dlpack(values)
        except (
            BufferError,
            RuntimeError,
            TypeError,
            AttributeError,
        ):  # on another device, or of a type numpy has not
            return _real(np.asarray(values))
    return _real(np.asarray(values))


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
