"""Objects that stand alone: which are taken, and what is known of their edges, shadows and ground."""

import numpy as np
import pytest

from unknot.students.cut_outs import compactness, cut_out, cut_outs_of, ground_slots, lone_objects
from unknot.students.ground import fitted_ground


def owners_with(*boxes, ground=9):
    """Owners (32, 32): for each (slot, top, left, height, width) a box."""
    owners = np.full((32, 32), ground)
    for slot, top, left, height, width in boxes:
        owners[top : top + height, left : left + width] = slot
    return owners


def corners(owners):
    return [(place[0].start, place[1].start) for place, _ in lone_objects(owners, 9)]


def test_pieces_of_one_slot_are_lone_objects_and_one_slot_may_have_several():
    owners = owners_with((1, 3, 3, 6, 6), (1, 20, 20, 5, 5), (2, 3, 20, 6, 6))
    assert corners(owners) == [(3, 3), (3, 20), (20, 20)]
    (_, mask), *_ = lone_objects(owners, 9)
    assert mask.shape == (6, 6) and mask.all()


def test_pieces_cut_by_two_slots_or_by_the_border_of_the_image_are_not():
    assert corners(owners_with((1, 3, 3, 6, 3), (2, 3, 6, 6, 3))) == []  # cut in two
    for top, left in ((0, 9), (9, 0), (26, 9), (9, 26)):
        assert corners(owners_with((1, top, left, 6, 6))) == []
    assert corners(owners_with((1, 3, 3, 6, 6), (2, 9, 9, 6, 6))) == []  # two that touch at a corner


def test_pieces_that_are_long_bent_or_small_are_not():
    assert corners(owners_with((1, 3, 3, 4, 12))) == []
    assert corners(owners_with((1, 3, 3, 6, 6), (1, 9, 7, 6, 6))) == []  # two of one slot, side by side: a step
    assert corners(owners_with((1, 3, 3, 1, 1))) == []


def test_holes_are_filled():
    owners = owners_with((1, 3, 3, 6, 6))
    owners[5, 5] = 9
    assert lone_objects(owners, 9)[0][1].all()


def test_a_box_fills_its_hull_and_an_l_does_not():
    box = np.ones((4, 4), bool)
    assert compactness(box) == pytest.approx(1)
    box[:2, :2] = False
    assert compactness(box) == pytest.approx(12 / 14)


def test_the_ground_is_the_slot_of_the_border():
    owners = np.stack([owners_with((1, 3, 3, 6, 6)), owners_with((2, 0, 0, 32, 20), ground=4)])
    assert ground_slots(owners).tolist() == [9, 2]


def test_the_ground_is_seen_through_objects_and_shadows():
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    true = np.stack([0.5 + 0.1 * x, 0.5 + 0.1 * y, 0.4 + 0.1 * x * y], axis=2).astype(np.float32)
    image, objects = true.copy(), np.zeros((32, 32), bool)
    objects[8:14, 8:14] = True
    image[objects] = (1, 0, 0)
    image[14:18, 8:18] *= 0.6  # a shadow
    np.testing.assert_allclose(fitted_ground(image, objects), true, atol=1e-3)
    # Where objects leave too few pixels to go by, it is the mean of the image.
    np.testing.assert_allclose(fitted_ground(image, np.ones((32, 32), bool))[0, 0], image.mean((0, 1)), atol=1e-6)


def test_an_edge_pixel_is_parted_into_object_and_ground_and_the_shadow_goes_along():
    ground = np.full((32, 32, 3), 0.5, np.float32)
    image, owners = ground.copy(), owners_with((1, 10, 10, 6, 6))
    image[10:16, 10:16] = (1.0, 0.0, 0.0)
    image[10, 10:16] = (0.8, 0.2, 0.2)  # a row of which six tenths are the object
    image[16:18, 10:16] = 0.25
    place, mask = lone_objects(owners, 9)[0]
    one = cut_out(image, owners != 9, ground, place, mask)
    np.testing.assert_allclose(one.cover[0], 0.6, atol=1e-6)
    np.testing.assert_allclose(one.cover[1:], 1, atol=1e-6)
    np.testing.assert_allclose(one.colours[0, 3], (0.6, 0, 0), atol=1e-6)
    rows, columns = one.margin
    assert one.shade[rows + 6, columns + 3] == pytest.approx(0.5)  # right below it
    assert (one.shade[rows : rows + 6, columns : columns + 6] == 1).all() and one.shade[0, 0] == 1
    assert one.corner == (10, 10) and one.radius == 3 and one.centre == (12.5, 12.5) and one.foot == (14.5, 13)
    pasted = one.colours + (1 - one.cover)[:, :, None] * ground[:6, :6]
    np.testing.assert_allclose(pasted, image[10:16, 10:16], atol=1e-6)  # back where it was, it is what it was


def test_the_shadow_of_another_object_stays_behind():
    ground = np.full((32, 32, 3), 0.5, np.float32)
    image, owners = ground.copy(), owners_with((1, 10, 10, 5, 5), (2, 10, 17, 5, 5))
    image[12, 15:17] = 0.25  # one pixel beside each of them
    (one, other), _ = cut_outs_of(image, owners, 9, scene=4)
    row = one.margin[0] + 2
    assert one.scene == other.scene == 4
    assert one.shade[row, one.margin[1] + 5 : one.margin[1] + 7].tolist() == pytest.approx([0.5, 1], abs=0.01)
    assert other.shade[row, other.margin[1] - 2 : other.margin[1]].tolist() == pytest.approx([1, 0.5], abs=0.01)


@pytest.mark.parametrize("ground", [(0.9, 0.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.01, 0.5)])
def test_a_saturated_ground_has_no_shadow_where_there_is_none(ground):
    image = np.broadcast_to(np.array(ground, np.float32), (32, 32, 3)).copy()
    image[10:16, 10:16] = 0.7
    (one,), _ = cut_outs_of(image, owners_with((1, 10, 10, 6, 6)), 9, 0)
    assert one.shade == pytest.approx(1, abs=0.01)
