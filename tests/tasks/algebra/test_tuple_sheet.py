"""What stands below the slots of a tuple."""

import numpy as np

from unknot.tasks.algebra.tuple_sheet import slot_marks


def test_slots_that_repeat_another_or_own_no_pixel_are_marked_in_full_words():
    slots = np.eye(4)[None, [0, 1, 2, 0, 3]]
    masks = np.zeros((1, 5, 2, 2))
    masks[0, 0, 0], masks[0, 1, 1] = 1, 1
    assert slot_marks(slots, masks, 0.15).tolist() == [["", "", "owns nothing", "duplicate", "owns nothing"]]
