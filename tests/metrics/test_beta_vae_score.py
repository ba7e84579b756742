"""BetaVAE score against public values, the published loop, and codes whose score is known."""

import warnings

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.beta_vae_score import beta_vae_score

CASES = ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"]
GRID = np.stack(np.meshgrid(range(3), range(4), range(5)), axis=-1).reshape(-1, 3)


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_public_values_within_seed_noise(golden, case: str) -> None:
    arrays, values = golden(case)
    sd = {"rotated": 0.006, "noise": 0.0035, "m1": 0.008, "m2": 0.0067, "theorem31_n4k3": 0.006}.get(case, 0.0)
    found = beta_vae_score(arrays["latents"], arrays["factors"]).value
    assert found == pytest.approx(values["beta_vae_score"], abs=4 * sd + 0.01)
    assert found == pytest.approx(values["ubi_z_diff"], abs=4 * sd + 0.01)


def _published(latents: np.ndarray, factors: np.ndarray, points: int, points_test: int, batch: int) -> float:
    """The published loop: one point at a time, rows looked up by their value."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(11)
    rows = [{v: np.flatnonzero(column == v) for v in np.unique(column)} for column in factors.T]
    features, labels = [], []
    for _ in range(points + points_test):
        j = rng.integers(factors.shape[1])
        first = rng.integers(len(latents), size=batch)
        second = np.array([rng.choice(rows[j][factors[r, j]]) for r in first])
        features.append(np.abs(latents[first] - latents[second]).mean(axis=0))
        labels.append(j)
    model = LogisticRegression(max_iter=1000).fit(features[:points], labels[:points])
    return float(model.score(features[points:], labels[points:]))


def test_agrees_with_the_published_loop() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4, 5], size=(2000, 3))
    latents = factors / [2, 3, 4] @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + 0.1 * rng.normal(size=(2000, 3))
    wanted = _published(latents, factors, 1000, 500, 8)
    found = [
        beta_vae_score(latents, factors, points=1000, points_test=500, batch=8, rng=s).value for s in range(5)
    ]
    assert 0.4 < wanted < 0.95
    assert np.mean(found) == pytest.approx(wanted, abs=0.05)


def test_regression_is_the_one_of_the_default_solver() -> None:
    from sklearn.linear_model import LogisticRegression

    from unknot.metrics._multinomial import fit_multinomial

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 500)
    features = np.abs(rng.normal(size=(500, 5))) + np.eye(4, 5)[labels]
    slow = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(features, labels)
    weights, converged = fit_multinomial(features, labels, 4)
    assert converged
    np.testing.assert_allclose(weights[:, :-1], slow.coef_, atol=1e-4)
    np.testing.assert_allclose(np.diff(weights[:, -1]), np.diff(slow.intercept_), atol=1e-4)


@pytest.mark.parametrize(("n", "d", "classes"), [(300, 4, 2), (300, 4, 3), (200, 150, 3)])
def test_every_route_of_the_regression_guesses_like_scikit_learn(n: int, d: int, classes: int) -> None:
    from sklearn.linear_model import LogisticRegression

    from unknot.metrics.beta_vae_score import _guesses

    rng = np.random.default_rng(1)
    labels = rng.integers(0, classes, n) + 5
    features = rng.normal(size=(n, d)) + np.eye(classes, d)[labels - 5]
    slow = LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit(features, labels)
    assert np.mean(_guesses(features, labels, features) == slow.predict(features)) > 0.99


@pytest.mark.parametrize("copies", [1, 2])
def test_is_one_for_a_perfect_code_even_if_every_latent_is_repeated(copies: int) -> None:
    assert beta_vae_score(np.hstack([GRID * 1.0] * copies), GRID).value == 1


def test_saturates_when_all_factors_but_one_are_encoded() -> None:
    assert beta_vae_score(GRID[:, :2] * 1.0, GRID).value > 0.99


def test_is_chance_when_latents_are_dead() -> None:
    score = beta_vae_score(np.ones((len(GRID), 2)), GRID)
    assert score.value == pytest.approx(1 / 3, abs=0.03)
    assert score.parts["chance"] == pytest.approx(1 / 3)


def test_seed_decides() -> None:
    rng = np.random.default_rng(0)
    latents = GRID @ rng.normal(size=(3, 3)) + rng.normal(size=(len(GRID), 3))
    few = {"points": 300, "points_test": 200}
    assert beta_vae_score(latents, GRID, rng=3, **few).value == beta_vae_score(latents, GRID, rng=3, **few).value
    values = {beta_vae_score(latents, GRID, rng=s, **few).value for s in range(4)}
    assert len(values) > 1


def test_one_training_point_predicts_its_own_factor() -> None:
    assert 0 <= beta_vae_score(GRID * 1.0, GRID, points=1, points_test=50).value <= 1


def test_no_convergence_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    from unknot.metrics import _multinomial

    fit = LogisticRegression.fit

    def stopped_early(self, *args):
        self.max_iter, self.solver = 1, "lbfgs"
        return fit(self, *args)

    monkeypatch.setattr(LogisticRegression, "fit", stopped_early)
    monkeypatch.setattr(_multinomial, "STEPS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for columns in ([0, 1], [0, 1, 2]):  # two factors go to scikit-learn
            with pytest.warns(UnknotWarning, match="did not converge"):
                beta_vae_score(GRID * 1.0, GRID[:, columns], points=100, points_test=50)


def test_wrong_numbers_are_named() -> None:
    with pytest.raises(UnknotError, match="batch=0"):
        beta_vae_score(GRID * 1.0, GRID, batch=0)
