"""What each published file looks like inside: arrays, shapes, types, labels, mean colours, numbers of rows."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published import cars3d, celeb_glow, dsprites, hdf5, mpi3d, npz, shapes3d, small_norb

Container = Literal["npz", "hdf5", "norb", "cars"]
Arrays = dict[
    str, tuple[tuple[int | None, ...], str]
]  # shape (None: any) and the beginning of the type's name, by key


@dataclass(frozen=True)
class Form:
    """A published file as it should be.

    Attributes:
        world: the name, in the catalogue, of the world it belongs to.
        file: name, size and checksums.
        container: how its arrays are stored.
        arrays: shape and type by key.
        images: the key of the images, for the mean.
        means: of each channel, on the scale 0..1; as published for the decoded data.
        white: the stored value that counts as 1.
        tolerance: of the means; they are published with six digits.
        labels: the key of the labels.
        space: the grid that the labels count.
        shuffled: labels need only lie in the grid, not count it.
    """

    world: str
    file: PublishedFile
    container: Container
    arrays: Arrays = field(default_factory=dict)
    images: str = ""
    means: tuple[float, ...] = ()
    white: int = 255
    tolerance: float = 1e-4
    labels: str = ""
    space: FactorSpace | None = None
    shuffled: bool = False


def _dsprites(file: PublishedFile, container: Container, labels: str) -> Form:
    n = dsprites.SPACE.size
    arrays: Arrays = {"imgs": ((n, 64, 64), "uint8"), labels: ((n, 6), "int")}
    means = (128_328_862 / (n * 64 * 64),)  # exactly so many pixels are white
    return Form("dsprites", file, container, arrays, "imgs", means, 1, 1e-9, labels, dsprites.SPACE)


def _mpi3d(world: str, file: PublishedFile, space: FactorSpace, means: tuple[float, ...] = ()) -> Form:
    return Form(world, file, "npz", {"images": ((space.size, 64, 64, 3), "uint8")}, "images", means)


def _norb(file: PublishedFile) -> Form:
    half = small_norb.FULL_SPACE.size // 2
    if "-dat" in file.name:
        means = (0.752092,) if "training" in file.name else ()
        return Form("small_norb", file, "norb", {"matrix": ((half, 2, 96, 96), "uint8")}, "matrix", means)
    shape = (half,) if "-cat" in file.name else (half, 4)
    return Form("small_norb", file, "norb", {"matrix": (shape, "int32")})


FORMS = (
    _dsprites(dsprites.NPZ, "npz", "latents_classes"),
    _dsprites(dsprites.HDF5, "hdf5", "latents/classes"),
    Form(
        "shapes3d",
        shapes3d.H5,
        "hdf5",
        {"images": ((480_000, 64, 64, 3), "uint8"), "labels": ((480_000, 6), "float64")},
        "images",
        (0.502585, 0.578760, 0.603450),
        labels="labels",
        space=shapes3d.SPACE,
    ),
    _mpi3d("mpi3d_toy", mpi3d.TOY, mpi3d.SPACE, (0.224373, 0.221419, 0.226255)),
    _mpi3d("mpi3d_realistic", mpi3d.REALISTIC, mpi3d.SPACE, (0.179869, 0.204747, 0.181482)),
    _mpi3d("mpi3d_real", mpi3d.REAL, mpi3d.SPACE, (0.128486, 0.164803, 0.139716)),
    _mpi3d("mpi3d_real_complex", mpi3d.REAL_COMPLEX, mpi3d.COMPLEX_SPACE),
    Form("cars3d", cars3d.ARCHIVE, "cars", {}, "cars", (0.897668, 0.889166, 0.885148), space=cars3d.SPACE),
    *(_norb(file) for file in small_norb.FILES),
)
# Rows (train, test) of the split files of Schott et al. 2022: composition, then the other three, which agree.
_SPLIT_ROWS = {
    "dsprites": (dsprites.SPACE, (192_312, 544_968), (240_000, 497_280)),
    "shapes3d": (shapes3d.SPACE, (153_408, 326_592), (147_456, 332_544)),
    "mpi3d": (mpi3d.SPACE, (287_712, 749_088), (311_040, 725_760)),
    "celeb_glow": (celeb_glow.SPACE, (91_000, 125_000), (64_000, 152_000)),
}
_WORLD_OF_SPLIT = {"mpi3d": "mpi3d_real"}
_SPLIT_NAME = re.compile(
    r"(dsprites|shapes3d|mpi3d|celeb_glow)_(random|composition|interpolation|extrapolation)_(train|test)_(images|labels)\.npz"
)


def split_form(name: str) -> Form | None:
    """The form of one of the published split files, by its name."""
    match = _SPLIT_NAME.fullmatch(name)
    if match is None:
        return None
    dataset, split, part, kind = match.groups()
    space, composition, others = _SPLIT_ROWS[dataset]
    n = (composition if split == "composition" else others)[part == "test"]
    world, file = _WORLD_OF_SPLIT.get(dataset, dataset), PublishedFile(name)
    if kind == "images":
        return Form(world, file, "npz", {"arr_0": ((n, 1 if dataset == "dsprites" else 3, 64, 64), "uint8")})
    return Form(
        world, file, "npz", {"arr_0": ((n, len(space)), "int")}, labels="arr_0", space=space, shuffled=True
    )


def recognise(path: Path, forms: tuple[Form, ...] = FORMS) -> tuple[Form, ...]:
    """The forms a file may have: one by its name, else those whose arrays it has; none if it is not known."""
    split = split_form(path.name)
    named = (split,) if split else tuple(form for form in forms if form.file.name == path.name)
    if named:
        return named
    try:
        if path.suffix == ".npz":
            found = {key: member.shape for key, member in npz.members(path).items()}
        elif path.suffix in (".h5", ".hdf5"):
            found = {key: shape for key, (shape, _) in hdf5.members(path).items()}
        else:
            return ()
    except UnknotError:
        return ()
    return tuple(
        form
        for form in forms
        if form.arrays and all(found.get(key) == shape for key, (shape, _) in form.arrays.items())
    )
