"""Measures of masks against scikit-learn, by hand, and their edges."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from unknot.errors import UnknotError
from unknot.metrics.segmentation import ari, covering, fg_ari, mbo

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 4, size=(12, 6, 7))
GUESS = np.where(RNG.random((12, 6, 7)) < 0.6, TRUE, RNG.integers(0, 5, size=(12, 6, 7)))


def test_ari_is_that_of_scikit_learn_on_every_image():
    expected = [adjusted_rand_score(t.ravel(), p.ravel()) for t, p in zip(TRUE, GUESS, strict=True)]
    found = ari(TRUE, GUESS)
    np.testing.assert_allclose(found.parts["per_image"], expected)
    assert found.value == pytest.approx(np.mean(expected))


def test_fg_ari_is_ari_over_the_pixels_of_objects():
    expected = [adjusted_rand_score(t[t > 0], p[t > 0]) for t, p in zip(TRUE, GUESS, strict=True)]
    np.testing.assert_allclose(fg_ari(TRUE, GUESS).parts["per_image"], expected)
    other = np.where(TRUE == 0, 9, TRUE)
    assert fg_ari(other, GUESS, background=9).value == pytest.approx(np.mean(expected))


def test_names_of_segments_do_not_matter():
    names = RNG.permutation(200)[:5]
    for measure in (ari, fg_ari, mbo, covering):
        assert measure(TRUE, names[GUESS]).value == measure(TRUE, GUESS).value
        assert measure(TRUE, TRUE).value == 1


def test_masks_are_judged_by_the_largest():
    masks = RNG.random((12, 5, 6, 7))
    assert ari(TRUE, masks).value == ari(TRUE, masks.argmax(axis=1)).value


def test_overlap_and_covering_worked_by_hand():
    true = np.array([[[0, 0, 1, 1, 1, 2]]])
    guess = np.array([[[5, 6, 6, 6, 7, 7]]])
    # object 1 (3 pixels): with 6, 2 / (3 + 3 - 2) = 1/2; with 7, 1 / 4. object 2 (1 pixel): with 7, 1 / 2.
    assert mbo(true, guess).value == pytest.approx(0.5)
    assert covering(true, guess).value == pytest.approx(0.5)
    guess = np.array([[[5, 6, 6, 6, 6, 7]]])
    # object 1: 3 / 4; object 2: 1
    assert mbo(true, guess).value == pytest.approx(7 / 8)
    assert covering(true, guess).value == pytest.approx((3 * 3 / 4 + 1) / 4)
    # the background, 2 pixels: best with 5, 1 / 2
    assert mbo(true, guess, background=None).value == pytest.approx((1 / 2 + 3 / 4 + 1) / 3)
    assert covering(true, guess, background=None).value == pytest.approx((2 / 2 + 9 / 4 + 1) / 6)


def test_one_segment_on_both_sides_agrees_and_on_one_side_is_chance():
    flat = np.ones((2, 3, 3), dtype=int)
    halves = flat.copy()
    halves[:, 0] = 2
    assert ari(flat, flat).value == 1
    assert ari(halves, flat).value == 0
    assert fg_ari(flat, flat).value == 1


def test_images_without_objects_are_left_out_and_counted():
    true = np.zeros((2, 2, 2), dtype=int)
    true[1, 0] = 1
    for measure in (fg_ari, mbo, covering):
        found = measure(true, true)
        assert found.value == 1 and found.parts["n_empty"] == 1 and "left out" in found.parts["notes"][0]
    with pytest.raises(UnknotError, match="no image has an object"):
        fg_ari(np.zeros((1, 2, 2), dtype=int), np.zeros((1, 2, 2), dtype=int))


def test_wrong_shapes_and_kinds_are_refused():
    with pytest.raises(UnknotError, match="nearest neighbour"):
        ari(TRUE, GUESS[:, :5])
    with pytest.raises(UnknotError, match="expected whole numbers"):
        ari(TRUE, GUESS.astype(float))
    with pytest.raises(UnknotError, match="true is float64"):
        ari(TRUE.astype(float), GUESS)
    masks = np.zeros((12, 2, 6, 7))
    masks[3, 1, 2, 2] = np.nan
    with pytest.raises(UnknotError, match="diverged"):
        fg_ari(TRUE, masks)


def test_values_do_not_depend_on_how_many_images_are_taken_at_a_time(monkeypatch):
    expected = fg_ari(TRUE, GUESS).parts["per_image"]
    monkeypatch.setattr("unknot.metrics.segmentation.CELLS", 50)
    np.testing.assert_array_equal(fg_ari(TRUE, GUESS).parts["per_image"], expected)
