"""Abstract-dSprites: coloured sprites on grey, the world of the abstract reasoning puzzles."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace
from unknot.worlds.entry import Conventions
from unknot.worlds.published import dsprites
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.world import Images, World, WorldDefaults, as_world, needs_rng

GREYS = (0.0, 0.25, 0.5, 0.75, 1.0)
COLORS = (
    # HUSL with saturation and lightness 69.3 and hues 359 ((k / 6 + 0.1) mod 1) degrees, as RGB.
    (0.9096, 0.5883, 0.3658),
    (0.6350, 0.6928, 0.3627),
    (0.3765, 0.7284, 0.5963),
    (0.3955, 0.7074, 0.7875),
    (0.6964, 0.6221, 0.8997),
    (0.9082, 0.5511, 0.7494),
)
_BACKGROUND = Factor("background", 5, "ordinal", GREYS)
_OBJECT_COLOR = Factor("object_color", 6, "circular", ("orange", "olive", "green", "blue", "purple", "pink"))
CONVENTIONS = Conventions(puzzle_classes={"scale": 3, "x": 4, "y": 4})


def _painted(sprites: FactorSpace) -> FactorSpace:
    """Background, object colour, and the factors of the sprites without orientation."""
    return FactorSpace((_BACKGROUND, _OBJECT_COLOR, *(f for f in sprites if f.name != "orientation")))


SPACE = _painted(dsprites.SPACE)


@dataclass(frozen=True)
class AbstractDSprites(WorldDefaults):
    """Sprites of six colours on five greys: image = mask * colour + (1 - mask) * grey, 64 x 64 x 3.

    Factors are background 5, object colour 6, shape 3, scale 6, x 32 and y 32. Orientation is no factor: every
    image has one of the 40 at random, so equal factors do not mean equal images.

    Args:
        world: where the sprites come from, dSprites from its file or rendered.

    Reference: van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual
    Reasoning?, arXiv:1905.12506.

    >>> world = AbstractDSprites()
    >>> world.name, world.factors.shape
    ('Abstract-dSprites (rendered)', (5, 6, 3, 6, 32, 32))
    """

    world: World = field(default_factory=DSpritesRendered)

    stochastic = True

    def __post_init__(self) -> None:
        if "orientation" not in self.world.factors.names or self.world.rows is not None:
            raise UnknotError(
                f"Abstract-dSprites: '{self.world.name}' cannot be painted; expected the complete grid of a world "
                "of sprites with a factor 'orientation', such as dSprites."
            )
        if self.world.image_shape[2] != 1:
            raise UnknotError(
                f"Abstract-dSprites: '{self.world.name}' has {self.world.image_shape[2]} channels; expected white "
                "sprites on black, one channel."
            )

    @property
    def key(self) -> str:
        """Its name in the catalogue, if the sprites are those of a world that is there."""
        keys = {"dsprites": "abstract_dsprites", "dsprites_rendered": "abstract_dsprites_rendered"}
        return keys.get(as_world(self.world).key, "")

    @property
    def name(self) -> str:
        """Its title."""
        return f"Abstract-{self.world.name}"

    @cached_property
    def factors(self) -> FactorSpace:
        """Background, object colour, and those of the sprites without orientation."""
        return _painted(self.world.factors)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, _ = self.world.image_shape
        return (height, width, 3)

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One image for each row of classes, each with its own random orientation."""
        checked = self.factors.check(classes, self.name)
        generator = needs_rng(self.name, rng)
        orientation = self.world.factors.position("orientation")
        turns = generator.integers(0, self.world.factors.shape[orientation], size=len(checked))
        # The world's own columns follow background and object colour, with orientation put back in its place.
        sprites = np.insert(checked[:, 2:], orientation, turns, axis=1)
        masks = self.world.images(sprites, rng=generator) > 0
        object_, grey = _bytes(COLORS)[checked[:, 1]], _bytes(GREYS)[checked[:, 0]]
        images: Images = np.where(masks, object_[:, None, None, :], grey[:, None, None, None])
        return images


def _bytes(values: ArrayLike) -> NDArray[np.uint8]:
    return np.rint(np.asarray(values, dtype=np.float64) * 255).astype(np.uint8)
