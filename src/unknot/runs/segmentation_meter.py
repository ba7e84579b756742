"""How well the masks of a model fit the true objects, measured while it trains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from unknot.models.model import Model
from unknot.runs.batches import Feed
from unknot.runs.curve import Row

SEGMENTED = 128  # images it is measured on
AT_ONCE = 32


def has_masks(world: object) -> bool:
    """Whether a world knows its true objects: `masks(classes)`, (n, h, w) ids with 0 for the ground."""
    return callable(getattr(world, "masks", None))


@dataclass(frozen=True)
class SegmentationMeter:
    """FG-ARI and ARI of a model's masks, on n images that depend on the seed alone."""

    feed: Feed
    every: int
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


def true_segments(feed: Feed, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, h, w) ids of the objects that own each pixel, as large as the images that the model sees."""
    ids = np.asarray(cast(Any, feed.world).masks(classes)).astype(np.int64)
    if feed.image_size is None or ids.shape[-1] == feed.image_size:
        return ids
    places = [((np.arange(feed.image_size) + 0.5) * side / feed.image_size).astype(int) for side in ids.shape[1:]]
    return ids[:, places[0][:, None], places[1][None]]  # the nearest pixel: ids cannot be averaged
