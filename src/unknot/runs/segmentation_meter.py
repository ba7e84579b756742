"""How well the masks of a model fit the true objects, measured while it trains."""

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


@torch.no_grad()
def segmentation_row(model: Model, batches: Feed, device: torch.device, *, n: int = SEGMENTED) -> Row:
    """FG-ARI and ARI of a model's masks on images that depend on the seed alone; nothing if it or the world has none.

    The model is left in the mode it was in, and no random numbers are drawn.
    """
    if not has_masks(batches.world) or not model.masks_objects:
        return {}
    from unknot.metrics.segmentation import ari, fg_ari

    rng = np.random.default_rng([batches.seed, 2**34])
    classes = batches.region.sample(n, rng)
    images, true = batches.tensor(classes, rng), true_segments(batches, classes)
    training = model.training
    model.eval()
    try:
        parts = [images[start : start + AT_ONCE].to(device) for start in range(0, n, AT_ONCE)]
        masks = [model.masks(part).argmax(1).cpu().numpy() for part in parts]
    finally:
        model.train(training)
    found = np.concatenate(masks)
    return {"fg_ari": fg_ari(true, found).value, "ari": ari(true, found).value}


def true_segments(batches: Feed, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, h, w) ids of the objects that own each pixel, as large as the images that the model sees."""
    ids = np.asarray(cast(Any, batches.world).masks(classes)).astype(np.int64)
    if batches.image_size is None or ids.shape[-1] == batches.image_size:
        return ids
    places = [
        ((np.arange(batches.image_size) + 0.5) * side / batches.image_size).astype(int) for side in ids.shape[1:]
    ]
    return ids[:, places[0][:, None], places[1][None]]  # the nearest pixel: ids cannot be averaged
