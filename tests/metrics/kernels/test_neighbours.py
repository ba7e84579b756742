import numpy as np
import pytest
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_regression

from unknot.metrics import _neighbours
from unknot.metrics._neighbours import measured_information, neighbour_information


@pytest.mark.parametrize("neighbours", [1, 3, 10])
@pytest.mark.parametrize("n", [30, 400])
def test_compiled_information_is_that_of_one_pair_at_a_time(monkeypatch, n, neighbours):
    rng = np.random.default_rng(n)
    sizes = np.array([2, 5, 60])  # classes of one row among them
    factors = rng.integers(0, sizes, size=(n, 3))
    latents = rng.normal(size=(n, 7))
    latents[:, 1] = np.round(latents[:, 1])
    latents[:, 2] = factors[:, 1]
    latents[:, 3] = 0.0
    latents[:, 4] = np.round(latents[:, 4], 1)
    latents[:, 5] *= rng.random(n) < 0.3
    latents[:, 6] = 1e9 + factors[:, 0] * 1e-6
    slow = neighbour_information(latents, factors, sizes, neighbours)
    monkeypatch.setattr(_neighbours, "WIDE", 0)
    fast = neighbour_information(latents, factors, sizes, neighbours)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    assert slow.max() > 0.5


def slow_information(x, y, neighbours):
    """The definition with all distances."""
    x, y = x / x.std(), y / y.std()
    along, across = np.abs(x[:, None] - x), np.abs(y[:, None] - y)
    both = np.maximum(along, across)
    total = 0.0
    for i in range(len(x)):
        reach = np.sort(np.delete(both[i], i))[min(neighbours, len(x) - 1) - 1]
        reach *= 1 - 1e-9
        counts = [(d[i] < reach).sum() if reach > 0 else (d[i] == 0).sum() for d in (both, along, across)]
        total += digamma(counts[0]) - digamma(counts[1]) - digamma(counts[2])
    return max(0.0, digamma(len(x)) + total / len(x))


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_information_of_measurements_is_that_of_all_distances(neighbours):
    rng = np.random.default_rng(neighbours)
    y = rng.normal(size=(200, 2))
    y[:, 1] = np.round(y[:, 1], 1)
    latents = np.stack(
        [y[:, 0] + rng.normal(size=200), np.round(y[:, 0]), y[:, 1], *rng.normal(size=(3, 200))], axis=1
    )
    latents[:, 3] *= rng.random(200) < 0.1
    latents[:, 4] = 3e4 + y[:, 0] * 1e-3
    fast = measured_information(latents, y, neighbours)
    slow = [[slow_information(z, column, neighbours) for column in y.T] for z in latents.T]
    np.testing.assert_allclose(fast, slow, atol=1e-10)
    assert fast.max() > 1


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_information_of_measurements_is_that_of_scikit_learn_where_nothing_repeats(neighbours):
    rng = np.random.default_rng(0)
    y = rng.normal(size=600)
    noise = rng.normal(size=(4, 600))
    latents = np.stack([y + 0.01 * noise[0], -y + noise[1], np.exp(3 * y) + noise[2], noise[3]], axis=1)
    expected = mutual_info_regression(latents, y, n_neighbors=neighbours, random_state=0)
    np.testing.assert_allclose(measured_information(latents, y[:, None], neighbours)[:, 0], expected, atol=1e-9)


def test_latents_without_variance_know_no_measurement():
    assert measured_information(np.ones((50, 2)), np.arange(50.0)[:, None], 3).tolist() == [[0.0], [0.0]]


def test_rows_whose_neighbours_are_lost_in_rounding_or_overflow_count_themselves() -> None:
    classes, sizes = np.repeat([0, 1], 4)[:, None], np.array([2])
    lost = -(2.0**53) + np.array([0, 1, 2, 3, 9, 10, 11, 12])
    huge = 1.7e308 * np.array([-1.0, -0.9, -0.8, -0.7, 0.7, 0.8, 0.9, 1.0])
    for column in (lost, huge):
        (known,) = neighbour_information(column[:, None], classes, sizes, 1)
        assert known == neighbour_information(np.arange(8.0)[:, None], classes, sizes, 1)
