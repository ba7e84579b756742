"""What is measured of a model while it trains: a meter gives a row of numbers every so many steps.

Meters draw no random numbers and leave the weights alone, so a run is the same with them and without. The KL of each
latent and the fit of masks are always measured, where a model has them; others are handed to `train`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from unknot.factors import Classes
from unknot.models.codes import represent
from unknot.models.model import Model
from unknot.models.terms import kl_per_latent
from unknot.runs.batches import Feed
from unknot.runs.curve import Row
from unknot.worlds.scenes.objects_world import MaskedWorld

MEASURE_EVERY = 1000  # steps between two measurements of the KL of each latent, or of masks
KL_IMAGES = 1024  # images the KL is measured on
SEGMENTED = 128  # images masks are measured on
AT_ONCE = 32


class Meter(Protocol):
    """Measures a model while it trains."""

    @property
    def name(self) -> str:
        """The name of the table of its rows, and of that table's file in the run's folder."""

    @property
    def every(self) -> int:
        """Steps between two rows; there is one after the last step too."""

    @property
    def identity(self) -> str:
        """What tells its corpus from others, since a table is of one alone; empty for the run's own world."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What is noted of the corpus with the run, in plain values."""

    def row(self, model: Model, device: torch.device) -> Row:
        """The numbers of a model in evaluation mode; none where there is nothing to measure."""


@dataclass(frozen=True)
class KLMeter:
    """KL of each latent, on images that depend on the seed alone."""

    feed: Feed
    every: int = MEASURE_EVERY
    name: str = "kl"
    identity: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def row(self, model: Model, device: torch.device) -> Row:
        """The KL of `latent_0`, `latent_1`, ...; nothing for a model without log-variances."""
        rng = np.random.default_rng([self.feed.seed, 2**32])
        images = self.feed.tensor(self.feed.region.sample(KL_IMAGES, rng), rng)
        q = represent(model, images.to(device))
        if q.logvar is None:
            return {}
        return {f"latent_{i}": value for i, value in enumerate(kl_per_latent(q).tolist())}


def has_masks(world: object) -> bool:
    """Whether a world knows its true objects: `masks(classes)`, (n, h, w) ids with 0 for the ground."""
    return isinstance(world, MaskedWorld)


@dataclass(frozen=True)
class SegmentationMeter:
    """FG-ARI and ARI of a model's masks, on n images that depend on the seed alone."""

    feed: Feed
    every: int = MEASURE_EVERY
    n: int = SEGMENTED
    name: str = "segmentation"
    identity: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    @torch.no_grad()
    def row(self, model: Model, device: torch.device) -> Row:
        """`fg_ari` and `ari` of a model in evaluation mode; nothing if it or the world has no masks."""
        if not has_masks(self.feed.world) or not model.masks_objects:
            return {}
        from unknot.metrics.segmentation import ari, fg_ari

        rng = np.random.default_rng([self.feed.seed, 2**34])
        classes = self.feed.region.sample(self.n, rng)
        images, true = self.feed.tensor(classes, rng), true_segments(self.feed, classes)
        parts = [images[start : start + AT_ONCE].to(device) for start in range(0, self.n, AT_ONCE)]
        masks = np.concatenate([model.masks(part).argmax(1).cpu().numpy() for part in parts])
        return {"fg_ari": fg_ari(true, masks).value, "ari": ari(true, masks).value}


def true_segments(feed: Feed, classes: Classes) -> NDArray[np.int64]:
    """(n, h, w) ids of the objects that own each pixel, as large as the images that the model sees."""
    ids = np.asarray(cast(Any, feed.world).masks(classes)).astype(np.int64)
    if feed.image_size is None or ids.shape[-1] == feed.image_size:
        return ids
    places = [((np.arange(feed.image_size) + 0.5) * side / feed.image_size).astype(int) for side in ids.shape[1:]]
    return ids[:, places[0][:, None], places[1][None]]  # the nearest pixel: ids cannot be averaged


def usual_meters(model: Model, feed: Feed) -> list[Meter]:
    """What is measured of every run: how well masks fit the true objects, or the KL of each latent."""
    return [SegmentationMeter(feed, MEASURE_EVERY) if model.masks_objects else KLMeter(feed, MEASURE_EVERY)]
