"""A folder of pictures: those of one's own, CelebA, ImageNet.

Where all lie in subfolders of one depth, as in `photos/bag/red/1.jpg`, the names of the subfolders are the factors;
else there are none, for scores that need no labels. Pictures are taken from all subfolders and sorted by name, since
the order of a directory listing is not stable.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.reading.pictures import picture
from unknot.worlds.array_world import ArrayWorld, ranked
from unknot.worlds.pictures import PictureFiles

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})
Fit = Literal["crop", "stretch"]


def decoded(path: Path, mode: str) -> "Image":
    """A picture in a file as "RGB" or "L"."""
    with picture(path, "Mend or remove it.") as file:
        return file.convert(mode)


def _fitted(path: Path, size: int, fit: Fit, channels: int) -> NDArray[np.uint8]:
    from PIL import Image, ImageOps

    image, square = decoded(path, "RGB" if channels == 3 else "L"), (size, size)
    if fit == "crop":
        image = ImageOps.fit(image, square, Image.Resampling.LANCZOS)
    else:
        image = image.resize(square, Image.Resampling.LANCZOS)
    return np.asarray(image, dtype=np.uint8).reshape(*square, channels)


def pictures(folder: Path) -> list[Path]:
    """The pictures in a folder and its subfolders, sorted by name; hidden ones are left out."""
    files = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(
        (path for path in files if not any(p.startswith(".") for p in path.relative_to(folder).parts)),
        key=lambda path: path.relative_to(folder).parts,
    )


def read(
    folder: Path,
    *,
    factors: Sequence[str] = (),
    size: int = 64,
    fit: Fit = "crop",
    channels: int = 3,
    name: str = "",
) -> ArrayWorld:
    """A world of pictures with the names of their folders as factors, or told apart by number alone.

    The factors are `folder_1`, `folder_2`, ... for each depth at which folders differ; without them the one factor,
    "image", is a picture's position by name. `world.file_names` are the pictures' names in the folder.

    Args:
        folder: with pictures in it or in its subfolders; hidden ones are left out.
        factors: what the depths are called, such as `["kind", "colour"]`, one for each depth that differs.
        size: height and width that pictures are brought to.
        fit: "crop" takes the central square, then shrinks it; "stretch" changes the proportions.
        channels: 3 for colour, 1 for grey.
        name: what results call it; the folder's name if left out.
    """
    folder = Path(folder)
    if fit not in get_args(Fit):
        raise unknown("fit", fit, get_args(Fit))
    if channels not in (1, 3) or size < 1:
        raise UnknotError(
            f"image folder: size {size} with {channels} channels; expected a size above 0 and 1 or 3."
        )
    if not folder.is_dir():
        raise UnknotError(f"{folder}: is not a folder of pictures.")
    paths = pictures(folder)
    if not paths:
        raise UnknotError(f"{folder}: holds no pictures; looked for {', '.join(sorted(SUFFIXES))}.")
    decode = partial(_fitted, size=size, fit=fit, channels=channels)
    stack = PictureFiles(paths, (size, size, channels), decode)
    name = name or folder.resolve().name
    places = [path.relative_to(folder).parts[:-1] for path in paths]
    if len(set(map(len, places))) == 1 and len(set(places)) > 1:
        depths = [depth for depth, folders in enumerate(zip(*places, strict=True)) if len(set(folders)) > 1]
        names = list(factors) or [f"folder_{depth + 1}" for depth in depths]
        space, classes = ranked(np.array([[place[depth] for depth in depths] for place in places]), name, names)
        world = ArrayWorld(stack, classes, space=space, name=name)
    elif factors:
        raise UnknotError(
            f"{folder}: its pictures do not all lie in subfolders of one depth, so there are no factors to be called "
            f"{', '.join(factors)}."
        )
    else:
        world = ArrayWorld(stack, name=name)
    world.file_names = tuple(path.relative_to(folder).as_posix() for path in paths)
    return world
