"""Training sets of scenes on disk: images, instance masks and CLEVR's scene JSON, written once and opened as a world.

A folder with `scenes.json`, and `images.npy` (n, h, w, 3) with `masks.npy` (n, h, w), or the folders `images` and
`masks` of PNG files; `dataset.json` is written last and says how all was made. Scene i depends
on the seed and on i alone.
"""

import json
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.files import written_whole
from unknot.progress import Progress, silent
from unknot.reading.guard import load_json, parsing
from unknot.reading.pictures import picture
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.pictures import PictureFiles, Pictures
from unknot.worlds.scenes.chunks import (
    alone,
    clear,
    difference,
    fill,
    finish,
    in_items,
    mapped,
    opened,
    progress_of,
    sweep,
)
from unknot.worlds.scenes.render import Size, pixel_coords, render, scene_masks, window
from unknot.worlds.scenes.scene import Scene, check_background, read_scene, scene_json
from unknot.worlds.scenes.scenes_rendered import TITLES as SCENE_TITLES
from unknot.worlds.scenes.scenes_rendered import ScenesRendered

Drawn = tuple[NDArray[np.uint8], NDArray[np.uint8], list[dict[str, Any]]]  # images, masks, scenes as JSON
FORMATS = ("array", "png")
SPRITES, BLACK = "sprites", "black_sprites"
TITLES = {
    **SCENE_TITLES,
    SPRITES: "multi-object sprites (rendered)",
    BLACK: "multi-object sprites on black (rendered)",
}
FLAT: dict[str, dict[str, Any]] = {  # two-dimensional settings, and what they ask of `MultiSprites`
    SPRITES: {},
    BLACK: {"objects": (3, 4), "scales": (1.1, 1.5), "ground": 0.0},
}
VERSION = 4  # rises when the same seed gives other pictures
PIECE = 64  # images


