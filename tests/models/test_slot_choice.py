"""Slots when images are encoded: starts and copies, worked by hand, and what a model makes of them."""

import numpy as np
import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.metrics.slots import duplicates
from unknot.models._slot_choice import SETTLING, best_start, copies, merged
from unknot.models._slot_grouping import Grouping, noise_of
from unknot.models.model import Setting
from unknot.models.slot_attention import SlotAttention

FAR = 20.0  # a logit that decides


class Columns(nn.Module):
    """A slot is a colour and the logits of two columns."""

    def forward(self, slots, size):
        rows = slots[:, :, None, 1:].expand(-1, -1, 2, -1)
        return slots[:, :, :1, None, None].expand(-1, -1, 1, 2, 2), rows


def test_the_start_that_draws_an_image_best_is_taken_for_each_image():
    left, right, pale = (1.0, FAR, 0.0), (-1.0, 0.0, FAR), (0.5, FAR, 0.0)
    first = torch.tensor([[left, right], [pale, right]])
    other = torch.tensor([[pale, right], [right, left]])
    aim = torch.tensor([1.0, -1.0]).expand(2, 1, 2, 2)
    assert torch.equal(best_start([first, other], Columns(), aim), torch.stack([first[0], other[1]]))


def grouping():
    torch.manual_seed(0)
    return Grouping(6, 2, hidden=8)


def test_slots_that_repeat_an_earlier_one_become_copies_and_the_others_settle_without_them():
    module, inputs = grouping(), torch.randn(1, 5, 6)
    slots = torch.tensor(
        [[[1.0, 0.0], [0.0, 2.0], [3.0, 0.6], [0.1, 1.0]]]
    )  # the third is 11 degrees from the first
    found = merged(module, inputs, slots, 0.15)
    alone = slots[:, :2]
    keys, values = module.projected(inputs)
    for _ in range(SETTLING):
        alone = module.step(keys, values, alone)
    torch.testing.assert_close(found[:, :2], alone, atol=1e-6, rtol=1e-5)
    assert torch.equal(found[:, 2], found[:, 0]) and torch.equal(found[:, 3], found[:, 1])
    assert copies(found).tolist() == [[False, False, True, True]]


def test_the_same_slots_repeat_others_as_in_coat():
    slots = torch.randn(200, 5, 3, generator=torch.Generator().manual_seed(0))
    for threshold in (0.15, 0.4):
        found = merged(Grouping(6, 3, hidden=8), torch.zeros(200, 1, 6), slots, threshold)
        assert np.array_equal(copies(found).numpy(), duplicates(slots.numpy(), threshold))


def test_slots_that_are_left_out_win_no_input_and_change_no_other():
    module, inputs, slots = grouping(), torch.randn(2, 5, 6), torch.randn(2, 3, 2)
    keys, values = module.projected(inputs)
    kept = torch.tensor([[True, False, True]]).expand(2, 3)
    found = module.step(keys, values, slots, kept)[:, [0, 2]]
    torch.testing.assert_close(found, module.step(keys, values, slots[:, [0, 2]]), atol=1e-6, rtol=1e-5)


def model(**options):
    torch.manual_seed(0)
    own = {"slots": 4, "slot_size": 8, "channels": 8, "stride": 2, "slot_decoder": "mlp", "target": 16}
    return SlotAttention(Setting(channels=3, pixels=32), **own | options).eval()


def images():
    return torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_merged_slots_draw_nothing_in_masks_pictures_and_images():
    plain, alike = model(), model(merge=1.1)  # so far apart are no two slots
    slots = alike.represent(images())
    assert slots.shape == plain.represent(images()).shape and copies(slots).sum(1).tolist() == [3, 3, 3]
    masks = alike.masks(images())
    assert masks[:, 0].eq(1).all() and masks[:, 1:].eq(0).all()
    torch.testing.assert_close(alike.decode(slots), alike.slots_decoded(slots[:, :1]).pictures[:, 0])
    torch.testing.assert_close(alike.represent(images()[1:2]), slots[1:2], atol=1e-5, rtol=1e-4)
    alike.merge = 0.0
    assert torch.equal(alike.represent(images()), plain.represent(images()))


@torch.no_grad()
def test_a_model_takes_the_best_of_its_starts():
    many = model(test_starts=5)
    noise = noise_of(images(), 20, 8)
    ends = [many.slots_of(images(), noise[:, i : i + 4]) for i in range(0, 20, 4)]
    aim = nn.functional.avg_pool2d(images() * 2 - 1, 2)
    errors = []
    for slots in ends:
        pictures, logits = many.decoder(slots, 16)
        errors.append(((pictures * logits.softmax(1)[:, :, None]).sum(1) - aim).pow(2).mean((1, 2, 3)))
    best = torch.stack(errors).argmin(0).tolist()
    assert set(best) != {0}
    expected = torch.stack([ends[start][row] for row, start in enumerate(best)])
    torch.testing.assert_close(many.represent(images()), expected, atol=1e-6, rtol=1e-5)
    for lined_up in ({"start": "queries"}, {"noise": "shared"}):
        with pytest.raises(UnknotError, match="test_starts is 2"):
            model(**lined_up, test_starts=2)


@torch.no_grad()
def test_masks_with_a_sigma_are_posteriors_of_a_mixture():
    plain, sharp = model(), model(mask_sigma=0.5)
    assert model(mask_sigma=0.001).masks(images()).isfinite().all()
    with pytest.raises(UnknotError, match="mask_sigma is 1e-20"):
        model(mask_sigma=1e-20)
    pictures, logits = plain.decoder(plain.represent(images()), 32)
    aim, prior = 2 * images() - 1, logits.softmax(1)
    by_hand = torch.empty(4)
    for slot in range(4):
        apart = (pictures[1, slot, :, 5, 7] - aim[1, :, 5, 7]).pow(2).sum()
        by_hand[slot] = prior[1, slot, 5, 7] * torch.exp(-apart / (2 * 0.5**2))
    found = sharp.masks(images())
    torch.testing.assert_close(found[1, :, 5, 7], by_hand / by_hand.sum())
    torch.testing.assert_close(found.sum(1), torch.ones(3, 32, 32))
    torch.testing.assert_close(plain.masks(images()), prior)
    alike = model(mask_sigma=0.01, merge=1.1).masks(
        images()
    )  # copies stay without pixels, far colours without NaN
    assert alike[:, 0].eq(1).all() and alike[:, 1:].eq(0).all()
