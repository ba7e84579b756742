"""Tuples of images to do algebra with: a corpus, or a file that lists one's own A, B, C, D and wrong answers.

A table (`.csv`) has a header `A,B,C,D` and, if there are any, names of wrong answers; each row names images, relative
to the file. A `.json` file is a list of such rows as objects. A `.txt` file, or a table of ten columns without a
header, is a list as published with COAT: see `unknot.worlds.scenes.coat_list`.

Reference: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations, ICML.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.files import json_hash
from unknot.reading.guard import load_json, must_fit, parsing
from unknot.reading.pictures import picture
from unknot.worlds.scenes.coat_list import read_coat_list
from unknot.worlds.scenes.corpus import MASKED, ROLES, Corpus
from unknot.worlds.world import Images

F32 = NDArray[np.float32]
PIXEL = "pixel"  # the negative B - A + C, computed from images
SHOWN = 3  # missing images that a message names


@dataclass(frozen=True)
class CorpusTuples:
    """The tuples of a corpus."""

    corpus: Corpus

    @property
    def roles(self) -> tuple[str, ...]:
        """Those of every corpus."""
        return ROLES

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, channels = self.corpus.images.shape[2:]
        return height, width, channels

    @property
    def identity(self) -> str:
        """Of how it was made."""
        return json_hash(self.corpus.info, 16)

    @property
    def about(self) -> dict[str, Any]:
        """How it was made."""
        return {key: self.corpus.info.get(key) for key in ("variant", "n", "size", "seed", "version")}

    @property
    def scenes(self) -> NDArray[np.int64]:
        """(n,) which main scene each tuple was cut from; every scene has a name, or a camera of its own."""
        records = enumerate(self.corpus.tuples)
        if self.corpus.has_scenes:
            mains = [json.dumps(record["scenes"]["A"].get("camera", i)) for i, record in records]
        else:
            mains = [str(record.get("main", i)) for i, record in records]
        if len(set(mains)) == 1:  # a camera that never moved tells nothing
            return np.arange(len(mains))
        return np.unique(mains, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def __len__(self) -> int:
        return len(self.corpus)

    def images(self, rows: NDArray[np.int64], role: str) -> Images:
        """Uint8 (len(rows), h, w, 3)."""
        return np.ascontiguousarray(self.corpus.images[rows, ROLES.index(role)])


@dataclass(frozen=True)
class Quadruples:
    """Tuples from a list of image files.

    Attributes:
        file: the list.
        paths: role -> one image for each tuple.
        image_shape: height, width and channels of all.
    """

    file: Path
    paths: Mapping[str, Sequence[Path]]
    image_shape: tuple[int, int, int]
    scenes: None = None

    @property
    def roles(self) -> tuple[str, ...]:
        """A, B, C, D, then wrong answers in the file's order."""
        return tuple(self.paths)

    @property
    def identity(self) -> str:
        """Of names, sizes and times of all files."""
        files = [
            [role, [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in paths]]
            for role, paths in self.paths.items()
        ]
        return json_hash(files, 16)

    @property
    def about(self) -> dict[str, Any]:
        """How many, and how large."""
        return {"n": len(self), "size": list(self.image_shape[:2])}

    def __len__(self) -> int:
        return len(self.paths["A"])

    def images(self, rows: NDArray[np.int64], role: str) -> Images:
        """Uint8 (len(rows), h, w, c), read now."""
        images = np.empty((len(rows), *self.image_shape), dtype=np.uint8)
        for i, row in enumerate(rows):
            image = _read_image(self.paths[role][row])
            if image.shape != self.image_shape:
                raise UnknotError(
                    f"{self.paths[role][row]}: is {_words(image.shape)}, other images of {self.file} are "
                    f"{_words(self.image_shape)}; bring all to one size."
                )
            images[i] = image
        return images


Tuples = CorpusTuples | Quadruples


def pixel_negative(tuples: Tuples, rows: NDArray[np.int64]) -> F32:
    """B - A + C, (b, h, w, c) on the scale of 0 to 255 and not cut off at its ends."""
    a, b, c = (tuples.images(rows, role).astype(np.float32) for role in "ABC")
    return b - a + c


def read_quadruples(path: Path | str) -> Quadruples:
    """The tuples that a `.csv`, `.json` or `.txt` file lists; every image must exist.

    >>> read_quadruples("nowhere.csv")
    Traceback (most recent call last):
    unknot.errors.UnknotError: nowhere.csv: no such file.
    """
    path = Path(path)
    if not path.is_file():
        raise UnknotError(f"{path}: no such file.")
    readers: dict[str, Callable[[Path], Sequence[Mapping[str, Any]]]] = {
        ".csv": _read_csv,
        ".json": _read_json,
        ".txt": _read_published,
    }
    if path.suffix not in readers:
        raise UnknotError(f"{path}: expected a list of images in a .csv, .json or .txt file.")
    with parsing(path, "a list of images"):
        must_fit(path, path.stat().st_size * 8)
        rows = readers[path.suffix](path)
    if not rows:
        raise UnknotError(f"{path}: lists no tuples.")
    paths = _columns(path, rows)
    missing = [image for column in paths.values() for image in column if not image.is_file()]
    if missing:
        names = ", ".join(map(str, missing[:SHOWN])) + (", ..." if len(missing) > SHOWN else "")
        raise UnknotError(f"{path}: {len(missing)} of its images do not exist: {names}.")
    return Quadruples(path, paths, _read_image(paths["A"][0]).shape)  # type: ignore[arg-type]


def _columns(path: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Path]]:
    """Role -> images, all rows with the same roles."""
    names = {str(name).strip(): name for name in rows[0] if name is not None and str(name).strip()}
    lacking = [role for role in MASKED if role not in names]
    if lacking:
        raise UnknotError(
            f"{path}: has no column {', '.join(lacking)}; expected A, B (A and more), C, D (C and the same more), then "
            "names of wrong answers."
        )
    roles = [*MASKED, *(role for role in names if role not in MASKED)]
    columns: dict[str, list[Path]] = {role: [] for role in roles}
    for i, row in enumerate(rows, 1):
        for role in roles:
            value = row.get(names[role])
            if not isinstance(value, str) or not value.strip():
                raise UnknotError(f"{path}: tuple {i} has no image for {role}; every row needs one for each role.")
            columns[role].append(path.parent / value.strip())
    return columns


def _read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = next(csv.reader(file), [])
        if len(first) == len(ROLES) and not {*first} & {*MASKED}:
            return _read_published(path)
        file.seek(0)
        return list(csv.DictReader(file))


def _read_json(path: Path) -> list[Mapping[str, Any]]:
    rows = load_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnknotError(f'{path}: expected a list of objects such as {{"A": "a.png", "B": ...}}.')
    return rows


def _read_published(path: Path) -> list[dict[str, Any]]:
    return [{role: str(image.absolute()) for role, image in row.items()} for row in read_coat_list(path)]


def _read_image(path: Path) -> Images:
    with picture(path) as file:
        grey = file.mode in ("L", "1", "I", "I;16")
        array = np.asarray(file.convert("L" if grey else "RGB"))
    return array[:, :, None] if grey else array


def _words(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
