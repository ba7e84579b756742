"""Arrays in `.npy` and `.npz` files: memory-mapped where stored, streamed where compressed, weighed before loaded.

numpy's `mmap_mode` does not reach into `.npz`. A member that the zip merely stores is one contiguous piece of the
file, so it can be mapped at the place where its data begin. Headers are compared with what is really there, and pickled
arrays are refused everywhere.
"""

import math
import struct
import zipfile
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading.guard import AGAIN, must_fit, parsing


@dataclass(frozen=True)
class Member:
    """One array of a file, as its header describes it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int | None  # where its data begin in the file; None when compressed
    there: int  # bytes that the file has of it, at the most

    @property
    def pickled(self) -> bool:
        """Whether reading it would run code: object arrays are pickles."""
        return self.dtype.hasobject

    @property
    def n_bytes(self) -> int:
        """How much memory it takes."""
        return math.prod(self.shape) * self.dtype.itemsize


def members(path: Path) -> dict[str, Member]:
    """What arrays an archive holds; only headers are read."""
    with _archive(path) as archive:
        arrays = {}
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                key = info.filename.removesuffix(".npy")
                with archive.open(info) as stream:
                    header = _header(stream, path, key)
                    length = stream.tell()
                stored = info.compress_type == zipfile.ZIP_STORED
                offset = _data_offset(path, info, length) if stored else None
                arrays[key] = Member(*header, offset, info.file_size - length)
        return arrays


def read(path: Path, key: str) -> NDArray[Any]:
    """One array, memory-mapped if the archive stores it uncompressed, else loaded."""
    member = _member(path, key)
    if _can_be_mapped(member):
        return _mapped(path, member)
    must_fit(path, member.n_bytes)
    with _archive(path) as archive, archive.open(f"{key}.npy") as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def load(path: Path, keys: Collection[str]) -> dict[str, NDArray[Any]]:
    """Those arrays of an archive that have one of these keys, in memory."""
    there = [key for key in members(path) if key in keys]
    must_fit(path, sum(_member(path, key).n_bytes for key in there))
    with _archive(path) as archive:
        arrays = {}
        for key in there:
            with archive.open(f"{key}.npy") as stream:
                arrays[key] = np.lib.format.read_array(stream, allow_pickle=False)
        return arrays


def read_npy(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """The array of an `.npy` file, in memory or memory-mapped."""
    with _read(path, "an .npy array"), path.open("rb") as file:
        header, size = _header(file, path, path.stem), path.stat().st_size
        member = _believed(path, path.stem, Member(*header, file.tell(), size - file.tell()))
        if mapped and _can_be_mapped(member):
            return _mapped(path, member)
        must_fit(path, member.n_bytes)
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)


def blocks(path: Path, key: str, rows: int) -> Iterator[NDArray[Any]]:
    """One array, `rows` rows at a time, decompressed on the way; the last block may be shorter."""
    member = _member(path, key)
    if member.fortran and len(member.shape) > 1:
        raise UnknotError(f"{path}: '{key}' is stored column by column; save it again in C order.")
    row = math.prod(member.shape[1:]) * member.dtype.itemsize
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
    return _believed(path, key, arrays[key])


def _believed(path: Path, key: str, member: Member) -> Member:
    """An array that is no pickle, and of which there is as much as its head says."""
    if member.pickled:
        raise UnknotError(
            f"{path}: '{key}' is a pickled array (type {member.dtype}), which can run code when loaded and is not "
            "read; save it as plain numbers."
        )
    if min(member.shape, default=0) < 0 or member.n_bytes > member.there:
        raise UnknotError(
            f"{path}: '{key}' is said to have shape {member.shape} and type {member.dtype}, but only {member.there:,} "
            f"bytes of it are there. {AGAIN}"
        )
    return member


def _can_be_mapped(member: Member) -> bool:
    return member.offset is not None and member.n_bytes > 0 and member.shape != ()


def _mapped(path: Path, member: Member) -> NDArray[Any]:
    order = "F" if member.fortran else "C"
    with _read(path):
        return np.memmap(path, member.dtype, "r", member.offset, member.shape, order)  # type: ignore[call-overload, no-any-return]


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    with _read(path), zipfile.ZipFile(path) as archive:
        yield archive


def _read(path: Path, what: str = "an .npz archive") -> AbstractContextManager[None]:
    return parsing(path, what, AGAIN)


def _header(stream: IO[bytes], path: Path, key: str) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Shape, type and whether columns come first, as the head of an array says."""
    with parsing(path, f"the array '{key}'", AGAIN):
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        return shape, dtype, fortran


def _data_offset(path: Path, info: zipfile.ZipInfo, header: int) -> int:
    # The local file header repeats the name and has an extra field whose length the central directory does not tell.
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(30)
    if local[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member's local header is missing")
    name, extra = struct.unpack("<HH", local[26:30])
    return info.header_offset + 30 + int(name) + int(extra) + header
