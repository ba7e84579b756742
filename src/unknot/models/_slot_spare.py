"""Slots to spare: which slots an image can do without, told by how much worse it is drawn without them."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unknot.models._slot_grouping import Grouping

SETTLING = 2  # iterations in which slots take over what another one has left


class Scene(NamedTuple):
    """What slots are held against.

    Attributes:
        keys: (n, t, d) of the inputs of attention.
        values: the same of their values.
        aim: (n, c, h, w), what slots shall draw together.
    """

    keys: Tensor
    values: Tensor
    aim: Tensor

    def of(self, rows: Tensor) -> "Scene":
        """Some of its images."""
        return Scene(*(part[rows] for part in self))


def without_spare(grouping: Grouping, decoder: nn.Module, scene: Scene, slots: Tensor, cost: float) -> Tensor:
    """Slots (n, k, d) of which those to spare are copies of the slots that took over their places.

    One slot after another is left out: the one without which the others, after two more iterations of attention, draw
    the image best. It is to spare if their mean squared error grows by less than `cost`; at the first that is not, the
    image has the slots it needs. Every slot that stays pays for itself, as in a shortest description (Rissanen 1978).

    Args:
        grouping: refines slots.
        decoder: draws them.
        scene: of the images.
        slots: after the usual iterations.
        cost: of a slot, as a mean squared error.
    """
    slots, (n, k, _) = slots.clone(), slots.shape
    kept = torch.ones(n, k, dtype=torch.bool, device=slots.device)
    error, first = drawn_error(decoder, slots, kept, scene.aim)
    rows = torch.arange(n, device=slots.device)  # images that may have slots to spare
    for _ in range(k - 1):
        settled, left, errors = _without_each(grouping, decoder, scene.of(rows), slots[rows], kept[rows])
        best = errors.argmin(1)
        every = torch.arange(len(rows), device=slots.device)
        spare = errors[every, best] < error[rows] + cost
        rows, every, best = rows[spare], every[spare], best[spare]
        if not len(rows):
            break
        slots[rows], kept[rows], error[rows] = settled[every, best], left[every, best], errors[every, best]
    _, last = drawn_error(decoder, slots, kept, scene.aim)
    # a slot to spare becomes the one that draws most of what it drew at first
    heirs = torch.einsum("njhw,nkhw->njk", first, last).masked_fill(~kept[:, None], -math.inf).argmax(2)
    own = torch.arange(k, device=slots.device).expand_as(heirs)
    return slots.take_along_dim(torch.where(kept, own, heirs)[:, :, None], 1)


def drawn_error(decoder: nn.Module, slots: Tensor, kept: Tensor, aim: Tensor) -> tuple[Tensor, Tensor]:
    """The mean squared error (n,) of what the slots that are kept (n, k) draw, and their masks (n, k, h, w)."""
    pictures, logits = decoder(slots, aim.shape[-1])
    masks = logits.masked_fill(~kept[:, :, None, None], -math.inf).softmax(1)
    drawn = (pictures * masks[:, :, None]).sum(1)
    return (drawn - aim).pow(2).mean((1, 2, 3)), masks


def copies(slots: Tensor) -> Tensor:
    """Which slots (n, k) are equal to an earlier slot of the same image, number by number.

    >>> copies(torch.tensor([[[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]])).tolist()
    [[False, False, True]]
    """
    same = (slots[:, :, None] == slots[:, None]).all(-1)
    return same.triu(1).any(1)


def _without_each(
    grouping: Grouping, decoder: nn.Module, scene: Scene, slots: Tensor, kept: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Slots (n, k, k, d) after the j-th was left out, which are kept then (n, k, k), and their errors (n, k).

    Errors of slots that had been left out before are infinite.
    """
    n, k, width = slots.shape
    left = kept[:, None] & ~torch.eye(k, dtype=torch.bool, device=slots.device)
    settled, errors = slots.new_empty(n, k, k, width), slots.new_full((n, k), math.inf)
    for slot in range(k):  # one at a time: the pictures of all at once may be too large
        rows = kept[:, slot].nonzero()[:, 0]
        if not len(rows):
            continue
        some, those, moved = scene.of(rows), left[rows, slot], slots[rows]
        for _ in range(SETTLING):
            moved = grouping.step(some.keys, some.values, moved, those)
        settled[rows, slot] = moved
        errors[rows, slot] = drawn_error(decoder, moved, those, some.aim)[0]
    return settled, left, errors
