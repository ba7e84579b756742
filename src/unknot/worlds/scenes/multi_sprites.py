"""Several coloured sprites over each other on a grey ground: scenes of objects in two dimensions, quick and small.

Made after Multi-dSprites (Kabra et al. 2019, Multi-Object Datasets), "coloured on greyscale"; the geometry of the
sprites is that of dSprites. Pictures have smooth edges, so that they can be drawn at any size.
"""

import colorsys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, numbered
from unknot.worlds.world import Images, WorldDefaults

SHAPES = ("square", "ellipse", "heart")
SCALES = (0.6, 1.1)
_SHOWN = 0.4  # of each sprite, the part that must be seen, or the picture is drawn anew


@dataclass(frozen=True)
class MultiSprites(WorldDefaults):
    """Pictures told apart by number alone, drawn when asked for: number i is the same for the same seed and size.

    Args:
        n: how many pictures.
        size: height and width, 16 or more.
        objects: fewest and most sprites in one.
        seed: decides all of them.
        scales: of the smallest and of the largest sprite.
        ground: grey of the ground, from 0 to 1; drawn for each picture if None.

    >>> world = MultiSprites(n=3, size=32)
    >>> world.images([[2]]).shape, sorted(set(world.masks([[2]]).ravel().tolist()))[:2]
    ((1, 32, 32, 3), [0, 1])
    """

    n: int = 60_000
    size: int = 64
    objects: tuple[int, int] = (2, 4)
    seed: int = 0
    scales: tuple[float, float] = SCALES
    ground: float | None = None

    name = "multi-object sprites (rendered)"

    def __post_init__(self) -> None:
        fewest, most = self.objects
        if self.n < 1 or self.size < 16 or self.seed < 0 or not 1 <= fewest <= most <= 8:
            raise UnknotError(
                f"multi_sprites: n {self.n}, size {self.size}, {fewest} to {most} objects, seed {self.seed}; expected "
                "a size of 16 or more, and 1 to 8 objects, the fewest first."
            )

    @property
    def key(self) -> str:
        """Its name in the catalogue, where everything is as usual."""
        return "multi_sprites_rendered" if self == MultiSprites() else ""

    @property
    def factors(self) -> FactorSpace:
        """The picture's number."""
        return numbered(self.n)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        return self.size, self.size, 3

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One uint8 picture for each row of classes; `rng` is not used."""
        return np.array([self.picture(i)[0] for i in self._numbers(classes)], dtype=np.uint8).reshape(
            -1, *self.image_shape
        )

    def masks(self, classes: ArrayLike) -> NDArray[np.uint8]:
        """Which sprite each pixel shows, uint8 (n, size, size): 0 for the ground, 1 for the lowest sprite."""
        return np.array([self.picture(i)[1] for i in self._numbers(classes)], dtype=np.uint8).reshape(
            -1, self.size, self.size
        )

    def picture(self, i: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], dict[str, Any]]:
        """Picture i, its mask, and what is on it as JSON."""
        from unknot.worlds.scenes._paint import paint

        rng = np.random.default_rng([self.seed, i])
        while True:
            k = int(rng.integers(self.objects[0], self.objects[1] + 1))
            shapes = rng.integers(0, len(SHAPES), k)
            poses = np.stack(
                [rng.uniform(0.15, 0.85, k), rng.uniform(0.15, 0.85, k), rng.uniform(*self.scales, k),
                 rng.uniform(0, 2 * np.pi, k)], axis=1,
            ).round(6)  # fmt: skip
            hues, depth, light = rng.random(k), rng.uniform(0.6, 1, k), rng.uniform(0.6, 1, k)
            colors = np.array([colorsys.hsv_to_rgb(*hsv) for hsv in zip(hues, depth, light, strict=True)]).round(6)
            ground = round(float(rng.random()), 6)
            ground = ground if self.ground is None else self.ground
            image, mask = np.full((self.size, self.size, 3), ground), np.zeros((self.size, self.size), np.uint8)
            paint(shapes, poses, colors, image, mask)
            if self._shown(shapes, poses, colors, mask):
                break
        objects = [
            {"shape": SHAPES[shape], "color": color, "x": x, "y": y, "scale": scale, "orientation": turn}
            for shape, color, (x, y, scale, turn) in zip(shapes, colors.tolist(), poses.tolist(), strict=True)
        ]
        return np.rint(255 * image).astype(np.uint8), mask, {"objects": objects, "background": ground}

    def _shown(
        self,
        shapes: NDArray[np.int64],
        poses: NDArray[np.float64],
        colors: NDArray[np.float64],
        mask: NDArray[np.uint8],
    ) -> bool:
        """Whether enough of every sprite is seen; the part outside the picture counts as hidden."""
        from unknot.worlds.scenes._paint import paint

        counts = np.bincount(mask.ravel(), minlength=len(shapes) + 1)[1:]
        for j in range(len(shapes)):
            middle = poses[j : j + 1].copy()
            middle[0, :2] = 0.5
            whole = np.zeros_like(mask)
            paint(shapes[j : j + 1], middle, colors[j : j + 1], np.zeros((*mask.shape, 3)), whole)
            if counts[j] < _SHOWN * whole.sum():
                return False
        return True

    def _numbers(self, classes: ArrayLike) -> list[int]:
        return [int(i) for i in self.factors.check(classes, self.name)[:, 0]]
