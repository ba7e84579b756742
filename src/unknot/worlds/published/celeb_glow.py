"""CelebGlow, from the split files that Schott et al. published on Zenodo.

Four files make one split: images (channels first) and labels, for train and for test. The two parts of any one split
together are the whole grid; a single part is an incomplete world whose `rows` say what is there.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace
from unknot.reading import npz
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.entry import Conventions
from unknot.worlds.pictures import ChannelsLast, Joined
from unknot.worlds.published import cache
from unknot.worlds.published.data_folders import data_folders
from unknot.worlds.published.split_files import PARTS, SPLITS, split_files
from unknot.worlds.splits.rules import RULES

SPACE = FactorSpace(
    (Factor("person", 1000, "categorical"), Factor("smile", 6), Factor("blond", 6), Factor("age", 6))
)
CONVENTIONS = Conventions(RULES["celeb_glow"], still=("person",))
SPLIT_FILES = split_files("celeb_glow", 5512188, SPACE, 3, composition=(91_000, 125_000), others=(64_000, 152_000))
FILES = SPLIT_FILES[:4]  # of the random split


def find(data: Path | str | None = None) -> tuple[Path, ...]:
    """The image files of the split of which most is here, with their labels beside them; nothing if there is none."""
    if data is not None and Path(data).is_file():
        return (_images_of(Path(data)),)
    best: tuple[Path, ...] = ()
    for folder in data_folders(data):
        for split in SPLITS:
            parts = [folder / f"celeb_glow_{split}_{part}_images.npz" for part in PARTS]
            here = tuple(path for path in parts if path.is_file() and _labels_of(path).is_file())
            best = max(best, here, key=len)
    return best


def read(paths: Sequence[Path], *, space: FactorSpace = SPACE) -> ArrayWorld:
    """CelebGlow from one or more image files, each with its labels beside it."""
    pictures, labels = [], []
    for path in paths:
        images = cache.mapped(path, "arr_0")
        classes = npz.read(_labels_of(path), "arr_0")
        if images.shape[1:] != (3, 64, 64) or images.dtype != np.uint8:
            raise UnknotError(
                f"{path}: 'arr_0' is {images.dtype} of shape {images.shape}; CelebGlow is uint8 (n, 3, 64, 64)."
            )
        if classes.shape != (len(images), len(space)):
            raise UnknotError(
                f"{_labels_of(path)}: 'arr_0' has shape {classes.shape}; expected {(len(images), len(space))}: one row "
                f"of {', '.join(space.names)} for each image."
            )
        pictures.append(ChannelsLast(images))
        labels.append(space.check(classes, str(_labels_of(path))))
    stack = pictures[0] if len(pictures) == 1 else Joined(*pictures)
    key = "celeb_glow" if space == SPACE else ""
    return ArrayWorld(stack, np.concatenate(labels), space=space, name="CelebGlow", key=key)


def _labels_of(images: Path) -> Path:
    return images.with_name(images.name.replace("_images.npz", "_labels.npz"))


def _images_of(path: Path) -> Path:
    images = path.with_name(path.name.replace("_labels.npz", "_images.npz"))
    if not images.name.endswith("_images.npz") or not images.is_file() or not _labels_of(images).is_file():
        raise UnknotError(
            f"{path}: is not one of a pair like celeb_glow_random_train_images.npz and "
            "celeb_glow_random_train_labels.npz; both must lie in one folder."
        )
    return images
