"""What is made of slots when images are encoded: the best of several starts, and one slot of those that repeat it."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unknot.models._slot_grouping import Grouping

SETTLING = 2  # iterations in which slots take over what another one has left


def best_start(candidates: Sequence[Tensor], decoder: nn.Module, aim: Tensor) -> Tensor:
    """Of several sets of slots (n, k, d), for each image the one that draws it best.

    Args:
        candidates: where attention ended from different starts.
        decoder: slots and a size to pictures and mask logits.
        aim: (n, c, h, h), what slots shall draw together.
    """
    errors = []
    for slots in candidates:
        pictures, logits = decoder(slots, aim.shape[-1])
        errors.append(((pictures * logits.softmax(1)[:, :, None]).sum(1) - aim).pow(2).mean((1, 2, 3)))
    best = torch.stack(errors).argmin(0)
    return torch.stack(list(candidates))[best, torch.arange(len(aim), device=best.device)]


def merged(grouping: Grouping, inputs: Tensor, slots: Tensor, threshold: float) -> Tensor:
    """Slots (n, k, d) of which those that repeat an earlier one are copies of it.

    They are left out, and the others settle in two more iterations of attention, so that one slot takes the inputs of
    an object that two had shared. Then each one left out becomes a copy of the slot that was nearest to it.

    Args:
        grouping: refines slots.
        inputs: (n, t, w), what attention groups.
        slots: after the usual iterations.
        threshold: half the chord between unit slots, the sine of half their angle, below which they repeat each other.
    """
    unit = nn.functional.normalize(slots, dim=2)
    chords = torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist") / 2
    repeated = (chords < threshold).triu(1).any(1)
    keys, values = grouping.projected(inputs)
    for _ in range(SETTLING):
        slots = grouping.step(keys, values, slots, ~repeated)
    heirs = chords.masked_fill(repeated[:, None], math.inf).argmin(2)
    own = torch.arange(slots.shape[1], device=slots.device).expand_as(heirs)
    return slots.take_along_dim(torch.where(repeated, heirs, own)[:, :, None], 1)


def copies(slots: Tensor) -> Tensor:
    """Which slots (n, k) are equal to an earlier slot of the same image, number by number.

    >>> copies(torch.tensor([[[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]])).tolist()
    [[False, False, True]]
    """
    same = (slots[:, :, None] == slots[:, None]).all(-1)
    return same.triu(1).any(1)
