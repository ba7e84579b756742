"""Scenes of pasted objects: what hides what, exact masks, feet that keep apart, seeds."""

import numpy as np
import pytest

from unknot.students.cut_outs import CutOut
from unknot.students.pasting import Paster, Put

GROUND = np.full((32, 32, 3), 0.5, np.float32)


def box(top, left, side, colour, scene=0, shade=1.0):
    """A box of one colour, with a shadow of one row below it."""
    mask = np.ones((side, side), bool)
    shades = np.ones((side + 1, side), np.float32)
    shades[-1] = shade
    colours = np.full((side, side, 3), colour, np.float32)
    look = np.concatenate([colours[0, 0], np.zeros(3)]).astype(np.float32)
    return CutOut(scene, (top, left), mask, colours, mask.astype(np.float32), shades, (0, 0), look)


RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def test_the_object_in_front_hides_the_one_behind_and_every_pixel_is_known():
    paster = Paster([box(4, 4, 6, RED), box(8, 8, 6, BLUE)], [GROUND])
    image, owners, centres = paster.composed([Put(0, 0, 0), Put(1, 0, 0)], GROUND)
    expected = np.zeros((32, 32), int)
    expected[4:10, 4:10] = 1
    expected[8:14, 8:14] = 2
    np.testing.assert_array_equal(owners, expected)
    np.testing.assert_array_equal(image[owners == 1], np.broadcast_to(RED, (32, 3)))
    np.testing.assert_array_equal(image[owners == 2], np.broadcast_to(BLUE, (36, 3)))
    np.testing.assert_array_equal(image[owners == 0], 0.5)
    assert centres[1:3].tolist() == [[6.5, 6.5], [10.5, 10.5]]  # of whole objects, hidden pixels too
    turned = paster.composed([Put(1, 0, 0), Put(0, 0, 0)], GROUND)[1]
    assert turned[9, 9] == 2 and turned[4, 4] == 2 and turned[13, 13] == 1


def test_objects_are_moved_cut_by_the_border_and_left_out_where_they_are_hidden():
    paster = Paster([box(4, 4, 6, RED), box(4, 4, 6, BLUE)], [GROUND])
    _, owners, centres = paster.composed([Put(0, 2, -7)], GROUND)
    assert owners.sum() == 6 * 3 and owners[6:12, :3].all() and centres[1].tolist() == [8.5, -0.5]
    image, owners, _ = paster.composed([Put(0, 0, 0), Put(1, 0, 0)], GROUND)
    assert owners.max() == 1 and (image[5, 5] == BLUE).all()
    assert paster.composed([Put(0, 0, 40)], GROUND)[1].max() == 0


def test_shadows_fall_on_the_ground_alone():
    paster = Paster([box(4, 4, 6, RED), box(10, 4, 6, BLUE, shade=0.5)], [GROUND])
    image, _, _ = paster.composed([Put(1, 0, 0), Put(0, 10, 6)], GROUND)
    assert image[16, 4, 0] == 0.25 and (image[16, 10] == RED).all()


def test_objects_of_a_scene_stand_apart_the_nearer_one_last_and_look_alike():
    rng = np.random.default_rng(0)
    shades = [(red, 0.0, 0.0) for red in np.linspace(0.5, 0.52, 100)] + [(0.0, 0.0, 1.0)] * 100
    cut_outs = [box(*rng.integers(4, 20, 2), int(rng.integers(4, 9)), colour) for colour in shades]
    paster = Paster(cut_outs, [GROUND], (3, 5))
    for _ in range(50):
        scene, stood = paster.arranged(rng)
        assert scene == 0 and 1 <= len(stood) <= 5
        feet = [paster.feet[put.number][0] + put.down for put in stood]
        assert feet == sorted(feet)
        assert len({put.number < 100 for put in stood}) == 1, "reds and blues do not meet"
        for i, one in enumerate(stood):
            for other in stood[:i]:
                (y, x), (v, u) = paster.feet[one.number], paster.feet[other.number]
                apart = np.hypot((y + one.down - v - other.down) / 0.55, x + one.right - u - other.right)
                assert apart >= 0.85 * (paster.radii[one.number] + paster.radii[other.number]) - 1e-9


def test_a_seed_decides_every_scene():
    rng = np.random.default_rng(0)
    cut_outs = [box(*rng.integers(4, 20, 2), 6, rng.random(3)) for _ in range(20)]
    told = []
    first, again, other = (
        Paster(cut_outs, [GROUND]).scenes(12, seed, lambda *stage: told.append(stage)) for seed in (0, 0, 1)
    )
    for name in ("images", "owners", "centres"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert (first.images != other.images).any() and told[0] == ("pasting", 12, 12)
    assert first.images.shape == (12, 32, 32, 3) and first.owners.max() <= 6
    for image, owners in zip(first.images, first.owners, strict=True):
        assert (image[owners == 0] == 128).all()  # 0.5 of 255, rounded to even


def test_one_cut_out_is_like_itself():
    scene, stood = Paster([box(4, 4, 6, RED, scene=0)], [GROUND], (1, 1)).arranged(np.random.default_rng(0))
    assert scene == 0 and [put.number for put in stood] == [0]
    assert pytest.approx(stood[0].down, abs=2) == 0
