"""Matching of slots against brute force, and tidying them."""

from itertools import permutations, product

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.slots import align, blanked, duplicates, nearest_sums, squared_distances, without_duplicates

RNG = np.random.default_rng(0)


def greedy(a, b, c, d):
    """The definition, one quadruple at a time: the sum of residuals and the quadruples in the order taken."""
    k = len(a)
    free = [list(range(k)) for _ in range(4)]
    total, taken = 0.0, []
    for _ in range(k):
        residual = {(i, j, p, q): float(((b[j] - a[i] + c[p] - d[q]) ** 2).sum()) for i, j, p, q in product(*free)}
        best = min(residual, key=residual.__getitem__)  # the first in index order among equals
        total += residual[best]
        taken.append(best)
        for image, index in zip(free, best, strict=True):
            image.remove(index)
    return total, taken


def residual_of(aligned):
    a, b, c, d = aligned
    return ((b - a + c - d) ** 2).sum(axis=(1, 2))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_four_way_matching_takes_the_quadruples_that_brute_force_takes(k):
    slots = RNG.normal(size=(4, 6, k, 3)) + 40  # far from the origin, where products lose digits
    aligned = align(*slots)
    for t in range(6):
        total, taken = greedy(*slots[:, t])
        for image in range(4):
            order = [quadruple[image] for quadruple in taken]
            np.testing.assert_array_equal(aligned[image][t], slots[image, t][order])
        assert residual_of(aligned)[t] == pytest.approx(total)


def test_greedy_is_never_better_than_the_best_of_all_matchings():
    slots = RNG.normal(size=(4, 20, 3, 2))
    orders = [list(order) for order in permutations(range(3))]
    for t, found in enumerate(residual_of(align(*slots))):
        a, b, c, d = slots[:, t]
        best = min(((b[x] - a + c[y] - d[z]) ** 2).sum() for x, y, z in product(orders, repeat=3))
        assert found >= best - 1e-12


@pytest.mark.parametrize("k", [6, 7, 9])
def test_symbolic_slots_in_random_order_match_without_a_rest(k):
    n, blank = 30, np.zeros(8)
    things = RNG.normal(size=(n, 8, 8))

    def image(rows):
        slots = np.array([[things[t, i] for i in rows] + [blank] * (k - len(rows)) for t in range(n)])
        return np.array([one[RNG.permutation(k)] for one in slots])

    roles = image([0, 1, 2]), image([0, 1, 2, 3, 4]), image([5, 6, 7]), image([3, 4, 5, 6, 7])
    assert residual_of(align(*roles)).max() < 2e-14


def test_the_order_of_slots_does_not_change_the_residual():
    slots = RNG.normal(size=(4, 15, 6, 4))
    mixed = np.array([[one[RNG.permutation(6)] for one in image] for image in slots])
    np.testing.assert_allclose(residual_of(align(*mixed)), residual_of(align(*slots)))


def test_ties_go_to_the_first_in_index_order():
    # b = a, so residuals are |c - d|^2: 1 for c_0 = 0 with d_0 = 1 and with d_1 = -1, and d_0 comes first
    a = np.array([[[3.0], [3.0]]])
    c, d = np.array([[[0.0], [9.0]]]), np.array([[[1.0], [-1.0]]])
    assert align(a, a, c, d)[3].ravel().tolist() == [1.0, -1.0]
    assert align(a, a, c, d[:, ::-1])[3].ravel().tolist() == [-1.0, 1.0]


def test_two_sets_are_matched_closest_pair_first_and_carry_their_neighbours():
    one = np.array([[[0.0], [10.0]]])
    other = np.array([[[9.0], [4.0]], [[1.0], [2.0]]])
    beside = np.array([[[100.0], [200.0]]])
    # set 0: |10-9| = 1 first, then |0-4|: 1 + 16; carried 200-9 and 100-4.  set 1: |0-1| = 1, then |10-2|.
    matched, carried = nearest_sums(one, other, beside)
    assert matched.tolist() == [[17.0, 65.0]]
    assert carried.tolist() == [[191.0**2 + 96.0**2, 99.0**2 + 198.0**2]]


