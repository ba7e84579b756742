"""What is measured of a model while it trains: a meter gives a row of numbers every so many steps.

Meters draw no random numbers and leave the weights alone, so a run is the same with them and without. The KL of each
latent and the fit of masks are always measured, where a model has them; others are handed to `train`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from unknot.models.codes import represent
from unknot.models.model import Model
from unknot.models.terms import kl_per_latent
from unknot.runs.batches import Feed
from unknot.runs.curve import Row
from unknot.runs.segmentation_meter import SegmentationMeter

MEASURE_EVERY = 1000  # steps between two measurements of the KL of each latent, or of masks
KL_IMAGES = 1024  # images it is measured on


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


def usual_meters(model: Model, feed: Feed) -> list[Meter]:
    """What is measured of every run: how well masks fit the true objects, or the KL of each latent."""
    if model.masks_objects:
        return [SegmentationMeter(feed, MEASURE_EVERY)]
    return [KLMeter(feed, MEASURE_EVERY)]
