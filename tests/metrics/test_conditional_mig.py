"""Conditional MIG: right where factors depend on each other, and what least squares by hand give."""

import numpy as np
import pytest

from unknot.metrics.conditional_mig import conditional_mig
from unknot.metrics.mig import mig


def _dependent(correlation: float, n: int = 4000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    covariance = np.full((3, 3), correlation) + (1 - correlation) * np.eye(3)
    numbers = rng.multivariate_normal(np.zeros(3), covariance, n)
    return np.digitize(numbers, np.linspace(-1.5, 1.5, 7))


def test_shares_are_those_of_two_regressions() -> None:
    y = _dependent(0.5, n=300)
    z = y @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    z = z + np.random.default_rng(1).normal(size=z.shape)
    shares = conditional_mig(z, y).parts["given_others"]
    blocks = [np.eye(8)[y[:, j]] for j in range(3)]
    for i in range(3):
        for j in range(3):
            left = []
            for used in (blocks, blocks[:j] + blocks[j + 1 :]):
                design = np.hstack([np.ones((300, 1)), *used])
                weights, *_ = np.linalg.lstsq(design, z[:, i], rcond=None)
                rank = np.linalg.matrix_rank(design)
                left.append(((z[:, i] - design @ weights) ** 2).sum() / (300 - rank))
            assert shares[i, j] == pytest.approx(max(0.0, 1 - left[0] / left[1]), abs=1e-9)


def test_the_perfect_code_is_first_at_a_correlation_of_0_9() -> None:
    y = _dependent(0.9)
    rng = np.random.default_rng(2)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    noisy = y + 1.0 * rng.normal(size=y.shape)
    codes = {"perfect": y * 1.0, "rotated": y @ rotation, "noisy": noisy, "partial": y[:, :2] * 1.0}
    codes["redundant"], codes["apart"] = np.hstack([y, y]) * 1.0, y - y.mean(axis=1, keepdims=True)
    ours = {name: conditional_mig(z, y).value for name, z in codes.items()}
    assert max(ours, key=ours.__getitem__) == "perfect" and ours["perfect"] == pytest.approx(1, abs=1e-6)
    assert sorted(ours.values())[-2] < 0.8
    assert mig(codes["perfect"], y).value < 0.7  # what a latent knows through other factors narrows the gap


def test_noise_knows_nothing_and_a_determined_factor_says_nothing() -> None:
    rng = np.random.default_rng(3)
    y = _dependent(0.0, n=500)
    assert conditional_mig(rng.normal(size=(500, 4)), y).value < 0.03
    copied = np.column_stack([y[:, 0], y[:, 0] // 2])
    score = conditional_mig(copied * 1.0, copied)
    assert score.parts["per_factor"][1] == 0 and score.parts["per_factor"][0] == pytest.approx(1)
    assert conditional_mig(np.zeros((500, 2)), y).value == 0
