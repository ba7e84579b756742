import numpy as np
import pytest
from sklearn.linear_model import Ridge

from unknot.metrics.ridge import Gram, best_penalties, ridge


def _table(n, d, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n + 50, d)) @ np.diag(rng.uniform(0.1, 3, size=d)) + 5
    y = z @ rng.normal(size=(d, 3)) / np.sqrt(d) + noise * rng.normal(size=(n + 50, 3))
    return z[:n], y[:n], z[n:], y[n:]


def _ridge_by_hand(z, y, z_test, penalty):
    """Normal equations of standardised latents, and the trace of the hat matrix."""
    mean, scale = z.mean(axis=0), z.std(axis=0)
    x, x_test = (z - mean) / scale, (z_test - mean) / scale
    hat = x @ np.linalg.inv(x.T @ x + penalty * np.eye(x.shape[1])) @ x.T
    w = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (y - y.mean(axis=0)))
    return x_test @ w + y.mean(axis=0), np.trace(hat), y - y.mean(axis=0) - x @ w


@pytest.mark.parametrize(("n", "d"), [(80, 1), (80, 2), (80, 12), (40, 90), (30, 30)])
def test_predictions_are_those_of_the_normal_equations(n, d):
    z, y, z_test, _ = _table(n, d)
    predicted, penalties = ridge(Gram.of(z, z_test), y)
    for j, penalty in enumerate(penalties):
        by_hand = _ridge_by_hand(z, y, z_test, penalty)[0]
        np.testing.assert_allclose(predicted[:, j], by_hand[:, j], rtol=1e-6, atol=1e-8)


def test_the_penalty_has_the_smallest_generalised_cross_validation_error_of_all_tried():
    z, y, z_test, _ = _table(60, 40)
    gram = Gram.of(z, z_test)
    chosen = best_penalties(gram, y)[1]
    grid = gram.eigenvalues.max() * np.geomspace(1e4, 1e-8, 61)
    for j in range(3):
        errors = []
        for penalty in grid:
            _, trace, residual = _ridge_by_hand(z, y[:, [j]], z_test, penalty)
            errors.append(np.sum(residual**2) / (60 - 1 - trace) ** 2)
        assert chosen[j] == pytest.approx(grid[np.argmin(errors)])


def test_more_latents_than_rows_predict_better_than_least_squares_and_as_well_as_scikit_learn():
    from sklearn.linear_model import RidgeCV

    z, y, z_test, y_test = _table(200, 180, noise=2.0)
    predicted, _ = ridge(Gram.of(z, z_test), y)
    mean, scale = z.mean(axis=0), z.std(axis=0)
    peer = RidgeCV(alphas=np.logspace(-3, 5, 33), alpha_per_target=True).fit((z - mean) / scale, y)
    plain = np.linalg.lstsq(z - mean, y - y.mean(axis=0), rcond=None)[0]
    ours, theirs, least = (
        np.mean((guess - y_test) ** 2)
        for guess in (predicted, peer.predict((z_test - mean) / scale), (z_test - mean) @ plain + y.mean(axis=0))
    )
    assert ours <= 1.02 * theirs
    assert ours < 0.5 * least


def test_dead_latents_and_noise_predict_the_mean():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(100, 2))
    dead, _ = ridge(Gram.of(np.ones((100, 3)), np.ones((7, 3))), y)
    np.testing.assert_allclose(dead, np.tile(y.mean(axis=0), (7, 1)))
    noise, _ = ridge(Gram.of(rng.normal(size=(100, 80)), rng.normal(size=(500, 80))), y)
    assert noise.std() < 0.3  # least squares has 2


def test_a_penalty_is_chosen_that_predicts_rows_from_all_others():
    rng = np.random.default_rng(6)
    z = np.hstack([rng.normal(size=(30, 6)), 5.0 * (rng.random((30, 12)) < 0.1)])  # some features are of few rows
    y = z[:, :1] + rng.normal(size=(30, 1))
    gram = Gram.of(z, z)
    _, near = best_penalties(gram, y)
    tried = near[0] * 10.0 ** np.arange(2, -0.1, -0.5)
    errors = []
    for penalty in tried:
        models = [Ridge(penalty).fit(np.delete(gram.x, i, axis=0), np.delete(y[:, 0], i)) for i in range(30)]
        errors.append(sum((model.predict(gram.x[[i]])[0] - y[i, 0]) ** 2 for i, model in enumerate(models)))
    assert ridge(gram, y)[1][0] == pytest.approx(tried[np.argmin(errors)])
    assert ridge(gram, y)[1][0] > 3 * near[0]


def test_latents_that_are_nearly_nothing_predict_the_mean() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)) * 1e-160, rng.normal(size=(60, 1))
    predictions, _ = ridge(Gram.of(x, x), y)
    np.testing.assert_allclose(predictions, np.broadcast_to(y.mean(axis=0), y.shape), atol=1e-12)


def test_of_many_rows_some_choose_a_penalty_that_predicts_as_well(monkeypatch):
    z, y, z_test, y_test = _table(900, 12, noise=3.0)
    every, penalties = ridge(Gram.of(z, z_test), y)
    monkeypatch.setattr("unknot.metrics.ridge.LEFT_OUT", 300)
    some, chosen = ridge(Gram.of(z, z_test), y)
    assert np.all(np.abs(np.log10(chosen / penalties)) < 0.6)  # the same penalty, or the next
    assert np.mean((some - y_test) ** 2) < 1.02 * np.mean((every - y_test) ** 2)


@pytest.mark.parametrize(("seed", "bump"), [(0, 40), (1, 0), (2, 1), (2, 40)])
def test_singles_choose_the_penalty_that_doubles_choose(monkeypatch, seed, bump):
    z, y, z_test, _ = _table(600, 12, seed, noise=0)
    z[:, 3] = 0.0
    z[5, 3] = 1.0  # the only row with this latent: of what it has without itself singles would leave no digit
    y[5] += bump
    penalties = ridge(Gram.of(z, z_test), y)[1]
    monkeypatch.setattr("unknot.metrics.ridge.PLENTY", 600)
    np.testing.assert_array_equal(penalties, ridge(Gram.of(z, z_test), y)[1])
