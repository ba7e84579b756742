"""From what slots draw to one image, and what every model of objects shows of it."""

from typing import NamedTuple

from torch import Tensor


class Drawn(NamedTuple):
    """What each slot draws, and where.

    Attributes:
        pictures: (n, k, c, h, w) in [0, 1].
        masks: (n, k, h, w), sums to one over slots.
    """

    pictures: Tensor
    masks: Tensor

    def combined(self) -> Tensor:
        """The image (n, c, h, w): each slot's picture where its mask is."""
        return (self.pictures * self.masks[:, :, None]).sum(1)


def to_signed(images: Tensor) -> Tensor:
    """Images in [0, 1] as the published networks see them, in [-1, 1]."""
    return images * 2 - 1


def from_signed(images: Tensor) -> Tensor:
    """The way back, cut off at the ends."""
    return (images.clamp(-1, 1) + 1) / 2
