"""Slots from the true masks, and the moments they hold."""

import math

import numpy as np
import pytest

from unknot.tasks.algebra.baselines import SLOTS, attributes, mask_slots, symbolic_codes
from unknot.tasks.algebra.moments import N_MOMENTS, segment_moments
from unknot.tasks.algebra.task import algebra
from unknot.worlds.scenes.corpus import ROLES


def test_moments_of_a_rectangle_are_those_worked_by_hand():
    image = np.zeros((1, 8, 8, 3), dtype=np.uint8)
    mask = np.zeros((1, 8, 8), dtype=np.uint8)
    mask[0, 2:4, 1:5] = 3  # two rows of four pixels
    image[0, 2:4, 1:5] = [255, 0, 51]
    image[0, 2, 1] = 255
    made = np.empty((1, 9, N_MOMENTS))
    segment_moments(image, mask, made)
    found = made[0, 3]
    assert found[0] == 1 and not made[0, 1].any()
    assert found[1:4].tolist() == pytest.approx([1, 1 / 8, (7 * 0.2 + 1) / 8])
    assert (found[5], found[6]) == pytest.approx((0.4, 1.0))
    assert (found[7], found[8]) == pytest.approx((1.5, 1.5))
    assert found[9] == pytest.approx(math.sqrt(8 / 64))
    assert (found[10], found[11]) == pytest.approx((math.sqrt(1.25) / 8, 0.5 / 8))
    assert found[12] == pytest.approx(0) and found[16] == pytest.approx(0.5)


def test_slots_from_true_masks_hold_one_slot_for_each_object_and_the_background(traced):
    codes = mask_slots(traced)
    assert set(codes) == set(ROLES) and codes["A"].shape == (16, SLOTS, N_MOMENTS)
    for role in ("A", "B", "C", "D"):
        seen = [len(np.unique(mask)) for mask in traced.masks[:, ROLES.index(role)]]
        assert (codes[role][:, :, 0] > 0).sum(axis=1).tolist() == seen
    # a dropped object leaves one slot less, unless it was hidden
    assert ((codes["drop"][:, :, 0] > 0).sum(1) <= (codes["D"][:, :, 0] > 0).sum(1)).all()


def test_symbolic_slots_in_random_order_lose_nothing(corpus):
    rng, codes = np.random.default_rng(0), {}
    for role in ROLES:
        objects, present, background = attributes(corpus.tuples, role)
        n, _, f = objects.shape
        slots = np.zeros((n, 7, f + background.shape[1]))
        for i in range(n):
            shown, where = np.flatnonzero(present[i]), rng.permutation(7)
            slots[i, where[: len(shown)], :f] = objects[i, shown]
            slots[i, where[len(shown)], f:] = background[i]
        codes[role] = slots
    result = algebra(codes, corpus, pictures=0)
    assert result.values["l2_coat"] == pytest.approx(1, abs=1e-9)
    assert result.values["acos_coat"] == pytest.approx(1, abs=1e-6)


def test_attributes_say_what_the_scene_says(corpus):
    objects, present, background = attributes(corpus.tuples, "B")
    scene = corpus.tuples[3]["scenes"]["B"]
    assert np.flatnonzero(present[3]).tolist() == scene["indices"]
    thing = scene["objects"][0]
    numbers = objects[3, scene["indices"][0]]
    assert numbers[:2].tolist() == [float(thing["size"] == "large"), float(thing["size"] == "small")]
    assert numbers[-4:].tolist() == pytest.approx(
        [*thing["3d_coords"][:2], math.cos(thing["rotation"]), math.sin(thing["rotation"])]
    )
    assert background[3].sum() == 1
    assert symbolic_codes(corpus.tuples)["A"].shape == (64, 8 * 19 + 6)
    assert symbolic_codes(corpus.tuples, without="color")["A"].shape == (64, 8 * 11 + 6)
