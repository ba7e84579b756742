import sys

import numpy as np
import pytest
from sklearn.linear_model import LassoCV

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics._predictors import ALPHAS
from unknot.metrics.dci import dci
from unknot.metrics.score import identity

MODELS = ("gbt", "gbt_fast", "lightgbm", "forest", "lasso")


def _grid(*sizes, repeat=8):
    mesh = np.meshgrid(*(range(size) for size in sizes), indexing="ij")
    return np.stack(mesh, axis=-1).reshape(-1, len(sizes)).repeat(repeat, axis=0)


def _leaky(n=400, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (3, 4, 5), size=(n, 3))
    return factors @ (np.eye(3, 5) + 0.2 * rng.normal(size=(3, 5))) + 0.2 * rng.normal(size=(n, 5)), factors


def _slow(importance):
    """D and C from their definitions, one latent and one factor at a time."""
    d, k = importance.shape
    value = 0.0
    for row in importance:
        share = row[row > 0] / row.sum() if row.sum() > 0 else np.array([])
        spread = -sum(p * np.log(p) for p in share) / np.log(k) if len(share) else 1.0
        value += row.sum() / importance.sum() * (1 - spread)
    columns = []
    for column in importance.T:
        share = column[column > 0] / column.sum()
        columns.append(1 + sum(p * np.log(p) for p in share) / np.log(d))
    return value, np.mean(columns)


@pytest.mark.parametrize(
    ("case", "tolerance"),
    [
        ("m1", 1e-6),
        ("m2", 1e-6),
        ("perfect", 1e-6),
        ("rotated", 0.002),
        ("noise", 0.002),
        ("theorem31_n4k3", 0.05),
    ],
)
def test_boosted_trees_reproduce_stored_values(golden, case, tolerance):
    arrays, values = golden(case)
    score = dci(**arrays)
    assert score.value == pytest.approx(values["dci_gbt_disentanglement"], abs=tolerance)
    assert score.parts["completeness"] == pytest.approx(values["dci_gbt_completeness"], abs=tolerance)
    assert score.parts["informativeness"] == pytest.approx(values["dci_gbt_informativeness_test"], abs=tolerance)
    assert score.parts["informativeness_train"] == pytest.approx(
        values["dci_gbt_informativeness_train"], abs=0.005
    )


def test_boosted_trees_reproduce_stored_values_of_a_trained_model(golden):
    arrays, values = golden("sncnk")
    score = dci(**arrays)
    assert score.value == pytest.approx(values["dci_gbt_disentanglement"], abs=0.002)
    assert score.parts["completeness"] == pytest.approx(values["dci_gbt_completeness"], abs=0.002)
    assert score.parts["informativeness"] == pytest.approx(values["dci_gbt_informativeness_test"], abs=0.005)
    np.testing.assert_allclose(score.parts["importance"], values["_dci_gbt_importance"], atol=0.01)


def test_redundant_copies_leave_disentanglement_and_split_completeness(golden):
    arrays, _ = golden("perfect")
    twice = {name: np.hstack([a, -a]) if "latents" in name else a for name, a in arrays.items()}
    few = {name: array[:3000] for name, array in twice.items()}
    score = dci(**few, rounds=30)
    assert score.value == pytest.approx(1, abs=1e-6)
    assert score.parts["completeness"] == pytest.approx(1 - np.log(2) / np.log(10), abs=0.05)


@pytest.mark.parametrize("case", ["m1", "m2", "perfect", "rotated", "noise", "theorem31_n4k3", "sncnk"])
def test_lasso_reproduces_stored_values_with_their_scaling(golden, case):
    arrays, values = golden(case)
    score = dci(**arrays, model="lasso", scaling="minmax")
    # Our solver runs to convergence, the stored weights stopped a little earlier.
    np.testing.assert_allclose(score.parts["importance"], values["_dci_lasso_importance"], atol=1e-4)
    assert score.value == pytest.approx(values["dci_lasso_fixed_disentanglement"], abs=1e-4)
    assert score.parts["completeness"] == pytest.approx(values["dci_lasso_fixed_completeness"], abs=1e-4)
    assert score.value == pytest.approx(values["ubi_dci_lasso_disentanglement"], abs=1e-4)
    assert score.parts["completeness"] == pytest.approx(values["ubi_dci_lasso_completeness"], abs=1e-4)
    uniform = score.parts["informativeness_uniform"]
    assert uniform == pytest.approx(values["ubi_dci_lasso_informativeness"], abs=1e-6)


