"""Shapes3D (3dshapes), from its published file."""

import warnings
from pathlib import Path

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import Factor, FactorSpace
from unknot.worlds.array_world import ArrayWorld, ranked
from unknot.worlds.entry import Conventions, PublishedFile
from unknot.worlds.pictures import Pictures
from unknot.worlds.published import cache, forms, hdf5
from unknot.worlds.published.split_files import split_files
from unknot.worlds.splits.combinations import PUBLISHED_COMBINATIONS
from unknot.worlds.splits.rules import RULES

_HUES = tuple(np.round(np.arange(10) / 10, 1).tolist())
SPACE = FactorSpace(
    (
        Factor("floor_hue", 10, "circular", _HUES),
        Factor("wall_hue", 10, "circular", _HUES),
        Factor("object_hue", 10, "circular", _HUES),
        Factor("size", 8, "ordinal", tuple(np.linspace(0.75, 1.25, 8).tolist())),
        Factor("shape", 4, "categorical", ("cube", "cylinder", "sphere", "capsule")),
        Factor("azimuth", 15, "ordinal", tuple(np.linspace(-30, 30, 15).tolist())),
    )
)
CONVENTIONS = Conventions(
    RULES["shapes3d"],
    PUBLISHED_COMBINATIONS["shapes3d"],
    still=("shape",),
    puzzle_classes={"size": 4, "azimuth": 4},
)
SPLIT_FILES = split_files("shapes3d", 4898937, SPACE, 3, composition=(153_408, 326_592), others=(147_456, 332_544))
H5 = PublishedFile(
    "3dshapes.h5",
    urls=("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
    size=267_573_662,
    md5="099a2078d58cec4daad0702c55d06868",
    sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    form=forms.Form(
        forms.HDF5,
        {"images": ((480_000, 64, 64, 3), "uint8"), "labels": ((480_000, 6), "float64")},
        "images",
        (0.502585, 0.578760, 0.603450),
        labels="labels",
        space=SPACE,
    ),
)
IMAGE_SHAPE = (64, 64, 3)
MOST_IMAGES_IN_A_CHUNK = 64  # beyond this, reading one image inflates mostly others


def read(path: Path, *, space: FactorSpace = SPACE, unpack: bool = False) -> ArrayWorld:
    """Shapes3D from `3dshapes.h5`, read lazily.

    The labels are physical values; a class is the rank of a value among the sorted values of its column.

    Args:
        path: the file.
        space: an argument for files of a smaller grid.
        unpack: write the images uncompressed beside the file (5.9 GB), once, and memory-map them: many times
            faster to read in random order.
    """
    path = Path(path)
    pictures = hdf5.HDF5Pictures(path, "images")
    if pictures.shape != (space.size, *IMAGE_SHAPE) or pictures.dtype != np.uint8:
        raise UnknotError(
            f"{path}: 'images' is {pictures.dtype} of shape {pictures.shape}; Shapes3D is uint8 of shape "
            f"{(space.size, *IMAGE_SHAPE)}."
        )
    labels = hdf5.read(path, "labels")
    if labels.shape != (space.size, len(space)):
        raise UnknotError(
            f"{path}: 'labels' has shape {labels.shape}; Shapes3D has {(space.size, len(space))}: "
            f"{', '.join(space.names)}."
        )
    labelled, classes = ranked(labels, str(path), space.names)
    if labelled.shape != space.shape:
        raise UnknotError(
            f"{path}: the columns of 'labels' have {labelled.shape} distinct values; Shapes3D has {space.shape}. "
            "This is not the published file."
        )
    stack: Pictures = pictures
    if unpack or path.with_name(f"{path.name}.images.npy").exists():
        stack = cache.inflated(path, "images", pictures.shape, hdf5.blocks(path, "images", 4096))
    elif pictures.chunk and pictures.chunk[0] > MOST_IMAGES_IN_A_CHUNK:
        warnings.warn(
            f"{path}: {pictures.chunk[0]} images are compressed together, so images in random order are slow to read; "
            "unknot.worlds.published.shapes3d.read(path, unpack=True) makes a faster copy beside the file, once.",
            UnknotWarning,
            stacklevel=2,
        )
    key = "shapes3d" if space == SPACE else ""
    return ArrayWorld(stack, classes, space=space, name="Shapes3D", key=key)
