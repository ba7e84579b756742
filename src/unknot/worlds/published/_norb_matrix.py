"""The gzipped binary matrices of the NORB datasets.

Little-endian int32 header: a magic number that names the type, the number of dimensions, then the dimensions, of which
at least three are written whatever their number; then the values.
"""

import gzip
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading.guard import AGAIN, must_fit, parsing

TYPES = {0x1E3D4C55: "u1", 0x1E3D4C54: "<i4", 0x1E3D4C51: "<f4", 0x1E3D4C53: "<f8", 0x1E3D4C56: "<i2"}


def header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of a matrix."""
    with _opened(path) as stream:
        return _header(stream, path)


def read(path: Path) -> NDArray[Any]:
    """One whole matrix."""
    shape, dtype = header(path)
    must_fit(path, math.prod(shape) * dtype.itemsize)
    (matrix,) = blocks(path, max(shape[0], 1))
    return matrix


def blocks(path: Path, rows: int) -> Iterator[NDArray[Any]]:
    """A matrix, `rows` rows at a time."""
    with _opened(path) as stream:
        shape, dtype = _header(stream, path)
        for start in range(0, shape[0], rows):
            block = (min(rows, shape[0] - start), *shape[1:])
            n_bytes = math.prod(block) * dtype.itemsize
            must_fit(path, n_bytes)
            data = stream.read(n_bytes)
            if len(data) < n_bytes:
                raise EOFError(f"the data end in row {start} of {shape[0]}")
            yield np.frombuffer(data, dtype).reshape(block)
        if stream.read(1):  # reading on to the end also verifies the sum that gzip keeps there
            raise EOFError(f"more data follow the {shape[0]} rows that the header promises")


@contextmanager
def _opened(path: Path) -> Iterator[gzip.GzipFile]:
    with parsing(path, "a gzipped matrix", AGAIN), gzip.open(path, "rb") as stream:
        yield stream


def _header(stream: gzip.GzipFile, path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    start = np.frombuffer(stream.read(8), "<i4")
    if len(start) < 2 or int(start[0]) not in TYPES or not 1 <= start[1] <= 8:
        raise UnknotError(f"{path}: does not begin as a NORB matrix does; is it the published file?")
    n_dims = int(start[1])
    dims = np.frombuffer(stream.read(4 * max(3, n_dims)), "<i4")[:n_dims]
    if len(dims) < n_dims or (dims < 1).any():
        raise UnknotError(f"{path}: has the dimensions {dims.tolist()}; expected {n_dims} numbers above 0.")
    return tuple(int(d) for d in dims), np.dtype(TYPES[int(start[0])])