@pytest.mark.parametrize("case", ["m1", "m2"])
def test_regression_forest_reproduces_stored_values_within_the_spread_over_their_seeds(golden, case):
    arrays, values = golden(case)
    score = dci(**arrays, model="forest_regression")
    spread = {"m1": (4e-5, 0.0013), "m2": (0.0325, 0.0231)}[case]  # standard deviation over five seeds
    assert score.value == pytest.approx(values["ubi_dci_rf_disentanglement"], abs=4 * spread[0])
    assert score.parts["completeness"] == pytest.approx(values["ubi_dci_rf_completeness"], abs=4 * spread[1])
    assert score.parts["informativeness_uniform"] == values["ubi_dci_rf_informativeness"]


def test_lasso_informativeness_is_the_share_of_variance_explained():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 2))
    factors = np.stack([z[:, 0] + rng.normal(size=4000), z[:, 1]], axis=1)
    score = dci(z, factors, model="lasso")
    np.testing.assert_allclose(score.parts["informativeness_per_factor"], [0.5, 1.0], atol=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_a_reordered_code_is_disentangled_and_complete(model):
    factors = _grid(3, 4, 5)
    score = dci(factors[:, [2, 0, 1]] * np.array([1.0, -3.0, 0.5]), factors, model=model, rounds=20)
    assert score.value > (0.98 if model != "forest" else 0.8)
    assert score.parts["completeness"] > (0.98 if model != "forest" else 0.8)
    assert score.parts["informativeness"] > 0.98
    assert np.argmax(score.parts["importance"], axis=0).tolist() == [1, 2, 0]


@pytest.mark.parametrize("model", MODELS)
def test_value_and_completeness_follow_from_the_importances(model):
    score = dci(*_leaky(), model=model, rounds=10)
    value, complete = _slow(score.parts["importance"])
    assert score.value == pytest.approx(value, abs=1e-6)
    assert score.parts["completeness"] == pytest.approx(complete, abs=1e-6)
    assert score.value == pytest.approx(score.parts["per_latent"] @ score.parts["weights"], abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_order_of_latents_does_not_matter(model):
    latents, factors = _leaky()
    order = [3, 0, 4, 1, 2]
    plain, moved = (
        dci(latents, factors, model=model, rounds=5),
        dci(latents[:, order], factors, model=model, rounds=5),
    )
    assert moved.value == pytest.approx(plain.value, abs=1e-6)
    np.testing.assert_allclose(moved.parts["importance"], plain.parts["importance"][order], atol=1e-6)


def test_a_dead_latent_has_no_importance_no_weight_and_no_disentanglement():
    latents, factors = _leaky()
    latents = np.insert(latents, 2, 7.0, axis=1)
    for model in MODELS:
        parts = dci(latents, factors, model=model, rounds=3).parts
        assert not parts["importance"][2].any()
        assert parts["weights"][2] == 0
        assert parts["per_latent"][2] == pytest.approx(0, abs=1e-9)


def test_latents_that_are_all_dead_score_zero_and_predict_the_largest_class():
    factors = np.stack([np.repeat([0, 1], [30, 60]), np.tile([0, 1, 1], 30)], axis=1)
    score = dci(np.ones((90, 3)), factors, latents_test=np.ones((9, 3)), factors_test=factors[-9:])
    assert score.value == pytest.approx(0, abs=1e-9)
    assert score.parts["completeness"] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(score.parts["informativeness_per_factor"], [1, 2 / 3])


def test_a_class_that_only_test_rows_have_is_an_error_of_the_classifier():
    factors = _grid(3, 3)
    unseen = np.array([[9, 0], [0, 1]])
    score = dci(factors * 1.0, factors, latents_test=unseen.clip(0, 2) * 1.0, factors_test=unseen, rounds=5)
    np.testing.assert_allclose(score.parts["informativeness_per_factor"], [0.5, 1.0])


def test_constant_factors_are_left_out_of_every_part():
    latents, factors = _leaky()
    with pytest.warns(UnknotWarning, match="constant"):
        score = dci(latents, np.insert(factors, 1, 4, axis=1), rounds=3)
    assert score.parts["importance"].shape == (5, 4)
    assert np.isnan(score.parts["importance"][:, 1]).all()
    assert np.isnan(score.parts["per_factor"][1])
    assert score.value == pytest.approx(dci(latents, factors, rounds=3).value)


def test_one_factor_leaves_disentanglement_and_one_latent_completeness_undefined():
    latents, factors = _leaky(120)
    one_factor = dci(latents, factors[:, :1], rounds=3)
    assert np.isnan(one_factor.value)
    assert "single factor" in one_factor.parts["notes"][-1]
    one_latent = dci(latents[:, :1], factors, rounds=3)
    assert np.isnan(one_latent.parts["completeness"])
    assert "single latent" in one_latent.parts["notes"][-1]


def test_variants_have_names_of_their_own():
    assert identity(dci) == "dci[gbt]"
    assert identity(dci, model="gbt_fast") == "dci[gbt_fast]"


def test_seeds_decide_what_the_forest_draws():
    latents, factors = _leaky()
    values = [dci(latents, factors, model="forest", rng=seed).value for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]


def test_mistakes_are_named(monkeypatch):
    latents, factors = _leaky(60)
    with pytest.raises(UnknotError, match="did you mean 'forest'"):
        dci(latents, factors, model="forrest")
    with pytest.raises(UnknotError, match="unknown scaling of dci 'max'"):
        dci(latents, factors, model="lasso", scaling="max")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(UnknotError, match=r"unknot\[lightgbm\]"):
        dci(latents, factors, model="lightgbm")


def test_lasso_of_a_wide_code_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, (4, 5), size=(300, 2))
    latents = factors @ rng.normal(size=(2, 120)) + 3 * rng.normal(size=(300, 120))
    score = dci(latents, factors, latents_test=latents, factors_test=factors, model="lasso")
    z = (latents - latents.mean(axis=0)) / latents.std(axis=0)
    y = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    for j in range(2):
        peer = LassoCV(alphas=ALPHAS, cv=10, tol=1e-8, max_iter=10_000).fit(z, y[:, j])
        assert score.parts["alpha"][j] == peer.alpha_
        np.testing.assert_allclose(score.parts["importance"][:, j], np.abs(peer.coef_), atol=1e-6)
        explained = peer.score(z, y[:, j])
        assert score.parts["informativeness_per_factor"][j] == pytest.approx(explained, abs=1e-7)


def test_importances_above_chance_are_those_of_latents_that_know_something():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(400, 2))
    noise = rng.normal(size=(400, 20))
    options = {"model": "gbt", "rounds": 10}
    none = dci(noise, factors, **options, above_chance=True)
    assert (none.value, none.parts["completeness"]) == (0.0, 0.0)
    latents = np.hstack([noise, factors[:, [0]] + 0.3 * rng.normal(size=(400, 1))])
    planted = dci(latents, factors, **options, above_chance=True)
    assert np.flatnonzero(planted.parts["importance"][:, 0]).tolist() == [20]
    assert not planted.parts["importance"][:, 1].any()
    assert dci(latents, factors, **options).value < 0.9 < planted.value
    assert identity(dci, model="gbt", above_chance=True) == "dci[gbt,above_chance]"
    with pytest.raises(UnknotError, match="above_chance is of gbt and gbt_fast; model is 'lasso'"):
        dci(latents, factors, model="lasso", above_chance=True)
