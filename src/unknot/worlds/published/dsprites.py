"""dSprites, from its published file (`.npz`, or the `.hdf5` twin).

The file holds 3 GB of pixels that are 0 or 1. They are packed eight to a byte once, kept beside the file (0.38 GB) and
memory-mapped from then on. Only `imgs` and `latents_classes` are read, never the pickled `metadata`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace, Indices
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.entry import Conventions, PublishedFile
from unknot.worlds.pictures import Selected
from unknot.worlds.published import cache, forms, hdf5
from unknot.worlds.published.split_files import split_files
from unknot.worlds.splits.combinations import PUBLISHED_COMBINATIONS
from unknot.worlds.splits.rules import RULES
from unknot.worlds.world import Images

SPACE = FactorSpace(
    (
        Factor("shape", 3, "categorical", ("square", "ellipse", "heart")),
        Factor("scale", 6, "ordinal", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        Factor("orientation", 40, "circular", tuple(np.linspace(0, 2 * np.pi, 40).tolist())),
        Factor("x", 32, "ordinal", tuple(np.linspace(0, 1, 32).tolist())),
        Factor("y", 32, "ordinal", tuple(np.linspace(0, 1, 32).tolist())),
    )
)
QUARTER_SPACE = SPACE.first("orientation", 10)
"""Orientations 0..9 only (0 to 83 degrees), where no two images are equal: 184,320 points."""
CONVENTIONS = Conventions(RULES["dsprites"], PUBLISHED_COMBINATIONS["dsprites"], still=("shape",))
QUARTER_CONVENTIONS = replace(CONVENTIONS, rule=RULES["dsprites_quarter"])
SPLIT_FILES = split_files("dsprites", 4835774, SPACE, 1, composition=(192_312, 544_968), others=(240_000, 497_280))


def _form(container: forms.Container, labels: str) -> forms.Form:
    n = SPACE.size
    arrays = {"imgs": ((n, 64, 64), "uint8"), labels: ((n, 6), "int")}
    means = (128_328_862 / (n * 64 * 64),)  # exactly so many pixels are white
    return forms.Form(container, arrays, "imgs", means, 1, 1e-9, labels, SPACE)


_STEM = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
_PLACES = (
    "https://github.com/google-deepmind/dsprites-dataset/raw/master",
    "https://raw.githubusercontent.com/google-deepmind/dsprites-dataset/master",
)
NPZ = PublishedFile(
    f"{_STEM}.npz",
    urls=tuple(f"{place}/{_STEM}.npz" for place in _PLACES),
    md5="7da33b31b13a06f4b04a70402ce90c2e",
    form=_form(forms.NPZ, "latents_classes"),
)
HDF5 = PublishedFile(
    f"{_STEM}.hdf5",
    urls=tuple(f"{place}/{_STEM}.hdf5" for place in _PLACES),
    size=28_024_106,
    md5="b331c4447a651c44bf5e8ae09022e230",
    sha256="729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
    form=_form(forms.HDF5, "latents/classes"),
)
SIDE = 64
ROWS = 23_040  # read at once: the height of a chunk of the .hdf5 twin, so that each chunk is inflated once


class BitPacked:
    """Black and white pictures, one bit a pixel, given out as 0 and 255."""

    dtype = np.dtype(np.uint8)

    def __init__(self, bits: NDArray[np.uint8], side: int = SIDE) -> None:
        self.bits, self.side = bits, side
        self.shape = (len(bits), side, side, 1)

    def __getitem__(self, rows: Indices, /) -> Images:
        pixels = np.unpackbits(np.asarray(self.bits[rows]), axis=1).reshape(-1, *self.shape[1:])
        pixels *= 255
        return pixels


def read(path: Path, *, space: FactorSpace = SPACE) -> ArrayWorld:
    """The world of dSprites from its `.npz` or `.hdf5` file; the space is an argument for files of a smaller grid.

    The colour column of the labels (always white) is dropped; the labels must count the grid in storage order.
    """
    path = Path(path)
    container, key = (forms.HDF5, "latents/classes") if hdf5.is_hdf5(path) else (forms.NPZ, "latents_classes")

    def fill(bits: NDArray[np.uint8]) -> None:
        check_labels(container.read(path, key), space, path)
        start = 0
        for block in container.blocks(path, "imgs", ROWS):
            check_images(block, space.size - start, path)
            bits[start : start + len(block)] = np.packbits(block.reshape(len(block), -1), axis=1)
            start += len(block)
        if start < space.size:
            raise UnknotError(f"{path}: 'imgs' has {start:,} images; dSprites has {space.size:,}.")

    copy = path.with_name(f"{path.name}.packed.npy")
    bits = cache.converted(copy, [path], (space.size, SIDE * SIDE // 8), fill)
    return ArrayWorld(BitPacked(bits), space=space, name="dSprites", key="dsprites" if space == SPACE else "")


def quarter(world: ArrayWorld) -> ArrayWorld:
    """The images of a dSprites world with orientation classes 0..9, the "[0, 90) degrees" of Schott et al. 2022."""
    space = world.factors.first("orientation", 10)
    # The classes that are kept have the same numbers in both spaces.
    rows = world.factors.indices(space.classes(np.arange(space.size)))
    key = "dsprites_quarter" if world.key == "dsprites" else ""
    return ArrayWorld(Selected(world.pictures, rows), space=space, name=f"{world.name} [0,90)", key=key)


def check_labels(labels: NDArray[Any], space: FactorSpace, path: Path) -> None:
    """Whether the label array counts the grid, behind its constant colour column."""
    if labels.shape != (space.size, len(space) + 1):
        raise UnknotError(
            f"{path}: the classes have shape {labels.shape}; dSprites has {(space.size, len(space) + 1)}: color, "
            f"{', '.join(space.names)}."
        )
    expected = space.classes(np.arange(space.size))
    wrong = np.flatnonzero((labels[:, 0] != 0) | (labels[:, 1:] != expected).any(axis=1))
    if wrong.size:
        raise UnknotError(
            f"{path}: image {wrong[0]} has classes {labels[wrong[0]].tolist()}; in the order of dSprites it would be "
            f"{[0, *expected[wrong[0]].tolist()]}. This is not the published file."
        )


def check_images(block: NDArray[Any], at_most: int, path: Path) -> None:
    """Whether these are images of dSprites: 64 x 64, 0 or 1, and not more than there should be."""
    if block.shape[1:] != (SIDE, SIDE) or block.dtype != np.uint8:
        raise UnknotError(
            f"{path}: 'imgs' is {block.dtype} with images of shape {block.shape[1:]}; dSprites is uint8 with "
            f"{(SIDE, SIDE)}."
        )
    if len(block) > at_most:
        raise UnknotError(
            f"{path}: 'imgs' has more images than 'classes' has rows. This is not the published file."
        )
    if block.max() > 1:
        raise UnknotError(f"{path}: 'imgs' has the value {block.max()}; pixels of dSprites are 0 or 1.")
