"""Worlds that know their objects: which pixel shows which, and what each of them is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.pictures import Pictures

Thing = Mapping[str, Any]  # property -> a word, a number, or several numbers


@runtime_checkable
class MaskedWorld(Protocol):
    """A world with the true masks of its objects."""

    def masks(self, classes: ArrayLike) -> NDArray[np.uint8]:
        """Which object each pixel shows, uint8 (n, h, w), for each row of classes: 0 for the ground."""


class ObjectsWorld(ArrayWorld):
    """Pictures told apart by number alone, with masks and objects, whatever files they come from.

    Args:
        pictures: (n, h, w, c).
        masks: (n, h, w), 0 for the ground.
        things: number of a picture -> its objects; in each, "mask" is its number in the mask.
        name: its title.
    """

    def __init__(
        self, pictures: Pictures, masks: Pictures, things: Callable[[int], Sequence[Thing]], name: str
    ) -> None:
        super().__init__(pictures, name=name)
        self._masks, self._things = masks, things

    def masks(self, classes: ArrayLike) -> NDArray[np.uint8]:
        """Which object each pixel shows, uint8 (n, h, w), for each row of classes: 0 for the ground."""
        return np.asarray(self._masks[self.factors.check(classes, self.name)[:, 0]])

    def objects(self, i: int) -> list[dict[str, Any]]:
        """What is said of each object of picture i; "mask" is its number in the mask."""
        return [dict(thing) for thing in self._things(i)]
