"""Small scenes of objects that need no folder: each is drawn when it is first asked for, and kept in memory."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.factors import numbered
from unknot.worlds.scenes.scenes_rendered import ScenesRendered
from unknot.worlds.world import Images, WorldDefaults

DRAWN = ScenesRendered(n=5_000, size=64)


class SmallScenes(WorldDefaults):
    """5,000 scenes of 64 pixels, as `unknot data scenes --n 5000 --size 64` writes them: 13 s of a core for all.

    The world of a run of slots that must open anywhere, such as that of the zoo. Who wants more scenes, or others,
    writes a folder.

    >>> world = SmallScenes()
    >>> world.images([[7], [7]]).shape, int(world.masks([[7]]).max())
    ((2, 64, 64, 3), 6)
    """

    key = "scenes64_rendered"
    name = "scenes, IID, 64 pixels (rendered)"
    factors = numbered(DRAWN.n)
    image_shape = DRAWN.image_shape

    def __init__(self) -> None:
        self._kept: dict[int, Images] = {}

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One uint8 image for each row of classes; `rng` is not used."""
        numbers = self.factors.check(classes, self.name)[:, 0].tolist()
        new = sorted(set(numbers) - self._kept.keys())
        if new:
            self._kept.update(zip(new, DRAWN.images(np.array(new)[:, None]), strict=True))
        found = [self._kept[i] for i in numbers]
        return np.array(found, dtype=np.uint8).reshape(-1, *self.image_shape)

    def masks(self, classes: ArrayLike) -> NDArray[np.uint8]:
        """Which object each pixel sees, uint8 (n, h, w), for each row of classes: 0 for the floor."""
        return DRAWN.masks(self.factors.check(classes, self.name))