@dataclass(frozen=True)
class SceneSet:
    """A training set of scenes: everything that decides its files.

    Attributes:
        setting: "iid", "corr" (one colour, one material, close together), "clevr" (grey floor, up to 10 objects),
            "sprites" (two-dimensional) or "black_sprites" (fewer, larger ones on black, which models separate soonest).
        n: images; COAT trains on 23,000.
        size: side of square images, or (height, width).
        seed: decides every picture.
        form: "array" for one memory-mapped file, "png" for one file each.
        split: goes into names and JSON, as in CLEVR_train_000000.png.
        background: the floor of every scene: see `ScenesRendered`. Sprites have none.
    """

    setting: str = "iid"
    n: int = 23_000
    size: Size = 128
    seed: int = 0
    form: str = "array"
    split: str = "train"
    background: str = ""

    def __post_init__(self) -> None:
        if self.setting not in TITLES:
            raise unknown("setting", self.setting, TITLES)
        if self.form not in FORMATS:
            raise unknown("format", self.form, FORMATS)
        if self.n < 1 or self.seed < 0 or not self.split.isidentifier():
            raise UnknotError(
                f"scenes: n {self.n}, seed {self.seed}, split '{self.split}'; expected n from 1, seed from 0, a word."
            )
        height, width = self.sides
        if self.setting in FLAT and height != width:
            raise UnknotError(f"scenes: sprites are square; the size is {height} x {width}.")
        if self.setting in FLAT and self.background:
            expected = f"none with the setting {self.setting}"
            raise UnknotError(who="scenes", field="background", value=self.background, expected=expected)
        check_background(self.background)

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of the images."""
        return window(self.size)[:2]

    def record(self) -> dict[str, Any]:
        """What `dataset.json` holds."""
        return {
            "version": VERSION, "setting": self.setting, "n": self.n, "size": list(self.sides), "seed": self.seed,
            "format": self.form, "split": self.split, **({"background": self.background} if self.background else {}),
        }  # fmt: skip

    def file_name(self, i: int) -> str:
        """The name of image i."""
        return f"CLEVR_{self.split}_{i:06d}.png"


class SceneWorld(ArrayWorld):
    """A written training set: a world whose one factor is the image's number, with masks and scenes."""

    def __init__(self, folder: Path, scene_set: SceneSet, pictures: Pictures, masks: Pictures) -> None:
        super().__init__(pictures, name=TITLES[scene_set.setting])
        self.folder, self.scene_set, self._masks = folder, scene_set, masks

    def masks(self, classes: ArrayLike) -> NDArray[np.uint8]:
        """Which object each pixel sees, uint8 (n, h, w), for each row of classes: 0 for the ground."""
        return np.asarray(self._masks[self.factors.check(classes, self.name)[:, 0]])

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The scenes as JSON, in the order of the images."""
        path = self.folder / "scenes.json"
        with parsing(path, "the scenes of this set", "Write the set again."):
            scenes: list[dict[str, Any]] = _read_json(path)["scenes"]
            if not isinstance(scenes, list) or len(scenes) != self.scene_set.n:
                raise ValueError(f"expected a list of {self.scene_set.n}")
        return scenes

    def scene(self, i: int) -> Scene:
        """Scene i as a value that can be rendered again; sprites have none."""
        if self.scene_set.setting in FLAT:
            raise UnknotError(f"{self.folder}: sprites are no scenes of three dimensions; see `records`.")
        return read_scene(self.records[i], f"{self.folder / 'scenes.json'}, scene {i}")


def write_scenes(
    folder: Path | str, scene_set: SceneSet, *, jobs: int = 1, progress: Progress = silent
) -> SceneWorld:
    """Draw a training set, or open it if it is there already; one that was interrupted is continued.

    The files are the same, byte for byte, for the same set, whatever the number of processes.

    Args:
        folder: for this set alone.
        scene_set: what to draw.
        jobs: processes.
        progress: told how many pictures are done.
    """
    folder = Path(folder).expanduser()
    n, (height, width), record = scene_set.n, scene_set.sides, scene_set.record()
    if (folder / "dataset.json").is_file():
        return _already_made(folder, record)
    arrays = {}
    if scene_set.form == "array":
        arrays = {"images.npy": ((n, height, width, 3), "uint8"), "masks.npy": ((n, height, width), "uint8")}

    with alone(folder):
        work, counted = partial(_write_piece, scene_set), in_items(progress, "pictures", PIECE, n)
        pieces = fill(folder, record, arrays, -(-n // PIECE), work, jobs=jobs, progress=counted)
        finish(folder, arrays)
        scenes = [scene for piece in pieces for scene in piece["scenes"]]
        about = {"split": scene_set.split, "version": str(VERSION), "date": "", "license": "Apache-2.0"}
        for name, content in (("scenes.json", {"info": about, "scenes": scenes}), ("dataset.json", record)):
            with written_whole(folder / name) as beside:
                beside.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
        clear(folder)
    return open_scenes(folder)


def open_scenes(folder: Path | str) -> SceneWorld:
    """The training set in a folder; anything missing or cut short is an error that says what."""
    folder = Path(folder).expanduser()
    record = _read_json(folder / "dataset.json")
    try:
        height, width = record["size"]
        scene_set = SceneSet(
            record["setting"],
            int(record["n"]),
            (height, width),
            record["seed"],
            record["format"],
            record["split"],
            record.get("background", ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, UnknotError) as error:
        raise UnknotError(
            f"{folder / 'dataset.json'}: is no description of a set of scenes ({error!r})."
        ) from None
    if record.get("version") != VERSION:
        raise UnknotError(
            f"{folder}: is a set of version {record.get('version')}; this program reads {VERSION}. Write it again."
        )
    images, masks = _stack(folder, "images", scene_set, 3), _stack(folder, "masks", scene_set)
    return SceneWorld(folder, scene_set, images, masks)


def _already_made(folder: Path, wanted: dict[str, Any]) -> SceneWorld:
    sweep(folder)
    world = open_scenes(folder)
    named = difference(world.scene_set.record(), wanted)
    if named:
        raise UnknotError(f"{folder}: already holds scenes with {named}; name another folder.")
    return world


def _write_piece(scene_set: SceneSet, making: Path, piece: int) -> dict[str, Any]:
    numbers = range(piece * PIECE, min((piece + 1) * PIECE, scene_set.n))
    draw = _sprites if scene_set.setting in FLAT else _scenes
    images, masks, records = draw(scene_set, numbers)
    for i, record in zip(numbers, records, strict=True):
        record |= {"split": scene_set.split, "image_index": i, "image_filename": scene_set.file_name(i)}
    rows = slice(numbers.start, numbers.stop)
    if scene_set.form == "array":
        for name, values in (("images.npy", images), ("masks.npy", masks)):
            array = opened(making, name)
            array[rows] = values
            array.flush()  # type: ignore[attr-defined]
    else:
        for i, image, mask in zip(numbers, images, masks, strict=True):
            _write_png(making.parent / "images" / scene_set.file_name(i), image)
            _write_png(making.parent / "masks" / scene_set.file_name(i), mask)
    return {"scenes": records}


def _scenes(scene_set: SceneSet, numbers: range) -> Drawn:
    size = scene_set.sides
    drawn = ScenesRendered(scene_set.setting, scene_set.n, size, scene_set.seed, scene_set.background)
    scenes = [drawn.scene(i) for i in numbers]
    places = pixel_coords(scenes, size)
    masks = scene_masks(scenes, size)
    records = []
    for scene, place, mask in zip(scenes, places, masks, strict=True):
        counts = np.bincount(mask.ravel(), minlength=len(scene.objects) + 1)
        records.append(scene_json(scene, pixel_coords=place))
        for thing, count in zip(records[-1]["objects"], counts[1:].tolist(), strict=True):
            thing["visible_pixels"] = count
    return render(scenes, size), masks, records


def _sprites(scene_set: SceneSet, numbers: range) -> Drawn:
    from unknot.worlds.scenes.multi_sprites import MultiSprites

    world = MultiSprites(scene_set.n, scene_set.sides[0], seed=scene_set.seed, **FLAT[scene_set.setting])
    drawn = [world.picture(i) for i in numbers]
    return np.array([d[0] for d in drawn]), np.array([d[1] for d in drawn]), [d[2] for d in drawn]


def _write_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    from PIL import Image

    with written_whole(path) as beside:
        Image.fromarray(pixels).save(beside, format="PNG", compress_level=4)


def _stack(folder: Path, kind: str, scene_set: SceneSet, *channels: int) -> Pictures:
    """The images or the masks of a folder."""
    shape = (*scene_set.sides, *channels)
    if scene_set.form == "array":
        return mapped(folder / f"{kind}.npy", (scene_set.n, *shape), "Write the set again.")
    here = {path.name for path in (folder / kind).iterdir()} if (folder / kind).is_dir() else set()
    numbers = range(scene_set.n)
    missing = next((i for i in numbers if scene_set.file_name(i) not in here), None)
    if missing is not None:
        raise UnknotError(
            f"{folder / kind}: {len(here)} of {scene_set.n} pictures are there; {scene_set.file_name(missing)} is "
            "missing."
        )
    return PictureFiles([folder / kind / scene_set.file_name(i) for i in numbers], shape, _read_png)


def _read_png(path: Path) -> NDArray[np.uint8]:
    with picture(path, "Write the set again.") as file:
        return np.asarray(file)


def _read_json(path: Path) -> dict[str, Any]:
    done = None if path.exists() else progress_of(path.parent)
    if done is not None:
        raise UnknotError(
            f"{path.parent}: writing these scenes was interrupted ({done} pieces are done); write them again with "
            "the same options and it goes on from there."
        )
    record = load_json(path, hint="Write the set again.")
    if not isinstance(record, dict):
        raise UnknotError(f"{path}: holds no object.")
    return cast("dict[str, Any]", record)
