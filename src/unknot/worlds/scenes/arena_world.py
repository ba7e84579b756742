"""The sprites of the arena one at a time: the world from which a model can learn what the agent will see."""

import colorsys
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.factors import Factor, FactorSpace
from unknot.worlds.scenes.arena import SATURATIONS, SCALE, VALUES
from unknot.worlds.scenes.multi_sprites import SHAPES
from unknot.worlds.world import Images, WorldDefaults

VALUE = sum(VALUES) / 2
SPACE = FactorSpace(
    (
        Factor("shape", 3, "categorical", SHAPES),
        Factor("hue", 24, "circular", tuple((np.arange(24) / 24).tolist())),
        Factor("saturation", 5, "ordinal", tuple(np.linspace(*SATURATIONS, 5).tolist())),
        Factor("x", 32, "ordinal", tuple(np.linspace(0, 1, 32).tolist())),
        Factor("y", 32, "ordinal", tuple(np.linspace(0, 1, 32).tolist())),
    )
)


@dataclass(frozen=True)
class ArenaSprites(WorldDefaults):
    """One sprite on black as the agent sees it, of any hue and at any place, 64 x 64 x 3.

    Factors are shape 3, hue 24, saturation 5, x 32 and y 32: the ranges of the arena, in which sprites may lie half
    outside of the picture; the value of colours is the middle of its range.

    Reference: Watters et al. 2019, COBRA, arXiv:1905.09275.

    >>> world = ArenaSprites()
    >>> world.factors.shape, world.images([[0, 0, 4, 16, 0]])[0].any((0, 2)).sum()
    ((3, 24, 5, 32, 32), np.int64(9))
    """

    key = "arena_rendered"
    name = "Sprites of the arena (rendered)"
    factors = SPACE
    image_shape = (64, 64, 3)

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One image for each row of classes; `rng` is not used."""
        from unknot.worlds.scenes._paint import paint_alone

        checked = self.factors.check(classes, self.name)
        poses = np.zeros((len(checked), 4))
        poses[:, 0], poses[:, 1] = (self.factors[name].numbers[checked[:, 3 + i]] for i, name in enumerate("xy"))
        poses[:, 2] = SCALE
        drawn = np.zeros((len(checked), *self.image_shape), dtype=np.uint8)
        paint_alone(checked[:, 0], poses, _colors()[checked[:, 1], checked[:, 2]], drawn)
        return drawn


@cache
def _colors() -> NDArray[np.float64]:
    """(hues, saturations, 3) red, green and blue."""
    hues, saturations = SPACE["hue"].numbers.tolist(), SPACE["saturation"].numbers.tolist()
    return np.array([[colorsys.hsv_to_rgb(hue, depth, VALUE) for depth in saturations] for hue in hues])
