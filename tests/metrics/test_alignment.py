from itertools import permutations

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.alignment import UNALIGNED, align


def best_total(weights: np.ndarray) -> float:
    """The largest sum over all injective maps, by trying them all."""
    d, k = weights.shape
    if k > d:
        return max(sum(weights[i, j] for i, j in enumerate(p)) for p in permutations(range(k), d))
    return max(sum(weights[i, j] for j, i in enumerate(p)) for p in permutations(range(d), k))


@pytest.mark.parametrize("shape", [(3, 3), (6, 3), (3, 5), (1, 3), (4, 1)])
def test_the_summed_weight_is_the_largest_of_all_injective_maps(shape):
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights = rng.random(shape)
        latents = align(weights).latents
        taken = latents[latents != UNALIGNED]
        assert len(set(taken.tolist())) == len(taken) == min(shape)
        total = weights[taken, np.flatnonzero(latents != UNALIGNED)].sum()
        assert total == pytest.approx(best_total(weights))


def test_a_factor_gives_way_when_the_sum_gains():
    weights = [[9.0, 8.0], [7.0, 1.0]]
    assert align(weights).latents.tolist() == [1, 0]
    assert align(weights, naive=True).latents.tolist() == [0, 0]


def test_naive_alignment_is_the_argmax_of_every_column():
    weights = np.random.default_rng(1).random((5, 4))
    assert align(weights, naive=True).latents.tolist() == weights.argmax(axis=0).tolist()


def test_factors_beyond_the_best_subset_are_unaligned():
    weights = np.array([[1.0, 5.0, 2.0], [1.0, 4.0, 3.0]])
    assert align(weights).latents.tolist() == [UNALIGNED, 0, 1]


def test_shared_latents_serve_as_equally_often_as_possible():
    weights = np.array([[5.0, 4.0, 1.0, 9.0, 3.0], [1.0, 3.0, 2.0, 8.0, 1.0]])
    latents = align(weights, share=True).latents
    assert UNALIGNED not in latents
    assert sorted(np.bincount(latents).tolist()) == [2, 3]


def test_sharing_changes_nothing_when_there_are_enough_latents():
    weights = np.random.default_rng(2).random((6, 4))
    np.testing.assert_array_equal(align(weights, share=True).latents, align(weights).latents)


@pytest.mark.parametrize(("d", "k"), [(4, 4), (7, 3), (2, 5)])
def test_among_equals_low_latents_go_to_low_factors(d, k):
    expected = [j if j < d else UNALIGNED for j in range(k)]
    assert align(np.zeros((d, k))).latents.tolist() == expected
    assert align(np.full((d, k), 3.0)).latents.tolist() == expected
    assert align(np.zeros((d, k)), naive=True).latents.tolist() == [0] * k


def test_small_differences_beat_the_order_among_equals():
    weights = np.array([[1.0, 1.0], [1.0 + 1e-7, 1.0]])
    assert align(weights).latents.tolist() == [1, 0]


def test_a_latent_without_information_is_flagged_as_arbitrary():
    alignment = align([[0.3, 0.3], [0.0, 0.0]])
    assert alignment.latents.tolist() == [0, 1]
    assert alignment.arbitrary.tolist() == [False, True]
    assert align(np.zeros((2, 3))).arbitrary.tolist() == [True, True, False], "an unaligned factor has no latent"


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.zeros(3), [[np.nan, 1.0]], [[np.inf]]])
def test_weights_that_are_no_finite_matrix_are_refused(bad):
    with pytest.raises(UnknotError, match="align: weights have"):
        align(bad)