def test_greedy_pairs_are_those_of_a_loop():
    one, other = RNG.normal(size=(3, 5, 4)), RNG.normal(size=(2, 5, 4))
    matched, _ = nearest_sums(one, other)
    for i, j in product(range(3), range(2)):
        rows, columns, total = list(range(5)), list(range(5)), 0.0
        while rows:
            p, q = min(product(rows, columns), key=lambda pq: ((one[i, pq[0]] - other[j, pq[1]]) ** 2).sum())
            total += ((one[i, p] - other[j, q]) ** 2).sum()
            rows.remove(p)
            columns.remove(q)
        assert matched[i, j] == pytest.approx(total)


def test_distances_are_those_of_the_definition():
    one, other = RNG.normal(size=(2, 3, 4)) + 1000, RNG.normal(size=(3, 2, 4)) + 1000
    direct = ((one[:, None, :, None] - other[None, :, None, :]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(squared_distances(one, other), direct, rtol=1e-9)


def test_a_duplicate_is_the_later_of_two_slots_within_half_a_chord():
    # half chord = sin(theta / 2): 0.15 lies at 17.25 degrees
    def at(degrees, length=1.0):
        return length * np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])

    slots = np.array([[at(0), at(17.2, 3.0), at(90), at(107.4), at(0, -1.0)]])
    assert duplicates(slots).tolist() == [[False, True, False, False, False]]
    assert duplicates(slots, threshold=0.16).tolist() == [[False, True, False, True, False]]
    assert not duplicates(slots, threshold=0.0).any()


def test_duplicates_are_not_closed_under_chains_but_a_marked_slot_still_marks():
    angles = np.radians([0.0, 15.0, 30.0])
    slots = np.stack([np.cos(angles), np.sin(angles)], axis=1)[None]
    # 2 is near 1 only, and 1 is itself a duplicate of 0: both are marked
    assert duplicates(slots).tolist() == [[False, True, True]]


def test_slots_of_length_zero_are_duplicates_of_each_other_only():
    slots = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]])
    assert duplicates(slots).tolist() == [[False, False, True]]


def test_blank_is_the_mean_of_all_slots_of_all_roles():
    codes = {"A": np.array([[[0.0], [2.0]]]), "B": np.array([[[4.0], [10.0]]])}
    marked = {"A": np.array([[False, True]]), "B": np.array([[True, False]])}
    made = blanked(codes, marked)
    assert made["A"].ravel().tolist() == [0.0, 4.0]
    assert made["B"].ravel().tolist() == [4.0, 10.0]


def test_a_batch_blank_is_the_mean_of_four_tuples():
    slots = np.arange(6.0).reshape(6, 1, 1)
    marked = {"A": np.ones((6, 1), dtype=bool)}
    assert blanked({"A": slots}, marked, "batch")["A"].ravel().tolist() == [1.5, 1.5, 1.5, 1.5, 4.5, 4.5]
    with pytest.raises(UnknotError, match="unknown blank 'image'"):
        blanked({"A": slots}, marked, "image")


def test_removing_duplicates_leaves_one_of_each():
    slots = np.array([[[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]])
    made = without_duplicates({"A": slots})["A"]
    np.testing.assert_array_equal(made[0, [0, 2]], slots[0, [0, 2]])
    np.testing.assert_allclose(made[0, 1], [1.0, 1.0])


def test_slots_of_wrong_shapes_and_with_nan_are_refused():
    with pytest.raises(UnknotError, match=r"expected numbers \(n, k, d\)"):
        duplicates(np.zeros((3, 2)))
    with pytest.raises(UnknotError, match="row 1"):
        duplicates(np.array([[[1.0]], [[np.nan]]]))
    with pytest.raises(UnknotError, match="equally many"):
        align(*[np.zeros((1, 2, 2))] * 3, np.zeros((1, 3, 2)))
