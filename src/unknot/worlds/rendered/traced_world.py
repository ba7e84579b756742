"""A complete world whose images are ray traced from one scene for each point of its grid."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unknot.factors import Classes, FactorSpace
from unknot.worlds.raytracer.tracer import Batch, render
from unknot.worlds.world import Images, WorldDefaults

_BATCH = 256  # scenes packed at a time, so that memory stays flat


@dataclass(frozen=True)
class TracedWorld(WorldDefaults):
    """Images by factor classes, rendered when asked for.

    Attributes:
        name: its title.
        factors: its grid.
        scenes: the packed scene of each row of classes.
        key: its name in the catalogue.
    """

    name: str
    factors: FactorSpace
    scenes: Callable[[Classes], Batch]
    key: str = ""

    image_shape = (64, 64, 3)

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One uint8 image for each row of classes; `rng` is not used."""
        checked = self.factors.check(classes, self.name)
        images = np.empty((len(checked), *self.image_shape), dtype=np.uint8)
        for start in range(0, len(checked), _BATCH):
            chunk = slice(start, start + _BATCH)
            render(self.scenes(checked[chunk]), *self.image_shape[:2], out=images[chunk])
        return images
