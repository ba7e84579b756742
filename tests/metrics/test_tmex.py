"""T-MEX: conditional independences as they should be, and not."""

import numpy as np
import pytest

from unknot import UnknotError
from unknot.metrics.tmex import tmex


def _table(n: int = 2000) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, n)
    second = np.where(rng.random(n) < 0.7, first, rng.integers(0, 5, n))
    return np.column_stack([first, second, rng.integers(0, 4, n)]), rng


def test_noise_about_dependent_factors_is_no_mixture() -> None:
    factors, rng = _table()
    noisy = np.exp(factors / 2) + rng.normal(size=factors.shape)
    score = tmex(noisy[:, ::-1], factors, level=0.001)
    assert score.value == 0 and score.parts["matched_latent"].tolist() == [2, 1, 0]
    assert tmex(noisy @ [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], factors, level=0.001).value == 1


def test_tests_of_noise_reject_as_often_as_their_level_says() -> None:
    factors, rng = _table(600)
    p = np.concatenate([tmex(rng.normal(size=(600, 10)), factors).parts["p"].ravel() for _ in range(20)])
    assert 0.03 < np.mean(p < 0.05) < 0.08
    many = rng.integers(0, 20, (300, 2))
    p = np.concatenate([tmex(rng.normal(size=(300, 20)), many).parts["p"].ravel() for _ in range(20)])
    assert 0.02 < np.mean(p < 0.05) < 0.1


def test_what_cannot_be_told_counts_as_missing() -> None:
    factors, _ = _table()
    copied = np.column_stack([factors[:, 0], factors[:, 0], factors[:, 2]])
    assert tmex(copied * 1.0, copied).parts["per_factor"].tolist() == [1, 1, 0]
    assert tmex(np.zeros((2000, 2)), factors).value == 3
    few = tmex(factors[:, :2] * 1.0, factors)
    assert few.value == 1 and "2 latent(s) for 3 factors: 1 have none" in few.parts["notes"][0]
    with pytest.raises(UnknotError, match="tmex: level is 0; expected a number between 0 and 1"):
        tmex(factors * 1.0, factors, level=0)
