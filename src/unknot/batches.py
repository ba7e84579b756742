"""Batches for training: images of a world, inside a split, with what a model's supervision asks for.

A batch is a function of (seed, step) alone, so a resumed run sees what an uninterrupted one would have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from unknot.errors import UnknotError, unknown
from unknot.factors import Classes, FactorSpace
from unknot.models.model import Batch, Supervision
from unknot.worlds.pairs import Pairs, k_factors, laplace, one_factor
from unknot.worlds.regions import Listed, Region, whole
from unknot.worlds.splits import Split
from unknot.worlds.world import Images, World

PAIRS: dict[str, Callable[..., Pairs]] = {"one_factor": one_factor, "k_factors": k_factors, "laplace": laplace}


@dataclass(frozen=True)
class Feed:
    """Draws batches.

    Attributes:
        world: where images come from.
        split: train on its training part only.
        batch_size: images, or pairs, in a batch.
        seed: decides every batch.
        supervision: what the model sees besides images.
        pairs: the law of pairs.
        n_labelled: size of the labelled subset.
        wants_other: whether to draw a second, independent batch.
        image_size: resize images to this many pixels.
    """

    world: World
    batch_size: int
    seed: int
    split: Split | None = None
    supervision: Supervision = "none"
    pairs: str = "one_factor"
    n_labelled: int = 0
    wants_other: bool = False
    image_size: int | None = None

    def __post_init__(self) -> None:
        if self.supervision == "pairs" and self.pairs not in PAIRS:
            raise unknown("law of pairs", self.pairs, PAIRS)
        if self.supervision != "none" and self.world.factors.names == ("image",):
            raise UnknotError(
                f"{self.world.name}: has no factors, and this model learns from {self.supervision}; choose a world "
                "with factors, or an unsupervised model."
            )

    @cached_property
    def _where(self) -> FactorSpace | Split | Listed:
        if self.world.rows is None:
            return self.split or self.world.factors
        rows = self.world.rows if self.split is None else self.world.rows[self.split.rows(self.world.rows)]
        return Listed(self.world.factors, rows)

    @cached_property
    def region(self) -> Region:
        """Where training images lie."""
        where = self._where
        if isinstance(where, FactorSpace):
            return whole(where)
        return where.train_region if isinstance(where, Split) else where

    def batch(self, step: int) -> Batch:
        """The batch of a step."""
        rng = np.random.default_rng([self.seed, step])
        if self.supervision == "pairs":
            first, second, _ = PAIRS[self.pairs](self._where, self.batch_size, rng)
            return Batch(images=self.tensor(first, rng), pair=self.tensor(second, rng))
        classes = self.region.sample(self.batch_size, rng)
        extra: dict[str, Tensor] = {}
        images = self.tensor(classes, rng)
        if self.wants_other:
            extra["other"] = self.tensor(self.region.sample(self.batch_size, rng), rng)
        if self.supervision == "labels":
            extra["labels"] = torch.from_numpy(classes)
        if self.supervision == "few_labels":
            chosen = self.labelled[rng.integers(0, self.n_labelled, size=self.batch_size)]
            extra |= {"labelled": self.tensor(chosen, rng), "labelled_labels": torch.from_numpy(chosen)}
        return Batch(images=images, **extra)

    @cached_property
    def labelled(self) -> Classes:
        """The small labelled subset: the same for all steps of a seed."""
        return self.region.sample(self.n_labelled, np.random.default_rng([self.seed, 2**31]))

    def tensor(self, classes: Classes, rng: np.random.Generator) -> Tensor:
        """Images of classes as the model sees them."""
        return as_tensor(self.world.images(classes, rng=rng), self.image_size)


def as_tensor(images: Images, image_size: int | None = None) -> Tensor:
    """(b, c, h, w) float32 in [0, 1] of uint8 images (b, h, w, c), laid out channels last in memory."""
    tensor = torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255)
    if image_size is not None and tensor.shape[-1] != image_size:
        size = (image_size, image_size)
        tensor = torch.nn.functional.interpolate(
            tensor, size, mode="bilinear", antialias=True, align_corners=False
        )
    return tensor
