"""A complete world whose images are ray traced from one scene for each point of its grid."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace
from unknot.worlds.raytracer.tracer import Batch, render
from unknot.worlds.world import Images, WorldDefaults

if TYPE_CHECKING:
    from unknot.worlds.raytracer.painting import Lit

_BATCH = 256  # scenes packed at a time, so that memory stays flat
_room = 0  # images of a world that are kept


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
            draw = _drawn(self, _room).copy_to if _room else self._draw
            draw(checked[start : start + _BATCH], images[start : start + _BATCH])
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


def keep_images(gigabytes: float) -> None:
    """From now on, keep what this process draws of each traced world, so that many runs on one draw an image once.

    An image is the same from memory. Where there is no room for more, all that is kept of the world is forgotten.

    Args:
        gigabytes: of each world, taken as images come; 0 to keep none.
    """
    global _room
    if not 0 <= gigabytes < math.inf:
        raise UnknotError(who="keep_images", field="gigabytes", value=gigabytes, expected="at least 0")
    room = max(_BATCH, int(gigabytes * 2**30) // math.prod(TracedWorld.image_shape)) if gigabytes else 0
    if room != _room:
        _drawn.cache_clear()
    _room = room


class _Drawn:
    """Images of a world that were drawn already, `room` at most; threads may share them."""

    def __init__(self, world: TracedWorld, room: int) -> None:
        self._world, self._lock = world, Lock()
        self._places = np.full(world.factors.size, -1, dtype=np.int64)  # where the image of a point is
        self._images = np.empty((min(room, world.factors.size), *world.image_shape), dtype=np.uint8)
        self._n = 0

    def copy_to(self, classes: Classes, out: Images) -> None:
        points = self._world.factors.indices(classes)
        with self._lock:
            new = np.unique(points[self._places[points] < 0])
            if self._n + len(new) > len(self._images):
                self._places[:], self._n = -1, 0
                new = np.unique(points)
            end = self._n + len(new)
            self._world._draw(self._world.factors.classes(new), self._images[self._n : end])
            self._places[new], self._n = np.arange(self._n, end), end
            np.take(self._images, self._places[points], axis=0, out=out)


@cache
def _drawn(world: TracedWorld, room: int) -> _Drawn:
    """What is kept of a world."""
    return _Drawn(world, room)


@cache
def _lit(world: TracedWorld) -> "Lit":
    """The light of all arrangements of a world."""
    from unknot.worlds.raytracer.painting import lit

    columns = world._arranging
    sizes = tuple(world.factors.sizes[columns])
    classes = np.zeros((int(np.prod(sizes)), len(world.factors.names)), dtype=np.int64)
    classes[:, columns] = np.indices(sizes).reshape(len(sizes), -1).T
    return lit(world.scenes(classes), *world.image_shape[:2])
