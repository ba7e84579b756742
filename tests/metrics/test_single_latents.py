import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from unknot.metrics.single_latents import copies, held_out_areas, single_latents


def _table(n=300, d=9, n_classes=5):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, n_classes, size=n)
    latents = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    latents[:, 0] += (classes == 2) * 1.0
    latents[:, 1] = np.round(latents[:, 1] - (classes == 1), 1)
    latents[:, 2] = 0.0
    latents[:, 3] = np.abs(latents[:, 3]) + 1.0
    latents[:, 4] = -np.abs(latents[:, 4])
    return latents.astype(np.float32), classes


def _balanced_accuracies(column, own):
    """Every cut one by one, in both directions."""
    best = 0.5
    for cut in [*np.unique(column), np.inf]:
        above = column >= cut
        for rule in (above, ~above):
            best = max(best, (np.mean(rule[own]) + np.mean(~rule[~own])) / 2)
    return best


@pytest.mark.parametrize("layout", [np.asarray, sparse.csc_matrix, sparse.csr_matrix])
def test_areas_and_cuts_are_those_of_looking_at_every_cut(layout):
    latents, classes = _table()
    result = single_latents(layout(latents), classes[:, None], np.array([5]))[0]
    for i in range(latents.shape[1]):
        for c in range(5):
            own, column = classes == c, latents[:, i]
            assert result.area[i, c] == pytest.approx(roc_auc_score(own, column), abs=1e-6)
            assert result.balanced_accuracy[i, c] == pytest.approx(_balanced_accuracies(column, own), abs=1e-6)
            rule = column >= result.cut[i, c] if result.above[i, c] else column < result.cut[i, c]
            reached = (np.mean(rule[own]) + np.mean(~rule[~own])) / 2
            assert reached == pytest.approx(result.balanced_accuracy[i, c], abs=1e-6)


def test_rows_without_a_label_and_classes_without_rows_are_left_out():
    latents, classes = _table()
    known = classes.copy()
    known[::3] = -1
    result = single_latents(sparse.csc_matrix(latents), known[:, None], np.array([6]))[0]
    rest = single_latents(latents[known >= 0], known[known >= 0, None], np.array([6]))[0]
    np.testing.assert_array_equal(result.area, rest.area)
    np.testing.assert_array_equal(result.cut, rest.cut)
    assert np.isnan(result.area[:, 5]).all()


def test_the_best_of_many_noise_latents_is_at_chance_on_rows_it_was_not_chosen_on():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, size=2_000)
    latents = rng.normal(size=(2_000, 500))
    train = single_latents(latents[:1_000], classes[:1_000, None], np.array([4]))[0]
    chosen = np.abs(train.area - 0.5).argmax(axis=0)
    assert np.abs(train.area[chosen, np.arange(4)] - 0.5).min() > 0.05  # the winner's curse
    assert np.abs(held_out_areas(latents[1_000:], classes[1_000:], chosen) - 0.5).mean() < 0.03


def test_copies_are_found_up_to_sign_and_scale(monkeypatch):
    monkeypatch.setattr("unknot.metrics.single_latents.BLOCK", 2)
    z = np.random.default_rng(0).normal(size=(500, 6))
    z[:, 4] = -3 * z[:, 1] + 7
    z[:, 3] = 2.0
    z[:, 5] = z[:, 0] + z[:, 2]
    assert copies(z).tolist() == [False, True, False, False, True, False]
