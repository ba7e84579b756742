"""Batches for training: images of a world, inside a split, with what a model's supervision asks for.

A batch is a function of (seed, step) alone, so a resumed run sees what an uninterrupted one would have.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unknot.errors import UnknotError, unknown
from unknot.factors import Classes, FactorSpace
from unknot.models.model import Batch, Supervision
from unknot.worlds.pairs import Pairs, k_factors, laplace, one_factor
from unknot.worlds.splits.regions import Listed, Region, whole
from unknot.worlds.splits.split import Split
from unknot.worlds.world import Images, World

PAIRS: dict[str, Callable[..., Pairs]] = {"one_factor": one_factor, "k_factors": k_factors, "laplace": laplace}


@dataclass(frozen=True)
class Feed:
    """What a run is fed with: the batch of any step.

    Attributes:
        world: where images come from.
        split: train on its training part only.
        batch_size: images, or pairs, in a batch.
        seed: decides every batch.
        supervision: what the model sees besides images.
        pairs: the law of pairs, see `pair_law`.
        still: the factors that Laplace pairs leave alone, unless the law itself says; None: the categorical ones.
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
    still: tuple[str, ...] | None = None
    n_labelled: int = 0
    wants_other: bool = False
    image_size: int | None = None

    def __post_init__(self) -> None:
        if self.supervision == "pairs":
            self.draw_pairs  # noqa: B018 -- an unknown law is an error now, not at the first step
        if self.supervision == "few_labels" and self.n_labelled < 1:
            raise UnknotError(
                f"batches: n_labelled is {self.n_labelled}; expected at least one labelled image.",
                field="n_labelled",
            )
        if self.supervision != "none" and self.world.factors.names == ("image",):
            raise UnknotError(
                f"{self.world.name}: has no factors, and this model learns from {self.supervision}; choose a world "
                "with factors, or an unsupervised model."
            )

    @cached_property
    def _points(self) -> FactorSpace | Split | Listed:
        """The points of the world that training draws from, as samplers of pairs take them."""
        if self.world.rows is None:
            return self.split or self.world.factors
        rows = self.world.rows if self.split is None else self.world.rows[self.split.rows(self.world.rows)]
        return Listed(self.world.factors, rows)

    @cached_property
    def region(self) -> Region:
        """The part of the world that training images are drawn from."""
        points = self._points
        if isinstance(points, FactorSpace):
            return whole(points)
        return points.train_region if isinstance(points, Split) else points

    def batch(self, step: int) -> Batch:
        """The images of a step, and what the model asked for besides."""
        rng = np.random.default_rng([self.seed, step])
        if self.supervision == "pairs":
            first, second, _ = self.draw_pairs(self._points, self.batch_size, rng)
            return Batch(images=self.tensor(first, rng), pair=self.tensor(second, rng))
        classes = self.region.sample(self.batch_size, rng)
        images = self.tensor(classes, rng)
        extra: dict[str, Tensor] = {}
        if self.wants_other:
            extra["other"] = self.tensor(self.region.sample(self.batch_size, rng), rng)
        if self.supervision == "labels":
            extra["labels"] = torch.from_numpy(classes)
        if self.supervision == "few_labels":
            chosen = self.labelled[rng.integers(0, self.n_labelled, size=self.batch_size)]
            extra |= {"labelled": self.tensor(chosen, rng), "labelled_labels": torch.from_numpy(chosen)}
        return Batch(images=images, **extra)

    @cached_property
    def draw_pairs(self) -> Callable[..., Pairs]:
        """The sampler of pairs that the law names."""
        return pair_law(self.pairs, still=self.still)

    @cached_property
    def labelled(self) -> Classes:
        """The small labelled subset, drawn with replacement: the same for all steps of a seed."""
        return self.region.sample(self.n_labelled, np.random.default_rng([self.seed, 2**31]))

    def tensor(self, classes: Classes, rng: np.random.Generator) -> Tensor:
        """The images of factor classes, as the model sees them."""
        return as_tensor(self.world.images(classes, rng=rng), self.image_size)


def pair_law(text: str, *, still: tuple[str, ...] | None = None) -> Callable[..., Pairs]:
    """The sampler that a law of pairs names, called as `sampler(points, n, rng)`.

    A law is `one_factor`, `k_factors` or `laplace`, with options of that function in brackets if need be:
    `k_factors[k=2]`, `one_factor[compat=locatello]`, `laplace[rate=5]`, `laplace[rate=1..10]` (another for each pair),
    `laplace[still=shape+size]`.

    Args:
        text: the law.
        still: factors that Laplace pairs leave alone where the law does not say.

    >>> from unknot.factors import space
    >>> sampler = pair_law("k_factors[k=2]")
    >>> sampler(space({"shape": 3, "x": 32, "y": 32}), 4, np.random.default_rng(0)).changed.sum(axis=1)
    array([2, 2, 2, 2])
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text)
    name = match[1] if match else text
    if match is None or name not in PAIRS:
        raise unknown("law of pairs", name, PAIRS, field="pairs")
    parameters = inspect.signature(PAIRS[name]).parameters.values()
    known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    options: dict[str, Any] = {"still": still} if "still" in known else {}
    for item in filter(None, (match[2] or "").split(",")):
        option, _, value = (word.strip() for word in item.partition("="))
        if option not in known:
            raise unknown(f"option of {name}", option, known, field="pairs")
        try:
            options[option] = _READERS[option](value)
        except (ValueError, KeyError):
            raise UnknotError(
                f"law of pairs '{text}': {option} cannot be '{value}'; expected something like k_factors[k=2], "
                "one_factor[compat=locatello], laplace[rate=1..10], laplace[still=shape+size] or laplace[forced=true].",
                field="pairs",
            ) from None
    return partial(PAIRS[name], **options)


def _rate(text: str) -> float | tuple[float, float]:
    low, dots, high = text.partition("..")
    return (float(low), float(high)) if dots else float(low)


_READERS: dict[str, Callable[[str], Any]] = {
    "k": int,
    "compat": str,
    "rate": _rate,
    "still": lambda text: tuple(text.split("+")) if text else (),
    "forced": lambda text: {"true": True, "false": False}[text.lower()],
}


def as_tensor(images: Images, image_size: int | None = None) -> Tensor:
    """Images (b, h, w, c) of uint8 as float32 (b, c, h, w) in [0, 1], laid out channels last in memory."""
    tensor = torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255)
    if image_size is not None and tensor.shape[-1] != image_size:
        size = (image_size, image_size)
        tensor = torch.nn.functional.interpolate(
            tensor, size, mode="bilinear", antialias=True, align_corners=False
        )
    return tensor
