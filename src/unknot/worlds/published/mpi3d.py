"""MPI3D (toy, realistic, real, real-complex), from the published files, memory-mapped in place.

The files hold images only; classes come from the position. How many images there are decides the sizes: 1,036,800 is
the final release with 6 colours and 6 shapes, 460,800 is real-complex or a subset of the 2019 challenge, both with 4.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from unknot.errors import UnknotError, unknown
from unknot.factors import Factor, FactorSpace
from unknot.reading import npz
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.entry import Conventions, PublishedFile
from unknot.worlds.published import cache, forms
from unknot.worlds.published.split_files import split_files
from unknot.worlds.splits.combinations import PUBLISHED_COMBINATIONS, existing_combinations
from unknot.worlds.splits.rules import RULES


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


CONVENTIONS = Conventions(RULES["mpi3d"], PUBLISHED_COMBINATIONS["mpi3d"], still=("shape",))
COMPLEX_CONVENTIONS = replace(
    CONVENTIONS, combinations=existing_combinations(CONVENTIONS.combinations, COMPLEX_SPACE)
)
SPLIT_FILES = split_files(
    "mpi3d", 4899346, SPACE, 3, composition=(287_712, 749_088), others=(311_040, 725_760)
)  # of the real images


def _form(space: FactorSpace, means: tuple[float, ...] = ()) -> forms.Form:
    return forms.Form(forms.NPZ, {"images": ((space.size, 64, 64, 3), "uint8")}, "images", means)


def _published(name: str, md5: str, means: tuple[float, ...]) -> PublishedFile:
    places = (
        "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main",
        "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset",
    )
    urls = tuple(f"{place}/{name}" for place in places)
    return PublishedFile(name, urls=urls, md5=md5, form=_form(SPACE, means))


TOY = _published("mpi3d_toy.npz", "55889cb7c7dfc655d6e0277beee88868", (0.224373, 0.221419, 0.226255))
REALISTIC = _published("mpi3d_realistic.npz", "59a6225b88b635365f70c91b3e52f70f", (0.179869, 0.204747, 0.181482))
REAL = _published("mpi3d_real.npz", "0f33f609918fb5c97996692f91129802", (0.128486, 0.164803, 0.139716))
REAL_COMPLEX = PublishedFile(
    "real3d_complicated_shapes_ordered.npz",
    urls=(
        "https://drive.usercontent.google.com/download?id=1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm&export=download&confirm=t",
    ),
    form=_form(COMPLEX_SPACE),
)
IMAGE_SHAPE = (64, 64, 3)
# Title of each file by its key, and the grids it may hold.
KINDS: dict[str, tuple[str, tuple[FactorSpace, ...]]] = {
    "mpi3d_toy": ("MPI3D toy", (SPACE, CHALLENGE_SPACE)),
    "mpi3d_realistic": ("MPI3D realistic", (SPACE, CHALLENGE_SPACE)),
    "mpi3d_real": ("MPI3D real", (SPACE,)),
    "mpi3d_real_complex": ("MPI3D real-complex", (COMPLEX_SPACE,)),
}


def read(path: Path, key: str, *, spaces: tuple[FactorSpace, ...] = ()) -> ArrayWorld:
    """One of the MPI3D files; the number of images says which of the spaces it fills.

    A file saved uncompressed, as the published ones are, is memory-mapped; a compressed one is inflated once.

    Args:
        path: the file, with one array `images`.
        key: which file it is, of `KINDS`; its arrays do not tell.
        spaces: an argument for files of a smaller grid.
    """
    path = Path(path)
    if key not in KINDS:
        raise unknown("file of MPI3D", key, KINDS)
    name, published = KINDS[key]
    members = npz.members(path)
    if "images" not in members:
        raise UnknotError(f"{path}: has no array 'images'; it holds {', '.join(members) or 'no arrays'}.")
    images = members["images"]
    if images.shape[1:] != IMAGE_SHAPE or images.dtype != np.uint8:
        raise UnknotError(
            f"{path}: 'images' is {images.dtype} of shape {images.shape}; {name} is uint8 (n, 64, 64, 3)."
        )
    fitting = [space for space in spaces or published if space.size == images.shape[0]]
    if not fitting:
        sizes = " or ".join(f"{space.size:,}" for space in spaces or published)
        hint = (
            " 460,800 images are real-complex (open it as 'mpi3d_real_complex') or a subset of the 2019 challenge."
            if images.shape[0] == COMPLEX_SPACE.size
            else " 1,036,800 images are the toy, realistic or real file."
            if images.shape[0] == SPACE.size
            else ""
        )
        raise UnknotError(f"{path}: has {images.shape[0]:,} images; {name} has {sizes}.{hint}")
    space = fitting[0]
    name = f"{name} (2019 challenge subset)" if space is CHALLENGE_SPACE else name
    return ArrayWorld(cache.mapped(path, "images"), space=space, name=name, key=key if space in published else "")
