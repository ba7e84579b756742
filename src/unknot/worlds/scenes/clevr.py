"""The published pictures of CLEVR: its folder as a world.

CLEVR unpacks to `images/<split>/CLEVR_<split>_000000.png` (240 x 320) and `scenes/CLEVR_<split>_scenes.json`.
"""

from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.reading.guard import load_json
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.image_folder import decoded
from unknot.worlds.pictures import PictureFiles
from unknot.worlds.scenes.scene import Scene, read_scene

# Top, bottom, left, right of what is kept, as shares of the picture; None: a central square.
WINDOWS: dict[str, tuple[float, float, float, float] | None] = {
    "slots": (29 / 240, 221 / 240, 64 / 320, 256 / 320),  # what slot models are trained on
    "coat": None,  # the middle 168 of 240 pixels
    "whole": (0.0, 1.0, 0.0, 1.0),
}
_COAT = 168 / 240


class ClevrWorld(ArrayWorld):
    """CLEVR's pictures by number, with their scenes where the split has them."""

    def __init__(self, pictures: PictureFiles, scene_file: Path | None, split: str) -> None:
        super().__init__(pictures, name=f"CLEVR {split}")
        self.paths, self.scene_file = pictures.paths, scene_file

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The scenes as JSON, in the order of the pictures."""
        if self.scene_file is None:
            raise UnknotError(f"{self.name}: its scenes are not published, or not in this folder.")
        scenes = {scene.get("image_filename"): scene for scene in read_scene_file(self.scene_file)}
        missing = [path.name for path in self.paths if path.name not in scenes]
        if missing:
            raise UnknotError(
                f"{self.scene_file}: has no scene of {missing[0]} ({len(missing)} of {len(self.paths)} are missing)."
            )
        return [scenes[path.name] for path in self.paths]

    def scene(self, i: int) -> Scene:
        """Scene i as a value that can be rendered; camera and lamps are the usual ones, since CLEVR keeps neither."""
        return read_scene(self.records[i], f"{self.scene_file}, scene of {self.paths[i].name}")


def read_clevr(folder: Path | str, *, split: str = "", size: int = 128, window: str = "slots") -> ClevrWorld:
    """One split of a CLEVR folder as a world told apart by number alone.

    Args:
        folder: with `images` and `scenes`.
        split: "train", "val", "test"; the first there is of these if left out.
        size: height and width that pictures are brought to.
        window: what is cut out before: "slots" (192 x 192, as slot models are trained), "coat" (168 x 168), "whole".
    """
    folder = Path(folder).expanduser()
    there = [name for name in ("train", "val", "test", "trainA", "valA", "valB", "testA", "testB")
             if (folder / "images" / name).is_dir()]  # fmt: skip
    if not there:
        raise UnknotError(
            f"{folder}: has no images/train, images/val or images/test; name the unpacked CLEVR folder."
        )
    split = split or there[0]
    if split not in there:
        raise unknown("split", split, there)
    paths = sorted((folder / "images" / split).glob("*.png"))
    if not paths:
        raise UnknotError(f"{folder / 'images' / split}: holds no PNG pictures.")
    if window not in WINDOWS:
        raise unknown("window", window, WINDOWS)
    scene_file = folder / "scenes" / f"CLEVR_{split}_scenes.json"
    pictures = PictureFiles(paths, (size, size, 3), partial(cut, size=(size, size), window=window))
    return ClevrWorld(pictures, scene_file if scene_file.is_file() else None, split)


def read_scene_file(path: Path | str) -> list[dict[str, Any]]:
    """The scenes of a CLEVR scene file, unchecked; `read_scene` makes values of them."""
    record = load_json(path, "a scene file")
    if not isinstance(record, dict) or not isinstance(record.get("scenes"), list):
        raise UnknotError(f"{path}: has no list 'scenes'; expected a CLEVR scene file.")
    scenes: list[dict[str, Any]] = record["scenes"]
    return scenes


def cut(path: Path, size: tuple[int, int], window: str) -> NDArray[np.uint8]:
    """A picture, cut to a window and brought to a size by bilinear filtering."""
    from PIL import Image

    if not path.exists():
        raise UnknotError(f"{path}: no such picture; is the folder complete?")
    image = decoded(path, "RGB")
    shares = WINDOWS[window]
    if shares is None:
        side = _COAT * min(image.size)
        middle = (image.width / 2, image.height / 2)
        box = (middle[0] - side / 2, middle[1] - side / 2, middle[0] + side / 2, middle[1] + side / 2)
    else:
        top, bottom, left, right = shares
        box = (left * image.width, top * image.height, right * image.width, bottom * image.height)
    fitted = image.resize((size[1], size[0]), Image.Resampling.BILINEAR, box=box)
    return np.asarray(fitted, dtype=np.uint8)
