"""Converted copies of published files, kept beside them so that the conversion is done once."""

import math
import os
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning
from unknot.reading import npz

Fill = Callable[[NDArray[np.uint8]], None]


def converted(copy: Path, sources: Sequence[Path], shape: tuple[int, ...], fill: Fill) -> NDArray[np.uint8]:
    """The memory-mapped array that `fill` makes of the sources; made now unless a copy from before fits.

    A copy carries the time stamp of its newest source: a source that was replaced since, by an older or a newer
    file, no longer matches. The copy is written beside and renamed, so a killed conversion leaves none.
    """
    stamp = max(source.stat().st_mtime_ns for source in sources)
    kept = _kept(copy, stamp, shape)
    if kept is not None:
        return kept
    beside = copy.with_name(f"{copy.name}.{secrets.token_hex(4)}.part")
    try:
        beside.touch()
    except OSError as error:
        warnings.warn(
            f"{copy.parent}: cannot be written to ({error.strerror}); {sources[0].name} is converted in memory, "
            "every time it is opened.",
            UnknotWarning,
            stacklevel=3,
        )
        array = np.empty(shape, dtype=np.uint8)
        fill(array)
        return array
    try:
        # Writing to a mapped page that the disk has no room for kills the process, so ask first.
        need, free = math.prod(shape), shutil.disk_usage(copy.parent).free
        if need > free:
            raise UnknotError(f"{copy}: needs {need:,} bytes, but only {free:,} are free; make room.")
        mapped = np.lib.format.open_memmap(beside, "w+", np.uint8, shape)  # type: ignore[no-untyped-call]
        fill(mapped)
        mapped.flush()
        del mapped
        os.utime(beside, ns=(stamp, stamp))
        beside.replace(copy)
    except OSError as error:
        raise UnknotError(f"{copy}: could not be written ({error.strerror or error}); free some space.") from error
    finally:
        beside.unlink(missing_ok=True)
    return npz.read_npy(copy, mapped=True)


def _kept(copy: Path, stamp: int, shape: tuple[int, ...]) -> NDArray[Any] | None:
    try:
        if copy.stat().st_mtime_ns != stamp:
            return None
        array: NDArray[Any] = npz.read_npy(copy, mapped=True)
    except (OSError, UnknotError):
        return None
    return array if array.shape == shape and array.dtype == np.uint8 else None


def mapped(path: Path, key: str) -> NDArray[np.uint8]:
    """An array of bytes in an `.npz`, memory-mapped: in place if stored, else from an inflated copy beside the file."""
    member = npz.members(path).get(key)
    if member is None or member.offset is not None or member.dtype != np.uint8:
        stored: NDArray[np.uint8] = npz.read(path, key)
        return stored

    return inflated(path, key, member.shape, npz.blocks(path, key, 4096))


def inflated(
    path: Path, key: str, shape: tuple[int, ...], blocks: Iterable[NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """An array of bytes in a file, memory-mapped from a copy beside the file that holds its blocks uncompressed."""

    def fill(images: NDArray[np.uint8]) -> None:
        start = 0
        for block in blocks:
            images[start : start + len(block)] = block
            start += len(block)

    return converted(path.with_name(f"{path.name}.{key}.npy"), [path], shape, fill)
