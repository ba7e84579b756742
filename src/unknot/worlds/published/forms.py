"""What a published file looks like inside: arrays, shapes, types, labels, mean colours."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.reading import npz
from unknot.worlds.published import hdf5

Arrays = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]  # shape and type by key


def _unlisted(path: Path) -> Arrays:
    return {}


def _unlabelled(path: Path, key: str) -> NDArray[Any]:
    raise UnknotError(f"{path}: has no array '{key}'.")


@dataclass(frozen=True)
class Container:
    """How a kind of file keeps its arrays.

    Attributes:
        blocks: the images under a key, so many at a time.
        arrays: shape and type of each array, as headers tell them; none where only the whole file tells.
        read: one array, whole; needed for labels only.
        block: how many images are best read at a time.
        suffixes: of files that are recognised by their arrays, whatever their names; none: by their names alone.
    """

    blocks: Callable[[Path, str, int], Iterable[NDArray[np.uint8]]]
    arrays: Callable[[Path], Arrays] = _unlisted
    read: Callable[[Path, str], NDArray[Any]] = _unlabelled
    block: int = 2304
    suffixes: tuple[str, ...] = ()


def _npz_arrays(path: Path) -> Arrays:
    return {key: (member.shape, member.dtype) for key, member in npz.members(path).items()}


NPZ = Container(npz.blocks, _npz_arrays, npz.read, suffixes=(".npz",))
# A chunk of the twin of dSprites is 23,040 images high; each is inflated once.
HDF5 = Container(hdf5.blocks, hdf5.members, hdf5.read, block=23_040, suffixes=(".h5", ".hdf5"))


@dataclass(frozen=True)
class Form:
    """A published file as it should be.

    Attributes:
        container: how its arrays are stored.
        arrays: shape, and the beginning of the type's name, by key.
        images: the key of the images, for the mean.
        means: of each channel, on the scale 0..1; as published for the decoded data.
        white: the stored value that counts as 1.
        tolerance: of the means; they are published with six digits.
        labels: the key of the labels.
        space: the grid that the labels count.
        shuffled: labels need only lie in the grid, not count it.
    """

    container: Container
    arrays: Mapping[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    images: str = ""
    means: tuple[float, ...] = ()
    white: int = 255
    tolerance: float = 1e-4
    labels: str = ""
    space: FactorSpace | None = None
    shuffled: bool = False
