"""A complete world whose images are ray traced from one scene for each point of its grid."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from unknot.factors import Classes, FactorSpace
from unknot.worlds.raytracer.tracer import Batch, render
from unknot.worlds.world import Images, WorldDefaults

if TYPE_CHECKING:
    from unknot.worlds.raytracer.painting import Lit

_BATCH = 256  # scenes packed at a time, so that memory stays flat


@dataclass(frozen=True)
class TracedWorld(WorldDefaults):
    """Images by factor classes, rendered when asked for.

    Attributes:
        name: its title.
        factors: its grid.
        scenes: the packed scene of each row of classes.
        key: its name in the catalogue.
        paint: factors that decide colours of matt bodies alone: rays are followed once for each combination of the
            others.
    """

    name: str
    factors: FactorSpace
    scenes: Callable[[Classes], Batch]
    key: str = ""
    paint: tuple[str, ...] = ()

    image_shape = (64, 64, 3)

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One uint8 image for each row of classes; `rng` is not used."""
        checked = self.factors.check(classes, self.name)
        images = np.empty((len(checked), *self.image_shape), dtype=np.uint8)
        for start in range(0, len(checked), _BATCH):
            self._draw(checked[start : start + _BATCH], images[start : start + _BATCH])
        return images

    def _draw(self, classes: Classes, out: Images) -> None:
        if not self.paint:
            render(self.scenes(classes), *self.image_shape[:2], out=out)
            return
        from unknot.worlds.raytracer.painting import paint

        columns = self._arranging
        index = np.ravel_multi_index(tuple(classes[:, columns].T), tuple(self.factors.sizes[columns]))
        paint(_lit(self), index, self.scenes(classes), out)

    @property
    def _arranging(self) -> list[int]:
        """The columns of factors that are not paint."""
        return [j for j, name in enumerate(self.factors.names) if name not in self.paint]


@cache
def _lit(world: TracedWorld) -> "Lit":
    """The light of all arrangements of a world."""
    from unknot.worlds.raytracer.painting import lit

    columns = world._arranging
    sizes = tuple(world.factors.sizes[columns])
    classes = np.zeros((int(np.prod(sizes)), len(world.factors.names)), dtype=np.int64)
    classes[:, columns] = np.indices(sizes).reshape(len(sizes), -1).T
    return lit(world.scenes(classes), *world.image_shape[:2])
