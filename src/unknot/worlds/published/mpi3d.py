"""MPI3D (toy, realistic, real, real-complex), from the published files, memory-mapped in place.

The files hold images only; classes come from the position. How many images there are decides the sizes: 1,036,800 is
the final release with 6 colours and 6 shapes, 460,800 is real-complex or a subset of the 2019 challenge, both with 4.
"""

from pathlib import Path

import numpy as np

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published import cache, npz


def _space(colors: tuple[str, ...], shapes: tuple[str, ...]) -> FactorSpace:
    return FactorSpace(
        (
            Factor("color", len(colors), "categorical", colors),
            Factor("shape", len(shapes), "categorical", shapes),
            Factor("size", 2, "ordinal", ("small", "large")),
            Factor("height", 3, "ordinal", ("top", "center", "bottom")),
            Factor("background", 3, "categorical", ("purple", "sea green", "salmon")),
            Factor("horizontal", 40),
            Factor("vertical", 40),
        )
    )


SPACE = _space(
    ("white", "green", "red", "blue", "brown", "olive"),
    ("cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"),
)
COMPLEX_SPACE = _space(("yellow", "green", "olive", "red"), ("coffee-cup", "tennis-ball", "croissant", "beer-cup"))
# Which of the six colours and shapes the challenge left in is not recorded, so its classes have no names.
CHALLENGE_SPACE = FactorSpace(
    (Factor("color", 4, "categorical"), Factor("shape", 4, "categorical"), *SPACE.factors[2:])
)


def _published(name: str, md5: str) -> PublishedFile:
    places = (
        "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main",
        "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset",
    )
    return PublishedFile(name, urls=tuple(f"{place}/{name}" for place in places), md5=md5)


TOY = _published("mpi3d_toy.npz", "55889cb7c7dfc655d6e0277beee88868")
REALISTIC = _published("mpi3d_realistic.npz", "59a6225b88b635365f70c91b3e52f70f")
REAL = _published("mpi3d_real.npz", "0f33f609918fb5c97996692f91129802")
REAL_COMPLEX = PublishedFile(
    "real3d_complicated_shapes_ordered.npz",
    urls=(
        "https://drive.usercontent.google.com/download?id=1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm&export=download&confirm=t",
    ),
)
IMAGE_SHAPE = (64, 64, 3)


def read(path: Path, name: str, *, spaces: tuple[FactorSpace, ...] = (SPACE,)) -> ArrayWorld:
    """One of the MPI3D files; the number of images says which of the spaces it fills.

    A file saved uncompressed, as the published ones are, is memory-mapped; a compressed one is inflated once.

    Args:
        path: the file, with one array `images`.
        name: what results call it.
        spaces: the grids the file may hold.
    """
    path = Path(path)
    found = npz.members(path)
    if "images" not in found:
        raise UnknotError(f"{path}: has no array 'images'; it holds {', '.join(found) or 'no arrays'}.")
    images = found["images"]
    if images.shape[1:] != IMAGE_SHAPE or images.dtype != np.uint8:
        raise UnknotError(
            f"{path}: 'images' is {images.dtype} of shape {images.shape}; {name} is uint8 (n, 64, 64, 3)."
        )
    fitting = [space for space in spaces if space.size == images.shape[0]]
    if not fitting:
        sizes = " or ".join(f"{space.size:,}" for space in spaces)
        hint = (
            " 460,800 images are real-complex (open it as 'mpi3d_real_complex') or a subset of the 2019 challenge."
            if images.shape[0] == COMPLEX_SPACE.size
            else " 1,036,800 images are the toy, realistic or real file."
            if images.shape[0] == SPACE.size
            else ""
        )
        raise UnknotError(f"{path}: has {images.shape[0]:,} images; {name} has {sizes}.{hint}")
    subset = fitting[0] is CHALLENGE_SPACE
    return ArrayWorld(
        cache.mapped(path, "images"), space=fitting[0], name=f"{name} (2019 challenge subset)" if subset else name
    )
