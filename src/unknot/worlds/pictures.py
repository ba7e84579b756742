"""Stacks of pictures that are fetched by row number: what a world reads from, whatever the file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.factors import Indices

Image = NDArray[np.uint8]  # (height, width) or (height, width, channels)


@runtime_checkable
class Pictures(Protocol):
    """What is asked of a stack of pictures; a numpy array or memory map has it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, height, width) or (n, height, width, channels)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint8."""

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        """The pictures of some rows, in the order asked; rows may repeat."""


class PictureFiles:
    """Files of one picture each, decoded when asked for; a decoded picture has the shape given here."""

    dtype = np.dtype(np.uint8)

    def __init__(self, paths: Sequence[Path], shape: tuple[int, ...], decode: Callable[[Path], Image]) -> None:
        self.paths, self.decode = paths, decode
        self.shape = (len(paths), *shape)

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        pictures = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)
        for i, row in enumerate(rows):
            pictures[i] = self.decode(self.paths[row])
        return pictures


class Selected:
    """Some rows of a stack, renumbered: row i is row `rows[i]` of the stack."""

    def __init__(self, pictures: Pictures, rows: Indices) -> None:
        self.pictures, self.rows = pictures, rows
        self.shape = (len(rows), *pictures.shape[1:])
        self.dtype = pictures.dtype

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        return self.pictures[self.rows[rows]]


class Joined:
    """Several stacks, one after the other."""

    def __init__(self, *parts: Pictures) -> None:
        self.parts = parts
        self.starts = np.cumsum([0] + [part.shape[0] for part in parts])
        self.shape = (int(self.starts[-1]), *parts[0].shape[1:])
        self.dtype = parts[0].dtype

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        pictures = np.empty((len(rows), *self.shape[1:]), dtype=self.dtype)
        owner = np.searchsorted(self.starts, rows, side="right") - 1
        for i, part in enumerate(self.parts):
            mine = owner == i
            if mine.any():
                pictures[mine] = part[rows[mine] - self.starts[i]]
        return pictures


class ChannelsLast:
    """A stack stored as (n, channels, height, width), turned around."""

    def __init__(self, pictures: Pictures) -> None:
        n, channels, height, width = pictures.shape
        self.pictures, self.shape, self.dtype = pictures, (n, height, width, channels), pictures.dtype

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        return np.ascontiguousarray(np.moveaxis(self.pictures[rows], 1, -1))
