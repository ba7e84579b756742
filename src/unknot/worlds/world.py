"""What every world offers: images whose factors of variation are known."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace

Images = NDArray[np.uint8]  # (n, height, width, channels)


@runtime_checkable
class World(Protocol):
    """Observations by factor classes. Anyone's object with these members is a world.

    A world from a file memory-maps it, a procedural one renders; both give the same shapes and order.
    """

    @property
    def name(self) -> str:
        """What results call it; a rendered stand-in says so, as in "dSprites (rendered)"."""

    @property
    def factors(self) -> FactorSpace:
        """The factors of variation and their grid."""

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""

    @property
    def rows(self) -> Classes | None:
        """The classes of every image there is, in file order; None when the grid is complete."""

    @property
    def stochastic(self) -> bool:
        """Whether images have randomness beyond their factors, so that `images` needs an `rng`."""

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One uint8 image for each row of classes."""


def needs_rng(world: str, rng: np.random.Generator | None) -> np.random.Generator:
    """The generator a stochastic world draws from, or the error that asks for one."""
    if rng is None:
        raise UnknotError(
            f"{world}: images have random parts besides their factors; pass rng=np.random.default_rng(seed)."
        )
    return rng


def sample(world: World, n: int, rng: np.random.Generator) -> Classes:
    """Classes of n images drawn with replacement: from the grid, or from the rows of an incomplete world."""
    if world.rows is None:
        return world.factors.sample(n, rng)
    return world.rows[rng.integers(0, len(world.rows), size=n)]
