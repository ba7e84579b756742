"""Augmentations of training images."""

import pytest
import torch

from unknot.models.augmentations import AUGMENTATIONS, augment


def pictures(n=8, channels=3, size=32):
    return torch.rand(n, channels, size, size, generator=torch.Generator().manual_seed(0))


def changed(text, images, seed=0):
    return augment(images, text, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_each_changes_images_keeps_their_range_and_is_decided_by_the_generator(name):
    images = pictures()
    before = images.clone()
    first, again, other = changed(name, images), changed(name, images), changed(name, images, seed=1)
    assert first.shape == images.shape and 0 <= first.min() and first.max() <= 1
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert not torch.equal(first, images) and torch.equal(images, before)


@pytest.mark.parametrize("name", sorted(set(AUGMENTATIONS) - {"noise", "colour"}))
def test_what_is_drawn_for_an_image_differs_from_that_of_its_neighbour(name):
    same = pictures(1).expand(32, -1, -1, -1)
    out = changed(name, same)
    assert not torch.allclose(out[:1].expand_as(out), out)


def test_several_are_applied_in_order():
    images = pictures()
    generator = torch.Generator().manual_seed(0)
    by_hand = augment(augment(images, "flip", generator), "brightness", generator)
    assert torch.equal(changed("flip+brightness", images), by_hand)


def test_flips_are_of_whole_images():
    images = pictures(64)
    out = changed("flip", images)
    flipped = (out == images.flip(3)).flatten(1).all(1)
    kept = (out == images).flatten(1).all(1)
    assert (flipped ^ kept).all() and 16 < flipped.sum() < 48


def test_constant_images_stay_as_they_are_under_all_that_move_or_mix_pixels():
    flat = torch.full((4, 3, 32, 32), 0.4)
    for name in ("blur", "contrast", "flip", "shift", "rotation", "scale", "erase"):
        torch.testing.assert_close(changed(name, flat), flat)


def test_blur_keeps_the_mean_of_a_dot_and_a_shift_moves_it():
    dot = torch.zeros(6, 1, 33, 33)
    dot[:, :, 16, 16] = 1
    torch.testing.assert_close(changed("blur", dot).sum((1, 2, 3)), torch.ones(6))
    moved = changed("shift", dot)
    at = torch.arange(33.0)
    centre = (moved.sum((1, 2)) * at).sum(1) / moved.sum((1, 2, 3))
    assert ((centre - 16).abs() <= 2.1).all() and (centre - 16).abs().max() > 0.3


def test_the_erased_square_has_a_quarter_of_the_width():
    images = pictures(5)
    erased = (changed("erase", images) != images).any(1).sum((1, 2))
    assert (erased == 64).all()


def test_a_shear_pushes_rows_sideways_the_more_the_further_they_are_from_the_middle():
    line = torch.zeros(16, 1, 33, 33)
    line[:, :, :, 16] = 1
    columns = (changed("shear", line) * torch.arange(33.0)).sum(3) / changed("shear", line).sum(3)
    moved = columns[:, 0] - 16
    assert moved[:, 16].abs().max() < 1e-3 and torch.allclose(moved[:, 4], -moved[:, 28], atol=0.05)
    slopes = (moved[:, 28] - moved[:, 4]) / 24
    assert slopes.abs().max() <= 0.21 and slopes.abs().max() > 0.1
