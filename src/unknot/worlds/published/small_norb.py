"""SmallNORB, from its six published files: first camera, shrunk to 64 x 64, sorted into the grid, kept beside (199 MB).

The files are shuffled, and each part (training, testing) has half of the instances; together they are a whole grid.
As is usual, the instance is no factor: an image is drawn from the ten toys of its category.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, Factor, FactorSpace
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.entry import Conventions, PublishedFile
from unknot.worlds.published import _norb_matrix, cache, forms
from unknot.worlds.world import Images, World, WorldDefaults, needs_rng

FULL_SPACE = FactorSpace(
    (
        Factor("category", 5, "categorical", ("animal", "human", "plane", "truck", "car")),
        Factor("instance", 10, "categorical"),
        Factor("elevation", 9, "ordinal", tuple(float(30 + 5 * k) for k in range(9))),
        Factor("azimuth", 18, "circular", tuple(float(20 * k) for k in range(18))),
        Factor("lighting", 6, "categorical"),
    )
)
SPACE = FULL_SPACE.subspace(["category", "elevation", "azimuth", "lighting"])
CONVENTIONS = Conventions(still=("category",))
_PLACE = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small"
_TOYS = {"training": "46789", "testing": "01235"}  # the instances of each part, as file names list them
_SUMS = {
    "training-dat": (131_896_188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    "training-cat": (348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    "training-info": (71_052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    "testing-dat": (130_799_817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    "testing-cat": (347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    "testing-info": (10_428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
}
SIDE = 64


def _first_camera(path: Path, key: str, rows: int) -> Iterator[NDArray[np.uint8]]:
    return (shrunk(pairs[:, 0]) for pairs in _norb_matrix.blocks(path, rows))


def _form(name: str) -> forms.Form:
    container = forms.Container(_first_camera, lambda path: {"matrix": _norb_matrix.header(path)})
    half = FULL_SPACE.size // 2
    if "-dat" in name:
        means = (0.752092,) if "training" in name else ()
        return forms.Form(container, {"matrix": ((half, 2, 96, 96), "uint8")}, "matrix", means)
    return forms.Form(container, {"matrix": ((half,) if "-cat" in name else (half, 4), "int32")})


FILES = tuple(
    PublishedFile(name, urls=(f"{_PLACE}/{name}",), size=size, sha256=sha256, form=_form(name))
    for part, (size, sha256) in _SUMS.items()
    for name in [f"smallnorb-5x{_TOYS[part.partition('-')[0]]}x9x18x6x2x96x96-{part}.mat.gz"]
)


@dataclass(frozen=True)
class SmallNORB(WorldDefaults):
    """Grey photographs of toys, 64 x 64 x 1, by category, elevation, azimuth and lighting; the toy itself is drawn."""

    toys: ArrayWorld  # by category, instance and the rest
    key: str = ""

    name = "SmallNORB"
    stochastic = True

    @property
    def factors(self) -> FactorSpace:
        """Category, elevation, azimuth, lighting."""
        return self.toys.factors.subspace([n for n in self.toys.factors.names if n != "instance"])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        return self.toys.image_shape

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One image for each row of classes, of a toy drawn uniformly from its category."""
        checked = self.factors.check(classes, self.name)
        drawn = needs_rng(self.name, rng).integers(0, self.toys.factors["instance"].size, size=len(checked))
        return self.toys.images(np.insert(checked, self.toys.factors.position("instance"), drawn, axis=1))


def read(paths: Sequence[Path], *, instance: bool = False, space: FactorSpace = FULL_SPACE) -> World:
    """SmallNORB from its files, given in the order of `FILES`: dat, cat, info of each part.

    Args:
        paths: three files for each part.
        instance: keep the instance as a factor, instead of drawing it.
        space: with the instance; an argument for files of a smaller grid.
    """
    parts = [[Path(path) for path in paths[i : i + 3]] for i in range(0, len(paths), 3)]
    if not parts or len(paths) % 3:
        raise UnknotError(f"SmallNORB: {len(paths)} files; expected dat, cat and info of training and of testing.")

    def fill(images: NDArray[np.uint8]) -> None:
        filled = np.zeros(space.size, dtype=bool)
        for dat, cat, info in parts:
            indices = space.indices(_classes(cat, info, space))
            shape, dtype = _norb_matrix.header(dat)
            if len(shape) != 4 or shape[:2] != (len(indices), 2) or dtype != np.uint8:
                raise UnknotError(
                    f"{dat}: is {dtype} of shape {shape}; SmallNORB images are uint8 of shape "
                    f"{(len(indices), 2, 96, 96)}, pairs of pictures, one for each category in {cat.name}."
                )
            position = 0
            for pairs in _norb_matrix.blocks(dat, 1000):
                here = indices[position : position + len(pairs)]
                images[here, :, :, 0] = shrunk(pairs[:, 0])
                filled[here] = True
                position += len(pairs)
        if not filled.all():
            raise UnknotError(
                f"SmallNORB: {filled.sum():,} of the {space.size:,} combinations have an image in "
                f"{parts[0][0].parent}; the six published files have all."
            )

    copy = parts[0][0].with_name(f"smallnorb-camera0-{SIDE}.npy")
    images = cache.converted(copy, [Path(path) for path in paths], (space.size, SIDE, SIDE, 1), fill)
    toys = ArrayWorld(images, space=space, name="SmallNORB")
    return toys if instance else SmallNORB(toys, "small_norb" if space == FULL_SPACE else "")


def _classes(cat: Path, info: Path, space: FactorSpace) -> Classes:
    category, details = _norb_matrix.read(cat), _norb_matrix.read(info)
    if category.ndim != 1 or details.shape != (len(category), 4):
        raise UnknotError(
            f"{info}: has shape {details.shape} beside {category.shape} categories; expected four columns, instance, "
            "elevation, azimuth and lighting, and one row per category."
        )
    # Azimuth counts tens of degrees and moves by twenty: only even numbers occur.
    return space.check(np.column_stack([category, details // np.array([1, 1, 2, 1])]), str(info))


def shrunk(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Square pictures brought to 64 x 64 with the Lanczos filter."""
    from PIL import Image

    small = np.empty((len(pictures), SIDE, SIDE), dtype=np.uint8)
    for i, picture in enumerate(pictures):
        image = Image.fromarray(np.ascontiguousarray(picture))
        small[i] = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    return small
