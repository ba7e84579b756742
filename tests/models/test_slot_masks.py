"""Masks that near pixels of like colour agree on: one pixel worked by hand, and what a model makes of them."""

import math

import pytest
import torch

from unknot.errors import UnknotError
from unknot.models._slot_masks import REACH, ROUNDS, SHADE, SPREAD, posterior, smoothed
from unknot.models.model import Setting
from unknot.models.slot_attention import SlotAttention

SIZE = 32


def scene():
    """Log masks (2, 3, 32, 32) and images (2, 3, 32, 32) in [-1, 1]."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, SIZE, SIZE, generator=generator), torch.rand(
        2, 3, SIZE, SIZE, generator=generator
    ) - 0.5


def test_one_round_adds_what_like_pixels_in_a_disc_say(monkeypatch):
    logits, images = scene()
    images = images / 4
    monkeypatch.setattr("unknot.models._slot_masks.ROUNDS", 1)
    found = smoothed(logits, images, 10.0)
    masks, told, bells = logits.softmax(1), torch.zeros(3), 0.0
    reach, spread = round(REACH * SIZE), SPREAD * SIZE
    row, column = 1, 20  # part of the disc is outside the image
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            if (y or x) and y * y + x * x <= reach * reach:
                bell = math.exp(-(y * y + x * x) / (2 * spread**2))
                bells += bell
                if row + y >= 0:
                    apart = (images[1, :, row + y, column + x] - images[1, :, row, column]).pow(2).sum()
                    told += bell * torch.exp(-apart / (2 * SHADE**2)) * masks[1, :, row + y, column + x]
    expected = (logits[1, :, row, column] + 10.0 * told / bells).softmax(0)
    torch.testing.assert_close(found[1, :, row, column], expected)


def test_borders_move_to_the_edge_of_the_image_and_specks_go():
    images = torch.full((1, 3, SIZE, SIZE), -0.2)
    images[..., 16:] = 0.2
    logits = torch.zeros(1, 2, SIZE, SIZE)
    logits[:, 0, :, :17] = 1.0  # a column too far
    logits[:, 1, :, 17:] = 1.0
    logits[:, :, 10, 5] = torch.tensor([0.0, 1.0])
    found = smoothed(logits, images, 20.0).argmax(1)[0]
    assert found[:, :16].eq(0).all() and found[:, 16:].eq(1).all()


def test_without_strength_masks_are_those_of_the_logits():
    logits, images = scene()
    assert torch.equal(smoothed(logits, images, 0.0), logits.softmax(1))


def test_masks_sum_to_one_and_slots_without_pixels_get_none():
    logits, images = scene()
    logits[:, 1] = -math.inf
    found = smoothed(logits, images, 50.0)
    torch.testing.assert_close(found.sum(1), torch.ones(2, SIZE, SIZE))
    assert found[:, 1].eq(0).all() and ROUNDS > 1


@torch.no_grad()
def test_a_model_smooths_the_masks_of_images_and_nothing_else():
    own = {"slots": 4, "slot_size": 8, "channels": 8, "stride": 2, "slot_decoder": "mlp", "target": 16}
    torch.manual_seed(0)
    model = SlotAttention(Setting(channels=3, pixels=SIZE), **own, mask_sigma=0.5, smooth=5.0).eval()
    images = torch.rand(2, 3, SIZE, SIZE)
    slots = model.represent(images)
    pictures, drawn = model._drawn(slots, SIZE)
    signed = images * 2 - 1
    expected = smoothed(posterior(drawn, pictures, signed, 0.5), signed, 5.0)
    torch.testing.assert_close(model.masks(images), expected)
    torch.testing.assert_close(model.slots_decoded(slots).masks, drawn)
    model.mask_sigma = 0.0
    torch.testing.assert_close(model.masks(images), smoothed(drawn.log(), signed, 5.0))
    with pytest.raises(UnknotError, match="smooth"):
        SlotAttention(Setting(channels=3, pixels=SIZE), **own, smooth=-1.0)
