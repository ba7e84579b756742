"""What every world offers: images whose factors of variation are known."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace

Images = NDArray[np.uint8]  # (n, height, width, channels)


@runtime_checkable
class KeylessWorld(Protocol):
    """Observations by factor classes: what is asked of anyone's object.

    A world from a file memory-maps it, a procedural one renders; both give the same shapes and order.
    """

    @property
    def name(self) -> str:
        """Its title; a rendered stand-in says so, as in "dSprites (rendered)"."""

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


@runtime_checkable
class World(KeylessWorld, Protocol):
    """Observations by factor classes that know which world of the catalogue they are."""

    @property
    def key(self) -> str:
        """Its name in the catalogue, by which all that was published about it is known; empty if it is not there."""


class WorldDefaults:
    """What most worlds have in common; a class of worlds says only what is special about it."""

    @property
    def key(self) -> str:
        """Empty: not in the catalogue."""
        return ""

    @property
    def rows(self) -> Classes | None:
        """None: the grid is complete."""
        return None

    @property
    def stochastic(self) -> bool:
        """False: factors decide every pixel."""
        return False


def as_world(world: KeylessWorld) -> World:
    """A world as it is; anyone's object that has no key, with an empty one.

    >>> as_world("dsprites")
    Traceback (most recent call last):
    unknot.errors.UnknotError: 'dsprites' is no world; expected an object with name, factors, image_shape, rows, \
stochastic and images.
    """
    if isinstance(world, World):
        return world
    if isinstance(world, KeylessWorld):
        return _Adopted(world)
    raise UnknotError(
        f"{world!r} is no world; expected an object with name, factors, image_shape, rows, stochastic and images."
    )


class _Adopted:
    def __init__(self, world: KeylessWorld) -> None:
        self.key, self.name, self.factors = "", world.name, world.factors
        self.image_shape, self.rows, self.stochastic = world.image_shape, world.rows, world.stochastic
        self.images = world.images


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
