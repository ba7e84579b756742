"""Slots to spare: worked by hand on pictures of two pixels, and what a model makes of them."""

import pytest
import torch
from torch import nn

from unknot.models._slot_grouping import Grouping
from unknot.models._slot_spare import Scene, copies, drawn_error, without_spare
from unknot.models.model import Setting
from unknot.models.slot_attention import SlotAttention

FAR = 20.0  # a logit that decides
LEFT, RIGHT = (1.0, FAR, 0.0), (-1.0, 0.0, FAR)  # colour, logits of the two columns


class Columns(nn.Module):
    """A slot is a colour and the logits of two columns."""

    def forward(self, slots, size):
        rows = slots[:, :, None, 1:].expand(-1, -1, 2, -1)
        return slots[:, :, :1, None, None].expand(-1, -1, 1, 2, 2), rows


class Still(Grouping):
    """Attention that has arrived, and says what it was asked for."""

    def __init__(self):
        super().__init__(1, 3, 1)
        self.asked = []

    def step(self, keys, values, slots, kept=None):
        self.asked += kept.sum(1).tolist()
        return slots


def scene(n=1):
    aim = torch.tensor([1.0, -1.0]).expand(n, 1, 2, 2)
    return Scene(torch.zeros(n, 1, 3), torch.zeros(n, 1, 3), aim)


def test_a_slot_that_says_nothing_new_becomes_a_copy_of_the_one_that_draws_its_pixels():
    paler = (0.9, FAR, 0.0)  # the left half again: without it, the left is drawn better
    slots = torch.tensor([[RIGHT, paler, LEFT]])
    error, masks = drawn_error(Columns(), slots, torch.ones(1, 3, dtype=torch.bool), scene().aim)
    assert error.item() == pytest.approx(0.05**2 / 2)  # the left half is the mean of 0.9 and 1
    assert masks[0, :, 0, 0].tolist() == pytest.approx([0, 0.5, 0.5], abs=1e-6)
    found = without_spare(Still(), Columns(), scene(), slots, 0.01)
    torch.testing.assert_close(found, torch.tensor([[RIGHT, LEFT, LEFT]]))
    assert torch.equal(without_spare(Still(), Columns(), scene(), found, 0.01), found)


def test_a_slot_that_saves_its_cost_stays():
    slots = torch.tensor([[RIGHT, LEFT]])
    # without one of the two, its half is drawn in the other's colour: 2^2 / 2 = 2
    assert torch.equal(without_spare(Still(), Columns(), scene(), slots, 1.99), slots)
    (alone,) = without_spare(Still(), Columns(), scene(), slots, 2.01)
    assert torch.equal(alone[0], alone[1])


def test_every_image_is_judged_by_itself_and_only_slots_that_are_left_are_tried():
    slots = torch.tensor([[RIGHT, LEFT, LEFT, RIGHT], [RIGHT, LEFT, (0.0, FAR, 0.0), LEFT]])
    still = Still()
    both = without_spare(still, Columns(), scene(2), slots, 0.01)
    assert both[:, :, 0].tolist() == [[-1, 1, 1, -1], [-1, 1, 1, 1]]
    # until none is spare: each slot that is left, two iterations; both images have 4, 3, then 2 slots
    assert [still.asked.count(left) for left in (3, 2, 1)] == [2 * 2 * 4, 2 * 2 * 3, 2 * 2 * 2]
    for i in range(2):
        torch.testing.assert_close(without_spare(Still(), Columns(), scene(), slots[i : i + 1], 0.01)[0], both[i])


def test_slots_that_are_left_out_win_no_input_and_change_no_other():
    torch.manual_seed(0)
    grouping, inputs, slots = Grouping(6, 4, hidden=8), torch.randn(2, 5, 6), torch.randn(2, 3, 4)
    keys, values = grouping.projected(inputs)
    kept = torch.tensor([[True, False, True]]).expand(2, 3)
    found = grouping.step(keys, values, slots, kept)
    torch.testing.assert_close(
        found[:, [0, 2]], grouping.step(keys, values, slots[:, [0, 2]]), atol=1e-6, rtol=1e-5
    )


def model(**options):
    torch.manual_seed(0)
    own = {"slots": 4, "slot_size": 8, "channels": 8, "stride": 2, "slot_decoder": "mlp", "target": 16}
    return SlotAttention(Setting(channels=3, pixels=32), **own | options).eval()


@torch.no_grad()
def test_a_model_with_a_dear_slot_keeps_one_and_its_copies_draw_nothing():
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    plain, dear = model(), model(slot_cost=9.0)
    slots = dear.represent(images)
    assert slots.shape == plain.represent(images).shape and copies(slots).sum(1).tolist() == [3, 3, 3]
    masks = dear.masks(images)
    assert masks[:, 0].eq(1).all() and masks[:, 1:].eq(0).all()
    torch.testing.assert_close(dear.decode(slots), dear.slots_decoded(slots[:, :1]).pictures[:, 0])
    torch.testing.assert_close(dear.represent(images[1:2]), slots[1:2], atol=1e-5, rtol=1e-4)
    dear.slot_cost = 0.0
    assert torch.equal(dear.represent(images), plain.represent(images))
