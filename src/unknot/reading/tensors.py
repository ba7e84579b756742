"""Tensors of safetensors files as arrays of numpy."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def tensor(path: Path, file: Any, name: str, *, mapped: bool = False) -> NDArray[Any]:
    """A tensor of an open safetensors file; bfloat16, which numpy does not know, in single precision.

    Args:
        path: of the file.
        file: what `safe_open` opened of it.
        name: of the tensor.
        mapped: whether it stays on disk until it is looked at, where that can be.
    """
    about = file.get_slice(name)
    shape, halved = tuple(about.get_shape()), about.get_dtype() == "BF16"
    if halved:
        halves = np.fromfile(path, dtype="<u2", count=int(np.prod(shape)), offset=_start(path, name))
        return (halves.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if mapped and 0 not in shape and shape:
        kind, start = about[:0].dtype, _start(path, name)
        if start % kind.itemsize == 0:  # else compiled code would refuse it
            return np.memmap(path, dtype=kind, mode="r", offset=start, shape=shape)
    return np.asarray(file.get_tensor(name))


def _start(path: Path, name: str) -> int:
    """Where the bytes of a tensor begin."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return 8 + int(length) + int(json.loads(file.read(length))[name]["data_offsets"][0])
