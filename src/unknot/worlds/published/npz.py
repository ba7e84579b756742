"""Arrays inside `.npz` files without loading them whole: memory-mapped where stored, streamed where compressed.

numpy's `mmap_mode` does not reach into `.npz`. A member that the zip merely stores is one contiguous piece of the
file, so it can be mapped at the place where its data begin. Pickled arrays are refused everywhere.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.worlds.published.reading import reading

# NotImplementedError is how zipfile refuses a compression it does not know, RuntimeError an encrypted member.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True)
class Member:
    """One array of an archive, as its header describes it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int | None  # where its data begin in the file; None when compressed

    @property
    def pickled(self) -> bool:
        """Whether reading it would run code: object arrays are pickles."""
        return self.dtype.hasobject


def members(path: Path) -> dict[str, Member]:
    """What arrays an archive holds; only headers are read."""
    with _archive(path) as archive:
        arrays = {}
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                key = info.filename.removesuffix(".npy")
                with archive.open(info) as stream:
                    shape, fortran, dtype = _header(stream, path, key)
                    length = stream.tell()
                stored = info.compress_type == zipfile.ZIP_STORED
                offset = _data_offset(path, info, length) if stored else None
                arrays[key] = Member(shape, dtype, fortran, offset)
        return arrays


def read(path: Path, key: str) -> NDArray[Any]:
    """One array, memory-mapped if the archive stores it uncompressed, else loaded."""
    member = _member(path, key)
    if member.offset is not None and member.dtype.itemsize and member.shape and 0 not in member.shape:
        order = "F" if member.fortran else "C"
        with _read(path):
            return np.memmap(path, member.dtype, "r", member.offset, member.shape, order)  # type: ignore[call-overload, no-any-return]
    with _archive(path) as archive, archive.open(f"{key}.npy") as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def blocks(path: Path, key: str, rows: int) -> Iterator[NDArray[Any]]:
    """One array, `rows` rows at a time, decompressed on the way; the last block may be shorter."""
    member = _member(path, key)
    if member.fortran and len(member.shape) > 1:
        raise UnknotError(f"{path}: '{key}' is stored column by column; save it again in C order.")
    row = int(np.prod(member.shape[1:], dtype=np.int64)) * member.dtype.itemsize
    with _archive(path) as archive, archive.open(f"{key}.npy") as stream:
        _header(stream, path, key)
        for start in range(0, member.shape[0], rows):
            n = min(rows, member.shape[0] - start)
            data = stream.read(n * row)
            if len(data) < n * row:
                raise EOFError(f"'{key}' ends after {start * row + len(data):,} bytes")
            yield np.frombuffer(data, member.dtype).reshape(n, *member.shape[1:])


def _member(path: Path, key: str) -> Member:
    arrays = members(path)
    if key not in arrays:
        raise UnknotError(f"{path}: has no array '{key}'; it holds {', '.join(arrays) or 'no arrays'}.")
    if arrays[key].pickled:
        raise UnknotError(
            f"{path}: '{key}' is a pickled array (type {arrays[key].dtype}), which can run code when loaded and is "
            "not read; save it as plain numbers."
        )
    return arrays[key]


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    with _read(path), zipfile.ZipFile(path) as archive:
        yield archive


def _read(path: Path) -> AbstractContextManager[None]:
    return reading(path, "an .npz archive", *_BROKEN, remedy="Download or save it again.")


def _header(stream: IO[bytes], path: Path, key: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        return np.lib.format.read_array_header_2_0(stream)
    except ValueError as error:
        raise UnknotError(f"{path}: '{key}' is not a numpy array ({error}).") from error


def _data_offset(path: Path, info: zipfile.ZipInfo, header: int) -> int:
    # The local file header repeats the name and has an extra field whose length the central directory does not tell.
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(30)
    if local[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member's local header is missing")
    name, extra = struct.unpack("<HH", local[26:30])
    return info.header_offset + 30 + int(name) + int(extra) + header
