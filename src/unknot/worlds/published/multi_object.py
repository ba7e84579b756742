"""The multi-object datasets in their published files: Multi-dSprites, Objects Room, CLEVR with masks, Tetrominoes.

A file is recognised by what its first record holds. Since it can only be read from its beginning, pictures, masks and
properties are copied once to a file beside it, `NAME.objects.npy`, that is memory-mapped.

Reference: Kabra et al. 2019, Multi-Object Datasets, https://github.com/deepmind/multi_object_datasets.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading import npz
from unknot.reading.arguments import checked
from unknot.reading.guard import parsing
from unknot.reading.tfrecord import WHAT, Features, features, records
from unknot.worlds.published.cache import converted
from unknot.worlds.scenes.objects_world import ObjectsWorld

SUFFIXES = (".tfrecords", ".tfrecord")
VISIBLE = "visibility"


@dataclass(frozen=True)
class Kind:
    """What one of the datasets holds.

    Attributes:
        title: its name.
        shape: of its pictures.
        properties: name -> numbers of each entity.
        ground: entities that are no objects: these come first.
        last: whether the entities of a mask are its last axis.
    """

    title: str
    shape: tuple[int, int, int]
    properties: Mapping[str, int]
    ground: int = 1
    last: bool = False


_SPRITES = {"x": 1, "y": 1, "shape": 1, "orientation": 1, "scale": 1, VISIBLE: 1}
_CLEVR = {
    "x": 1,
    "y": 1,
    "z": 1,
    "pixel_coords": 3,
    "rotation": 1,
    "size": 1,
    "material": 1,
    "shape": 1,
    "color": 1,
}
KINDS = (
    Kind("Multi-dSprites", (64, 64, 3), {**_SPRITES, "color": 3}, last=True),
    Kind("Multi-dSprites, binarized", (64, 64, 1), {**_SPRITES, "color": 1}, last=True),
    Kind("Objects Room", (64, 64, 3), {}, ground=4),
    Kind("CLEVR with masks", (240, 320, 3), {**_CLEVR, VISIBLE: 1}),
    Kind("Tetrominoes", (35, 35, 3), {"x": 1, "y": 1, "shape": 1, "color": 3, VISIBLE: 1}),
)


@checked
def read(path: Path | str, *, n: int | None = None) -> ObjectsWorld:
    """One of the published files as a world told apart by number alone, with masks and objects.

    Objects of one scene are numbered from 1 in masks; the ground, of Objects Room sky, floor and walls together, is 0.
    Words are encoded as numbers in the files, and stay so.

    Args:
        path: the file, compressed or not.
        n: the first so many scenes; left out, all of them (a million, in some).
    """
    path = Path(path).expanduser()
    if n is not None and n < 1:
        raise UnknotError(who="multi_object", field="n", value=n, expected="at least one scene")
    first = next(records(path), None)
    if first is None:
        raise UnknotError(f"{path}: holds no record; expected a multi-object dataset.")
    with parsing(path, WHAT):
        kind, entities = _recognised(path, features(first))
    copy = path.with_name(f"{path.name}{'' if n is None else f'.{n}'}.objects.npy")
    row = _Row(kind, entities)
    many = _counted(copy, path, n)

    def fill(rows: NDArray[np.uint8]) -> None:
        with parsing(path, WHAT):
            for i, record in enumerate(records(path, many)):
                rows[i] = row.packed(features(record))

    rows = converted(copy, [path], (many, row.width), fill)
    return ObjectsWorld(row.pictures(rows), row.masks(rows), lambda i: row.things(rows[i]), kind.title)


@dataclass(frozen=True)
class _Row:
    """A scene as bytes: its picture, its mask, and the properties of its entities as floats."""

    kind: Kind
    entities: int

    @property
    def size(self) -> int:
        """Pixels."""
        return self.kind.shape[0] * self.kind.shape[1]

    @property
    def width(self) -> int:
        """Bytes."""
        return math.prod(self.kind.shape) + self.size + 4 * self.entities * sum(self.kind.properties.values())

    def packed(self, values: Features) -> NDArray[np.uint8]:
        """A scene from its features."""
        height, width, _ = self.kind.shape
        image = _column(values, "image", math.prod(self.kind.shape))
        mask = _column(values, "mask", self.entities * self.size)
        shape = (height, width, self.entities) if self.kind.last else (self.entities, height, width)
        owners = mask.reshape(shape).argmax(axis=2 if self.kind.last else 0)
        ids = np.maximum(owners - (self.kind.ground - 1), 0).astype(np.uint8)
        columns = [_column(values, name, many * self.entities) for name, many in self.kind.properties.items()]
        tail = [column.astype(np.float32).view(np.uint8) for column in columns]
        return np.concatenate([image.astype(np.uint8), ids.ravel(), *tail])

    def pictures(self, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(n, h, w, c), read from the file when asked for."""
        return rows[:, : math.prod(self.kind.shape)].reshape(len(rows), *self.kind.shape)

    def masks(self, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """(n, h, w)."""
        start = math.prod(self.kind.shape)
        return rows[:, start : start + self.size].reshape(len(rows), *self.kind.shape[:2])

    def things(self, row: NDArray[np.uint8]) -> list[dict[str, Any]]:
        """The objects of a scene; those that are null are left out. Objects Room says nothing of its own."""
        if not self.kind.properties:
            start = math.prod(self.kind.shape)
            return [{"mask": int(i)} for i in np.unique(row[start : start + self.size]) if i]
        numbers = np.array(row[math.prod(self.kind.shape) + self.size :]).view(np.float32)
        columns, at = {}, 0
        for name, many in self.kind.properties.items():
            block = numbers[at : at + many * self.entities].reshape(self.entities, many)
            columns[name], at = block, at + many * self.entities
        return [
            {"mask": i} | {n: b[i].tolist() if b.shape[1] > 1 else float(b[i, 0]) for n, b in columns.items()}
            for i in range(self.kind.ground, self.entities)
            if columns[VISIBLE][i, 0] > 0
        ]


def _recognised(path: Path, values: Features) -> tuple[Kind, int]:
    """Which dataset a record is of, and how many entities its masks tell apart."""
    if "mask" not in values or "image" not in values:
        held = ", ".join(sorted(values)) or "nothing"
        raise UnknotError(
            f"{path}: records have no feature 'image' and 'mask'; they hold {held}. Expected Multi-dSprites, Objects "
            "Room, CLEVR with masks or Tetrominoes."
        )
    for kind in KINDS:
        pixels = kind.shape[0] * kind.shape[1]
        if len(values["image"]) == math.prod(kind.shape) and set(kind.properties) == set(values) - {
            "image",
            "mask",
        }:
            if len(values["mask"]) % pixels == 0 and len(values["mask"]) >= pixels:
                return kind, len(values["mask"]) // pixels
    raise UnknotError(
        f"{path}: an image of {len(values['image']):,} bytes with {', '.join(sorted(values))} is of no dataset that is "
        f"known: {', '.join(kind.title for kind in KINDS)}."
    )


def _column(values: Features, name: str, many: int) -> NDArray[Any]:
    column = values.get(name)
    if column is None or column.dtype == object or len(column) != many:
        raise ValueError(
            f"feature '{name}' has {0 if column is None else len(column):,} values instead of {many:,}"
        )
    return column


def _counted(copy: Path, path: Path, n: int | None) -> int:
    """How many scenes are read: as many as a copy of this very file has, or else by reading it through."""
    if copy.is_file() and copy.stat().st_mtime_ns == path.stat().st_mtime_ns:
        with parsing(copy, "a copy of a TFRecord file", f"Remove {copy.name}, and it is made again."):
            return int(npz.read_npy(copy, mapped=True).shape[0])
    return sum(1 for _ in records(path, n))
