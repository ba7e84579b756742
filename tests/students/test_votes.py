"""From votes to objects, by hand."""

import numpy as np

from unknot.students.votes import MOST, grouped


def voted(*objects):
    """Which pixels are objects', and offsets: of each (top, left, height, width, row, column) a box and its vote."""
    inside, offsets = np.zeros((64, 64), bool), np.zeros((2, 64, 64), np.float32)
    rows, columns = np.indices((64, 64))
    for top, left, height, width, row, column in objects:
        box = np.s_[top : top + height, left : left + width]
        inside[box] = True
        offsets[0][box], offsets[1][box] = row - rows[box], column - columns[box]
    return inside, offsets


def test_touching_objects_are_told_apart_by_their_votes():
    owners = grouped(*voted((10, 10, 10, 10, 15, 15), (10, 20, 10, 10, 15, 25), (40, 40, 6, 6, 43, 43)))
    assert len(np.unique(owners)) == 4 and len(np.unique(owners[10:20, 10:20])) == 1
    assert owners[15, 19] != owners[15, 20] and (owners[40:46, 40:46] == 3).all() and owners[0, 0] == 0


def test_an_object_in_two_pieces_is_one_by_its_votes():
    owners = grouped(*voted((10, 10, 10, 4, 15, 17), (10, 20, 10, 4, 15, 17)))
    assert owners[12, 11] == owners[12, 22] == 1


def test_a_few_stray_votes_go_to_the_nearest_object():
    inside, offsets = voted((10, 10, 10, 10, 15, 15), (10, 30, 10, 10, 15, 35))
    offsets[1, 12, 12:15] = 15  # between the two, nearer to the second
    owners = grouped(inside, offsets)
    assert owners.max() == 2 and (owners[12, 12:15] == owners[12, 35]).all()


def test_no_object_is_no_object_and_there_are_no_more_than_twelve():
    assert grouped(np.zeros((64, 64), bool), np.ones((2, 64, 64))).max() == 0
    many = [(i, j, 4, 4, i + 2, j + 2) for i in range(0, 60, 12) for j in range(0, 60, 12)]
    assert grouped(*voted(*many)).max() == MOST


def test_of_many_votes_some_are_compared_and_far_ones_end():
    inside, offsets = voted((2, 2, 30, 30, 17, 17), (2, 34, 30, 28, 17, 48), (40, 4, 20, 50, 50, 30))
    owners = grouped(
        *(np.kron(part, np.ones((2, 2), part.dtype)) for part in (inside, 2 * offsets))
    )  # 10,960 votes
    assert np.array_equal(np.kron(grouped(inside, offsets) > 0, np.ones((2, 2), bool)), owners > 0)
    assert len(np.unique(owners[4:64, 4:64])) == 1 and len(np.unique(owners)) == 4
    assert grouped(inside, offsets * 1e6).max() <= MOST
