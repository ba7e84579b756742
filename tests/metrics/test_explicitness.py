import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from unknot.errors import UnknotError
from unknot.metrics.explicitness import balanced_regressions, class_areas, explicitness

CASES = ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"]


def on_itself(latents, factors, **options):
    return explicitness(latents, factors, latents_test=latents, factors_test=factors, **options)


def noisy_code(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, [2, 5], size=(n, 2))
    return y @ rng.normal(size=(2, 3)) + rng.normal(scale=0.5, size=(n, 3)), y


@pytest.mark.parametrize("case", CASES)
def test_stored_values_are_met(golden, case):
    arrays, values = golden(case)
    assert explicitness(**arrays).value == pytest.approx(values["explicitness_test"], abs=1e-3)
    train = on_itself(arrays["latents"], arrays["factors"])
    assert train.value == pytest.approx(values["explicitness_train"], abs=1e-3)


@pytest.mark.parametrize("case", CASES)
def test_stored_values_of_separate_regressions_are_met(golden, case):
    arrays, values = golden(case)
    score = on_itself(arrays["latents"], arrays["factors"], one_vs_rest=True, scaled=True)
    assert score.value == pytest.approx(values["ubi_explicitness_impl2_scaled"], abs=2e-3)


@pytest.mark.parametrize("case", CASES)
def test_stored_values_of_renormalised_regressions_are_met(golden, case):
    arrays, values = golden(case)
    score = on_itself(arrays["latents"], arrays["factors"], one_vs_rest=True, renormalised=True, scaled=True)
    # On theorem31 every regression is exactly flat, and rounding ranks the rows: by kind of processor, 0.000 or 0.025.
    tolerance = 5e-2 if case == "theorem31_n4k3" else 1e-5
    assert score.value == pytest.approx(values["ubi_explicitness_impl1_scaled"], abs=tolerance)


def test_renormalising_needs_separate_regressions():
    with pytest.raises(UnknotError, match="set that too"):
        explicitness(np.eye(4), np.arange(4)[:, None] % 2, renormalised=True)


def test_areas_by_hand():
    scores = np.array([[0.1], [0.4], [0.4], [0.9]])
    # Pairs (own, rest): .4 > .1, .4 = .4, .9 > .1, .9 > .4.
    assert class_areas(scores, np.array([1, 1, 0, 0]), 1).tolist() == [3.5 / 4]


def test_areas_are_those_of_scikit_learn_also_with_ties():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    scores = np.round(rng.normal(size=(300, 4)) + (y[:, None] == np.arange(4)), 1)
    expected = [roc_auc_score(y == c, scores[:, c]) for c in range(4)]
    np.testing.assert_allclose(class_areas(scores, y, 4), expected, atol=1e-12)


def test_the_whole_score_follows_from_scikit_learn():
    z, y = noisy_code()
    z_test, y_test = noisy_code(300, seed=0)
    mean, scale = z.mean(axis=0), z.std(axis=0)
    expected = []
    for j in range(2):
        model = LogisticRegression(tol=1e-8, max_iter=2000).fit((z - mean) / scale, y[:, j])
        p = model.predict_proba((z_test - mean) / scale)
        expected.append(np.mean([roc_auc_score(y_test[:, j] == c, p[:, c]) for c in model.classes_]))
    score = explicitness(z, y, latents_test=z_test, factors_test=y_test)
    np.testing.assert_allclose(score.parts["per_factor"], expected, atol=1e-3)


def test_separate_regressions_are_those_of_scikit_learn():
    z, y = noisy_code()
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    weights = balanced_regressions(z, y[:, 1], 5)
    for c in range(5):
        model = LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=5000).fit(z, y[:, 1] == c)
        np.testing.assert_allclose(weights[:-1, c], model.coef_[0], atol=1e-4)
        np.testing.assert_allclose(weights[-1, c], model.intercept_[0], atol=1e-4)


def test_middle_levels_are_explicit_together_but_not_each_against_the_rest():
    y = np.random.default_rng(0).integers(0, 5, size=(900, 2))
    assert explicitness(y * 1.0, y).value == pytest.approx(1, abs=1e-6)
    assert explicitness(y * 1.0, y, one_vs_rest=True).value < 0.9


def test_noise_is_at_chance_and_scaled_chance_is_zero():
    rng = np.random.default_rng(0)
    y = rng.integers(0, [2, 4], size=(3000, 2))
    z = rng.normal(size=(3000, 3))
    plain, scaled = explicitness(z, y), explicitness(z, y, scaled=True)
    assert plain.value == pytest.approx(0.5, abs=0.03)
    assert scaled.value == pytest.approx(2 * plain.value - 1)


@pytest.mark.parametrize("one_vs_rest", [False, True])
def test_dead_latents_say_nothing(one_vs_rest):
    z, y = noisy_code()
    with_dead = np.insert(z, 1, 4.0, axis=1)
    assert on_itself(with_dead, y, one_vs_rest=one_vs_rest).value == pytest.approx(
        on_itself(z, y, one_vs_rest=one_vs_rest).value, abs=1e-4
    )
    assert on_itself(np.ones((len(y), 2)), y, one_vs_rest=one_vs_rest).value == 0.5


def test_classes_absent_from_test_rows_are_left_out_of_the_mean():
    z, y = noisy_code()
    test = y[:, 1] < 3
    score = explicitness(z, y, latents_test=z[test], factors_test=y[test])
    areas = score.parts["per_class"]["1"]
    assert np.isnan(areas[3:]).all() and np.isfinite(areas[:3]).all()
    assert score.parts["per_factor"][1] == pytest.approx(areas[:3].mean())


def test_a_factor_that_is_constant_in_the_test_rows_is_left_out_with_a_note():
    z, y = noisy_code()
    test = y[:, 0] == 1
    score = explicitness(z, y, latents_test=z[test], factors_test=y[test])
    assert np.isnan(score.parts["per_factor"][0])
    assert score.value == score.parts["per_factor"][1]
    assert any("'0' has no class" in note for note in score.parts["notes"])
    with pytest.raises(UnknotError, match="no factor varies in the test rows"):
        explicitness(z, y[:, :1], latents_test=z[test], factors_test=y[test][:, :1])


def test_unseen_test_values_belong_to_the_rest():
    y = np.tile(np.arange(2), 50)[:, None]
    test = np.array([[0], [1], [7]])
    score = explicitness(y * 1.0, y, latents_test=np.array([[0.0], [1.0], [2.0]]), factors_test=test)
    # Class 0 is above both others; class 1 is above 0 and below the stranger.
    np.testing.assert_allclose(score.parts["per_class"]["0"], [1.0, 0.5])
