"""Arrays inside `.h5` files: read whole, in blocks, or by rows. h5py is imported on first use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, extras
from unknot.factors import Indices
from unknot.reading.guard import AGAIN, must_fit, parsing

MAGIC = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """Whether a file begins as HDF5 files do, or is named like one."""
    with parsing(path, "HDF5", AGAIN), path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC or path.suffix in (".h5", ".hdf5")


def members(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and type of every array in a file."""
    arrays: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, reader(path).Dataset):
            arrays[name] = (tuple(item.shape), item.dtype)

    with opened(path) as file:
        file.visititems(visit)
    return arrays


def read(path: Path, key: str) -> NDArray[Any]:
    """One array, whole."""
    with opened(path) as file:
        stored = dataset(file, path, key)
        must_fit(path, stored.nbytes)
        array: NDArray[Any] = stored[()]
        return array


def blocks(path: Path, key: str, rows: int) -> Iterator[NDArray[Any]]:
    """One array, `rows` rows at a time."""
    with opened(path) as file:
        array = dataset(file, path, key)
        for start in range(0, array.shape[0], rows):
            yield array[start : start + rows]


class HDF5Pictures:
    """A stack of pictures read from the file when asked for.

    h5py wants rows sorted and distinct; they are asked for so, and handed out in the caller's order.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key
        with opened(path) as file:
            array = dataset(file, path, key)
            self.shape: tuple[int, ...] = tuple(array.shape)
            self.dtype: np.dtype[Any] = array.dtype
            self.chunk: tuple[int, ...] | None = array.chunks
        self._file: Any = None

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        if self._file is None:
            self._file = _open(self.path)
        distinct, back = np.unique(rows, return_inverse=True)
        with parsing(self.path, "HDF5", AGAIN):
            pictures: NDArray[Any] = self._file[self.key][distinct]
        return pictures[back.reshape(-1)]

    def __getstate__(self) -> dict[str, Any]:
        # An open file does not travel to another process; that one opens its own.
        return {**self.__dict__, "_file": None}


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """An HDF5 file for reading; what is wrong with it is said in words."""
    with parsing(path, "HDF5", AGAIN), _open(path) as file:
        yield file


def dataset(file: Any, path: Path, key: str) -> Any:
    """One array of an open file, by name."""
    if key not in file or not isinstance(file[key], reader(path).Dataset):
        raise UnknotError(f"{path}: has no array '{key}'; it holds {', '.join(file) or 'nothing'}.")
    return file[key]


def reader(path: Path) -> Any:
    """The package that reads HDF5, or the error that says which extra has it."""
    with extras(f"{path}: reading HDF5"):
        import h5py
    return h5py


def _open(path: Path) -> Any:
    with parsing(path, "HDF5", AGAIN):
        return reader(path).File(path, "r")
