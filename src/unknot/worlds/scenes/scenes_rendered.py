"""Scenes of objects drawn when asked for: a world that needs no folder."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import FactorSpace, numbered
from unknot.worlds.scenes.placement import SETTINGS, sample_scenes
from unknot.worlds.scenes.render import Size, render, scene_masks, window
from unknot.worlds.scenes.scene import Scene, check_background
from unknot.worlds.world import Images, WorldDefaults

KEYS = {"iid": "scenes_rendered", "corr": "scenes_corr_rendered"}
TITLES = {"iid": "scenes, IID (rendered)", "corr": "scenes, CORR (rendered)", "clevr": "CLEVR (rendered)"}


@dataclass(frozen=True)
class ScenesRendered(WorldDefaults):
    """Scenes told apart by number alone: number i is the same for the same seed, here and in a written folder.

    Finding a scene takes about a third of the time of drawing it; who needs an image more than once writes them to a
    folder, with `write_scenes` or `unknot data scenes`.

    Args:
        setting: "iid" (COAT's training set), "corr" (one colour, one material, close together) or "clevr".
        n: how many; COAT trains on 23,000.
        size: side of square images, or (height, width).
        seed: decides all of them.
        background: one of `FLOORS` for every scene, which is the same as without but for its floor; left out, floors
            are drawn as published.

    >>> world = ScenesRendered(n=2, size=32)
    >>> world.images([[1]]).shape, len(world.scene(1).objects) == int(world.masks([[1]]).max())
    ((1, 32, 32, 3), True)
    """

    setting: str = "iid"
    n: int = 23_000
    size: Size = 128
    seed: int = 0
    background: str = ""

    def __post_init__(self) -> None:
        if self.setting not in TITLES:
            raise unknown("setting", self.setting, TITLES)
        if self.n < 1 or self.seed < 0:
            raise UnknotError(f"scenes: n {self.n}, seed {self.seed}; expected n from 1 and a seed from 0.")
        check_background(self.background)
        window(self.size)

    @property
    def key(self) -> str:
        """Its name in the catalogue, where number, size and seed are the usual ones."""
        return KEYS.get(self.setting, "") if self == ScenesRendered(self.setting) else ""

    @property
    def name(self) -> str:
        """Its title."""
        return TITLES[self.setting]

    @property
    def factors(self) -> FactorSpace:
        """The image's number."""
        return numbered(self.n)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, _ = window(self.size)
        return height, width, 3

    def scene(self, i: int) -> Scene:
        """Scene i."""
        scene = sample_scenes(1, SETTINGS[self.setting], np.random.default_rng([self.seed, i]), batch=4)[0]
        return replace(scene, background=self.background) if self.background else scene

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One uint8 image for each row of classes; `rng` is not used."""
        return render(self._scenes(classes), self.size)

    def masks(self, classes: ArrayLike) -> NDArray[np.uint8]:
        """Which object each pixel sees, uint8 (n, h, w), for each row of classes: 0 for the floor."""
        return scene_masks(self._scenes(classes), self.size)

    def _scenes(self, classes: ArrayLike) -> list[Scene]:
        return [self.scene(int(i)) for i in self.factors.check(classes, self.name)[:, 0]]
