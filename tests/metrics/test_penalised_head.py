import warnings

import numpy as np
import pytest

from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.ridge import Gram


def _table(n, d, n_classes, noise, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, size=n + 500)
    z = rng.normal(size=(n_classes, d))[y] + noise * rng.normal(size=(n + 500, d))
    return z[:n], y[:n], z[n:], y[n:]


def _heads(z, z_test):
    return PenalisedHeads(Gram.of(z, z_test))


@pytest.mark.parametrize(("n", "d"), [(300, 4), (120, 200)])
def test_weights_are_the_optimum_of_the_penalised_loss(n, d):
    from sklearn.linear_model import LogisticRegression

    z, y, z_test, _ = _table(n, d, 3, 2.0)
    head = _heads(z, z_test).fit(y, 3, np.random.default_rng(0))
    x, x_test = ((a - z.mean(axis=0)) / z.std(axis=0) for a in (z, z_test))
    peer = LogisticRegression(C=1 / head.penalty, tol=1e-8, max_iter=10_000).fit(x, y)
    assert np.mean(peer.predict(x_test) == head.test) >= 0.99  # rows on a boundary
    assert np.mean(peer.predict(x) == head.train) >= 0.99


@pytest.mark.parametrize("noise", [1.0, 3.0, 8.0])
def test_accuracy_is_that_of_scikit_learns_cross_validation(noise):
    from sklearn.linear_model import LogisticRegressionCV

    z, y, z_test, y_test = _table(400, 300, 4, noise)
    head = _heads(z, z_test).fit(y, 4, np.random.default_rng(0))
    x, x_test = ((a - z.mean(axis=0)) / z.std(axis=0) for a in (z, z_test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LogisticRegressionCV(Cs=10, cv=5).fit(x, y)
        theirs = float(np.mean(peer.predict(x_test) == y_test))
    assert np.mean(head.test == y_test) >= theirs - 0.02  # 500 rows


def test_two_classes_and_a_rare_one():
    z, y, z_test, y_test = _table(400, 5, 2, 0.1)
    assert np.mean(_heads(z, z_test).fit(y, 2, np.random.default_rng(0)).test == y_test) == 1.0
    rare = (np.arange(400) % 50 == 0).astype(np.int64)
    z[:, 0] = rare + 0.01 * z[:, 1]
    assert np.mean(_heads(z, z_test).fit(rare, 2, np.random.default_rng(0)).train == rare) == 1.0


def test_noise_is_guessed_at_the_most_common_class():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.3).astype(np.int64)
    head = _heads(rng.normal(size=(600, 300)), rng.normal(size=(400, 300))).fit(y, 2, rng)
    assert np.mean(head.test == 0) > 0.95


def test_the_same_generator_gives_the_same_head():
    z, y, z_test, _ = _table(200, 20, 3, 2.0)
    one, other = (_heads(z, z_test).fit(y, 3, np.random.default_rng(5)) for _ in range(2))
    assert one.penalty == other.penalty
    np.testing.assert_array_equal(one.test, other.test)
