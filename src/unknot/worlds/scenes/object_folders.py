"""Published folders of pictures with masks: CLEVRTex, and scenes of Kubric such as MOVi.

CLEVRTex lies in folders of `CLEVRTEX_full_000000.png`, `CLEVRTEX_full_000000_flat.png` (masks) and
`CLEVRTEX_full_000000.json`. Kubric writes one folder for each scene, with `rgba_00000.png`, `segmentation_00000.png`
and `metadata.json`; every frame is a picture of its own here.

Reference: Karazija et al. 2021, ClevrTex, arXiv:2111.10265; Greff et al. 2022, Kubric, arXiv:2203.03570.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading.arguments import checked
from unknot.reading.guard import load_json
from unknot.reading.pictures import picture
from unknot.worlds.image_folder import decoded
from unknot.worlds.pictures import PictureFiles
from unknot.worlds.scenes.objects_world import ObjectsWorld, Thing

SIZE = 128
CLEVRTEX, FRAMES = (f"{name}_{'[0-9]' * digits}.png" for name, digits in (("CLEVRTEX_*", 6), ("rgba", 5)))
ZOOM = 0.8  # of the shorter side: what CLEVRTex is cut to
_SAID = ("shape", "size", "material", "color", "rotation", "3d_coords", "pixel_coords")  # of an object of CLEVRTex
_LABELS = ("shape", "size", "material", "color", "category", "asset_id")  # words of an object of Kubric


def is_clevrtex(folder: Path) -> bool:
    """Whether a folder, or one in it, holds CLEVRTex."""
    return any(chain(folder.glob(CLEVRTEX), folder.glob(f"*/{CLEVRTEX}")))


def is_kubric(folder: Path) -> bool:
    """Whether a folder is a scene of Kubric, or holds some."""
    return any(chain(folder.glob(FRAMES), folder.glob(f"*/{FRAMES}")))


@checked
def read_clevrtex(folder: Path | str, *, size: int = SIZE) -> ObjectsWorld:
    """CLEVRTex, any of its variants, as a world told apart by number alone: the middle 192 x 192 pixels.

    Args:
        folder: unpacked, such as `clevrtex_full`.
        size: height and width that pictures and masks are brought to.
    """
    folder = Path(folder).expanduser()
    paths = sorted(folder.rglob(CLEVRTEX), key=lambda path: path.name)
    masks = [path.with_name(f"{path.stem}_flat.png") for path in paths]

    def things(i: int) -> Sequence[Thing]:
        said = _listed(paths[i].with_suffix(".json"), "objects")
        # Masks number objects from 1 in the order of the file, unless their index says otherwise.
        return [{"mask": o.get("index", j), **{n: o[n] for n in _SAID if n in o}} for j, o in enumerate(said, 1)]

    variant = paths[0].name.split("_")[1] if paths else ""
    return _world(folder, paths, masks, things, f"CLEVRTex {variant}", size, ZOOM)


@checked
def read_kubric(folder: Path | str, *, size: int = SIZE, every: int = 1) -> ObjectsWorld:
    """Frames of scenes written by Kubric, such as MOVi's, as a world told apart by number alone.

    Args:
        folder: of one scene, or of folders of scenes.
        size: height and width that frames and masks are brought to.
        every: takes the first of so many frames; neighbours look alike.
    """
    folder = Path(folder).expanduser()
    if every < 1:
        raise UnknotError(who="kubric", field="every", value=every, expected="1 or more")
    frames = sorted(folder.rglob(FRAMES))
    paths = [path for path in frames if int(path.stem[-5:]) % every == 0]
    masks = [path.with_name(path.name.replace("rgba", "segmentation")) for path in paths]

    def things(i: int) -> Sequence[Thing]:
        frame, listed = int(paths[i].stem[-5:]), _listed(paths[i].with_name("metadata.json"), "instances")
        return [_instance(j, instance, frame) for j, instance in enumerate(listed, 1)]

    return _world(folder, paths, masks, things, f"Kubric, {folder.resolve().name}", size, 1.0)


def _instance(mask: int, said: Mapping[str, Any], frame: int) -> dict[str, Any]:
    """An object in one frame: words, and where it is then."""
    words = {
        name: said[key] for name in _LABELS for key in (f"{name}_label", name) if isinstance(said.get(key), str)
    }
    places = said.get("positions")
    if isinstance(places, list) and frame < len(places):
        words["position"] = places[frame]
    return {"mask": mask, **words}


def _listed(path: Path, key: str) -> list[Mapping[str, Any]]:
    record = load_json(path, "what is said of a scene")
    listed = record.get(key) if isinstance(record, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise UnknotError(f"{path}: has no list of objects under '{key}'.")
    return listed


def _world(
    folder: Path, paths: Sequence[Path], masks: Sequence[Path], things: Any, name: str, size: int, zoom: float
) -> ObjectsWorld:
    if not paths:
        raise UnknotError(f"{folder}: holds no pictures of this dataset; name the unpacked folder.")
    if size < 1:
        raise UnknotError(who="objects", field="size", value=size, expected="1 or more pixels")
    missing = [path for path in masks if not path.is_file()]
    if missing:
        raise UnknotError(
            f"{folder}: {len(missing)} of {len(masks)} masks are missing, such as {missing[0]}; without masks there is "
            "no ARI. Unpack them too, or read the pictures alone with unknot.worlds.image_folder.read."
        )
    pictures = PictureFiles(paths, (size, size, 3), partial(_picture, size=size, zoom=zoom))
    return ObjectsWorld(
        pictures, PictureFiles(masks, (size, size), partial(_mask, size=size, zoom=zoom)), things, name
    )


def _box(width: int, height: int, zoom: float) -> tuple[float, float, float, float]:
    """The middle square, whose side is a share of the shorter one."""
    half = zoom * min(width, height) / 2
    return width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half


def _picture(path: Path, size: int, zoom: float) -> NDArray[np.uint8]:
    from PIL import Image

    image = decoded(path, "RGB")
    fitted = image.resize((size, size), Image.Resampling.BILINEAR, box=_box(*image.size, zoom))
    return np.asarray(fitted, dtype=np.uint8)


def _mask(path: Path, size: int, zoom: float) -> NDArray[np.uint8]:
    """The numbers of objects at the middle of each pixel; they are no colours, and are not averaged."""
    with picture(path, "It should be a mask.") as file:
        ids = np.asarray(file)  # of a palette, its numbers
    if ids.ndim != 2 or not (ids.min(initial=0) >= 0 and ids.max(initial=0) <= 255):
        raise UnknotError(
            f"{path}: a mask of shape {ids.shape}; expected one number from 0 to 255 for each pixel."
        )
    left, top, right, bottom = _box(ids.shape[1], ids.shape[0], zoom)
    middles = (np.arange(size) + 0.5) / size
    rows, columns = top + middles * (bottom - top), left + middles * (right - left)
    nearest: NDArray[np.uint8] = ids[rows.astype(int)[:, None], columns.astype(int)[None]].astype(np.uint8)
    return nearest
