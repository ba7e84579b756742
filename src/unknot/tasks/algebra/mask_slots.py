"""Slots from the true masks: what a code scores that finds every object and describes each in the same simple way."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.worlds.scenes.corpus import MASKED, ROLES, Corpus

F64 = NDArray[np.float64]
SLOTS = 7  # an image shows five objects at most; with the background, one slot stays blank at least
LABELS = 9  # of a main scene: the background and up to eight objects
CHUNK = 64  # tuples


def mask_slots(corpus: Corpus) -> dict[str, F64]:
    """Role -> (n, 7, 17) slots: moments of the pixels of each object and of the background.

    One small encoder, the same for every segment: colour, brightness, place, size and shape of its pixels (see
    `moments`). Slots without an object are zeros, and so is the slot of one that is hidden altogether. Objects come in
    the order of their number, so that one object lies in different slots of A and B, which matching has to mend.
    """
    return {
        role: np.concatenate([_role_slots(corpus, role, start) for start in range(0, len(corpus), CHUNK)])
        for role in ROLES
    }


def has_masks(corpus: Corpus) -> bool:
    """Whether masks of its negatives, which a corpus does not keep, can be drawn again from its scenes."""
    from unknot.worlds.scenes.making import VARIANTS

    return corpus.info.get("variant") in VARIANTS


def _role_slots(corpus: Corpus, role: str, start: int) -> F64:
    from unknot.tasks.algebra.moments import N_MOMENTS, segment_moments

    rows = slice(start, start + CHUNK)
    images = np.ascontiguousarray(corpus.images[rows, ROLES.index(role)])
    if role in MASKED:
        masks = np.ascontiguousarray(corpus.masks[rows, MASKED.index(role)])
    else:
        masks = _masks(corpus.tuples[rows], role, images.shape[1], images.shape[2])
    moments = np.empty((len(images), LABELS, N_MOMENTS))
    segment_moments(images, masks, moments)
    # Segments that are there first, in the order of their number.
    order = np.argsort(moments[:, :, 0] == 0, axis=1, kind="stable")[:, :SLOTS, None]
    return np.take_along_axis(moments, order, axis=1)


def _masks(tuples: Sequence[Mapping[str, Any]], role: str, height: int, width: int) -> NDArray[np.uint8]:
    from unknot.worlds.scenes.render import scene_masks
    from unknot.worlds.scenes.scene import read_scene

    records = [record["scenes"][role] for record in tuples]
    scenes = [read_scene(record) for record in records]
    labels = [[i + 1 for i in record["indices"]] for record in records]
    return scene_masks(scenes, height if height == width else (height, width), labels=labels)
