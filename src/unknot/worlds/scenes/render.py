"""Pictures and masks of scenes.

The project's ray tracer draws them with CLEVR's camera, lamps and sun: soft shadows, matte rubber, metal that mirrors
what stands around it, light encoded as sRGB. The same scene gives the same pixels every time; nothing is
drawn at random.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.worlds.raytracer.tracer import Batch, masks
from unknot.worlds.raytracer.tracer import render as trace
from unknot.worlds.scenes.layouts import layouts_of, packed, seen_in
from unknot.worlds.scenes.scene import Scene

Size = int | tuple[int, int]
Renderer = Literal["traced", "blender"]
CROP = 168 / 240  # COAT cuts the middle 168 of 240 pixels out of its renders and shrinks that to 128
_BATCH = 64


def render(
    scenes: Scene | Sequence[Scene],
    size: Size = 128,
    *,
    crop: float | None = None,
    samples: int = 4,
    renderer: Renderer = "traced",
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Draw scenes as uint8 images (n, height, width, 3).

    Args:
        scenes: one or several.
        size: side of a square image, or (height, width); CLEVR's own is (240, 320).
        crop: share of the larger side of the camera's picture that is shown; COAT's 0.7 for squares, else all.
        samples: rays inside each pixel that an edge runs through.
        renderer: "traced", or "blender" if its module `bpy` is installed.
        out: where to write.
    """
    scenes = [scenes] if isinstance(scenes, Scene) else list(scenes)
    height, width, crop = window(size, crop)
    if renderer not in get_args(Renderer):
        raise unknown("renderer", renderer, get_args(Renderer))
    if out is None:
        out = np.empty((len(scenes), height, width, 3), dtype=np.uint8)
    if renderer == "blender":
        from unknot.worlds.scenes.blender import render_blender

        out[:] = render_blender(scenes, height, width, crop)
        return out
    for start in range(0, len(scenes), _BATCH):
        batch = _batch(scenes[start : start + _BATCH], height, width, crop)
        trace(batch, height, width, samples=samples, curve="srgb", out=out[start : start + _BATCH])
    return out


def scene_masks(
    scenes: Scene | Sequence[Scene],
    size: Size = 128,
    *,
    crop: float | None = None,
    labels: Sequence[Sequence[int]] | None = None,
) -> NDArray[np.uint8]:
    """Which object the middle of each pixel sees, uint8 (n, height, width): 0 for the floor, else its label.

    Args:
        scenes: one or several.
        size: as in `render`.
        crop: as in `render`.
        labels: a number above 0 for each object of each scene; 1, 2, 3, ... if left out.
    """
    scenes = [scenes] if isinstance(scenes, Scene) else list(scenes)
    height, width, crop = window(size, crop)
    result = np.empty((len(scenes), height, width), dtype=np.uint8)
    for start in range(0, len(scenes), _BATCH):
        chunk = slice(start, start + _BATCH)
        batch = _batch(scenes[chunk], height, width, crop, labels[chunk] if labels else None, floor=False)
        result[chunk] = masks(batch, height, width)
    return result


def window(size: Size, crop: float | None = None) -> tuple[int, int, float]:
    """Height, width and crop of an image size.

    >>> window(128)[:2], window((240, 320))
    ((128, 128), (240, 320, 1.0))
    """
    height, width = (size, size) if isinstance(size, int | np.integer) else size
    if height < 1 or width < 1:
        raise UnknotError(f"scenes: an image of {height} x {width}; both sides need at least one pixel.")
    crop = (CROP if height == width else 1.0) if crop is None else crop
    if not 0 < crop <= 1:
        raise UnknotError(f"scenes: crop is {crop}; expected a share of the picture, above 0 and up to 1.")
    return int(height), int(width), float(crop)


def pixel_coords(scenes: Sequence[Scene], size: Size = 128) -> list[list[list[float]]]:
    """Column, row and depth at which the middle of each object of each scene appears, as CLEVR writes them."""
    height, width, crop = window(size)
    layouts = layouts_of(scenes)
    cameras = seen_in(layouts, packed(layouts), height, width, crop).cameras
    coords = []
    for camera, scene in zip(cameras, scenes, strict=True):
        centers = np.array([thing.center for thing in scene.objects]).reshape(-1, 3)
        right, up, depth = (camera[3:12].reshape(3, 3) @ (centers - camera[:3]).T).reshape(3, -1)
        scale = 0.5 * height / (camera[12] * depth)
        columns, rows = np.rint(width / 2 + scale * right), np.rint(height / 2 - scale * up)
        coords.append(np.stack([columns, rows, depth.round(6)], axis=1).tolist())
    return coords


def _batch(
    scenes: Sequence[Scene],
    height: int,
    width: int,
    crop: float,
    labels: Sequence[Sequence[int]] | None = None,
    *,
    floor: bool = True,
) -> Batch:
    layouts = layouts_of(scenes)
    numbers = None
    if labels is not None:
        numbers = np.zeros(layouts.words.shape[:2], dtype=np.int64)
        for row, of_scene in zip(numbers, labels, strict=True):
            row[: len(of_scene)] = of_scene
    return seen_in(layouts, packed(layouts, numbers, floor=floor), height, width, crop)
