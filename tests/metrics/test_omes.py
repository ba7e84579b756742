"""OMES by hand, and beside a slow version that follows the definition pair by pair."""

import itertools

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.omes import omes


def _grid(*sizes: int) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, sizes))))


def _slow(z: np.ndarray, y: np.ndarray, alpha: float = 0.5, best: bool = False) -> float:
    (n, d), k = z.shape, y.shape[1]
    moved = np.zeros((d, k))
    for j in range(k):
        others = [c for c in range(k) if c != j]
        pairs = [
            (a, b)
            for a in range(n)
            for b in range(n)
            if (y[a, others] == y[b, others]).all() and y[a, j] != y[b, j]
        ]
        for i in range(d):
            moved[i, j] = 1 - abs(np.corrcoef([z[a, i] for a, _ in pairs], [z[b, i] for _, b in pairs])[0, 1])
    scores = []
    for j in range(k):
        values = []
        for i in range(d):
            overlap = 1 - np.mean([abs((c == j) - moved[i, c]) for c in range(k)])
            encoding = 1 - np.mean([abs((m == i) - moved[m, j]) for m in range(d)])
            values.append(moved[i, j] * (alpha * overlap + (1 - alpha) * encoding))
        scores.append(max(values) if best else np.average(values, weights=moved[:, j]))
    return float(np.mean(scores))


def test_a_perfect_code_of_three_values_by_hand() -> None:
    y = _grid(3, 3)
    # distinct values of three correlate by -1/2, so S is half the identity: 1/2 (1 - 1/4)
    assert omes(y * 1.0, y).value == pytest.approx(0.375)
    assert omes(y * 1.0, y, pooling="max").value == pytest.approx(0.375)


@pytest.mark.parametrize("pooling", ["average", "max"])
def test_omes_is_what_its_definition_gives(pooling: str) -> None:
    rng = np.random.default_rng(0)
    y = _grid(3, 4, 3)
    z = np.hstack([y @ rng.normal(size=(3, 3)), rng.normal(size=(len(y), 1))])
    score = omes(z, y, pooling=pooling, alpha=0.3)
    assert score.value == pytest.approx(_slow(z, y, 0.3, pooling == "max"))


def test_a_perfect_code_is_above_a_rotated_one_and_noise() -> None:
    y = _grid(8, 8)
    # S is 6/7 for the latent that moves; turned by 45 degrees, both move by 4/7
    perfect, rotated = omes(y * 1.0, y).value, omes(y @ np.array([[1.0, 1.0], [1.0, -1.0]]), y).value
    assert perfect == pytest.approx(6 / 7 * (1 - 1 / 14)) and rotated == pytest.approx(4 / 7 * 0.5)
    assert omes(np.random.default_rng(0).normal(size=(64, 2)), y).value < perfect - 0.2
    assert omes(y * 1.0, y, pairs=400).value == pytest.approx(perfect, abs=0.1)


def test_dead_latents_two_values_and_rows_without_pairs() -> None:
    y = _grid(2, 4, 4)
    score = omes(np.hstack([y, np.zeros((32, 1))]) * 1.0, y)
    assert not score.parts["active"][3] and np.isnan(score.parts["association"][3]).all()
    assert score.parts["per_factor"][0] == 0 and "two values" in score.parts["notes"][0]
    with pytest.raises(UnknotError, match=r"0 pair\(s\) of rows differ in factor"):
        omes(y[::5] * 1.0, np.column_stack([np.arange(7), np.arange(7)[::-1]]))


def test_huge_latents_score_as_if_they_were_small() -> None:
    factors = np.array(list(itertools.product(range(3), range(4))))
    latents = np.random.default_rng(0).normal(size=(len(factors), 3))
    assert omes(latents * 2.0**400, factors).value == omes(latents, factors).value
