"""Tuples of object algebra from flat sprites: what `black_sprites` trains on, as a list of quadruples.

A has three sprites, B the same and one more; C has three others, D those and the same one more, so that all four have
as many sprites as training images. Wrong answers are D with one sprite left out, exchanged for one of A's, or changed
in hue, shape or size.
"""

import colorsys
import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unknot.worlds.scenes._paint import paint
from unknot.worlds.scenes.dataset import BLACK, FLAT
from unknot.worlds.scenes.multi_sprites import SHAPES, MultiSprites

ROLES = ("A", "B", "C", "D", "drop", "object", "color", "shape", "size")
BASE, OTHER, ADDED = (0, 1, 2), (3, 4, 5), 6
SEEN, NOTICED = 4, 8  # pixels in which a wrong answer must differ from D, by so many levels


@dataclass(frozen=True)
class Sprite:
    """One sprite; `depth` decides who hides whom."""

    shape: int
    x: float
    y: float
    scale: float
    orientation: float
    hsv: tuple[float, float, float]
    depth: int


def write_tuples(folder: Path, *, n: int, size: int = 32, seed: int = 0) -> Path:
    """Write n tuples as pictures and the list `tuples.csv`, which is written last; found if it is there."""
    file = folder / "tuples.csv"
    if file.is_file():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for i in range(n):
        images = _tuple(np.random.default_rng([seed, i]), size)
        row = {role: f"{i:05d}_{role}.png" for role in ROLES}
        for role, name in row.items():
            Image.fromarray(images[role]).save(folder / name)
        rows.append(row)
    with file.open("w", newline="") as opened:
        table = csv.DictWriter(opened, ROLES)
        table.writeheader()
        table.writerows(rows)
    return file


def _tuple(rng: np.random.Generator, size: int) -> dict[str, NDArray[np.uint8]]:
    while True:
        sprites = [_sprite(rng, depth) for depth in rng.permutation(7)]
        base, other, added = [sprites[i] for i in BASE], [sprites[i] for i in OTHER], sprites[ADDED]
        shown = {"A": base, "B": [*base, added], "C": other, "D": [*other, added]}
        images = {role: _picture(scene, size) for role, scene in shown.items()}
        if any(image is None for image in images.values()):
            continue
        for role in ROLES[4:]:
            tried = (_picture(scene, size) for scene in _wrong(role, shown["D"], base, rng))
            images[role] = next((image for image in tried if _differs(image, images["D"])), None)
        if all(image is not None for image in images.values()):
            return {role: image for role, image in images.items() if image is not None}


def _sprite(rng: np.random.Generator, depth: int) -> Sprite:
    """By the law of `MultiSprites`."""
    x, y = rng.uniform(0.15, 0.85, 2)
    scale, turn = rng.uniform(*FLAT[BLACK]["scales"]), rng.uniform(0, 2 * np.pi)
    hsv = (rng.random(), rng.uniform(0.6, 1), rng.uniform(0.6, 1))
    return Sprite(int(rng.integers(len(SHAPES))), x, y, scale, turn, hsv, int(depth))


def _wrong(role: str, scene: list[Sprite], base: list[Sprite], rng: np.random.Generator) -> Iterator[list[Sprite]]:
    """Ways to get D wrong in one respect, in random order."""
    low, high = FLAT[BLACK]["scales"]
    for k in rng.permutation(len(scene)):
        rest, one = [s for i, s in enumerate(scene) if i != k], scene[k]
        hue = (one.hsv[0] + rng.uniform(0.25, 0.75)) % 1
        changed: dict[str, list[Sprite]] = {
            "drop": [],
            "object": [base[rng.integers(len(base))]],
            "color": [replace(one, hsv=(hue, *one.hsv[1:]))],
            "shape": [replace(one, shape=(one.shape + int(rng.integers(1, len(SHAPES)))) % len(SHAPES))],
            "size": [replace(one, scale=low if one.scale > (low + high) / 2 else high)],
        }
        yield [*rest, *changed[role]]


def _picture(scene: list[Sprite], size: int) -> NDArray[np.uint8] | None:
    """None if too little is seen of a sprite, by the rule of training images."""
    ordered = sorted(scene, key=lambda sprite: sprite.depth)
    shapes = np.array([s.shape for s in ordered])
    poses = np.array([[s.x, s.y, s.scale, s.orientation] for s in ordered])
    colors = np.array([colorsys.hsv_to_rgb(*s.hsv) for s in ordered])
    image, mask = np.zeros((size, size, 3)), np.zeros((size, size), np.uint8)
    paint(shapes, poses, colors, image, mask)
    world: Any = MultiSprites(n=1, size=size, **FLAT[BLACK])
    return np.rint(255 * image).astype(np.uint8) if world._shown(shapes, poses, colors, mask) else None


def _differs(image: NDArray[np.uint8] | None, right: NDArray[np.uint8] | None) -> bool:
    if image is None or right is None:
        return False
    return int((np.abs(image.astype(int) - right).max(axis=2) >= NOTICED).sum()) >= SEEN
