"""A folder of pictures without factors (CelebA, ImageNet, one's own), for scores that need no labels.

Pictures are taken from all subfolders and sorted by name, since the order of a directory listing is not stable.
"""

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import Indices
from unknot.worlds.array_world import ArrayWorld

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})
Fit = Literal["crop", "stretch"]


class FolderPictures:
    """The pictures of a folder, decoded when asked for."""

    dtype = np.dtype(np.uint8)

    def __init__(self, paths: list[Path], size: int, fit: Fit, channels: int) -> None:
        self.paths, self.size, self.fit, self.channels = paths, size, fit, channels
        self.shape = (len(paths), size, size, channels)

    def __getitem__(self, rows: Indices, /) -> NDArray[Any]:
        pictures = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)
        for i, row in enumerate(rows):
            pictures[i] = self._picture(self.paths[row])
        return pictures

    def _picture(self, path: Path) -> NDArray[np.uint8]:
        from PIL import Image, ImageOps, UnidentifiedImageError

        square = (self.size, self.size)
        try:
            with Image.open(path) as file:
                image = file.convert("RGB" if self.channels == 3 else "L")
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError, SyntaxError) as error:
            raise UnknotError(f"{path}: cannot be read as a picture ({error}); mend or remove it.") from error
        fitted = (
            ImageOps.fit(image, square, Image.Resampling.LANCZOS)
            if self.fit == "crop"
            else image.resize(square, Image.Resampling.LANCZOS)
        )
        return np.asarray(fitted, dtype=np.uint8).reshape(*square, self.channels)


def pictures(folder: Path) -> list[Path]:
    """The pictures in a folder and its subfolders, sorted by name; hidden ones are left out."""
    files = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(
        (path for path in files if not any(p.startswith(".") for p in path.relative_to(folder).parts)),
        key=lambda path: path.relative_to(folder).parts,
    )


def read(folder: Path, *, size: int = 64, fit: Fit = "crop", channels: int = 3, name: str = "") -> ArrayWorld:
    """A world of pictures told apart by number alone: its one factor, "image", is their position by name.

    Args:
        folder: with pictures in it or in its subfolders; hidden ones are left out.
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
    return ArrayWorld(FolderPictures(paths, size, fit, channels), name=name or folder.resolve().name)
