from itertools import permutations

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.mcc import mcc


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 6, 10], size=(400, 3))
    latents = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(400, 4))
    return latents, factors


@pytest.mark.parametrize("mode", ["pearson", "spearman"])
def test_mcc_agrees_with_trying_every_matching(table, mode):
    from scipy.stats import pearsonr, spearmanr

    latents, factors = table
    measure = {"pearson": pearsonr, "spearman": spearmanr}[mode]
    c = np.array([[abs(measure(z, y)[0]) for y in factors.T] for z in latents.T])
    expected = max(np.mean([c[f[j], j] for j in range(3)]) for f in permutations(range(4), 3))
    score = mcc(latents, factors, mode=mode)
    assert score.value == pytest.approx(expected)
    assert np.abs(score.parts["correlation"]) == pytest.approx(c)


def test_a_signed_scaled_permutation_has_mcc_one():
    factors = np.stack(np.meshgrid(range(4), range(3), range(2)), axis=-1).reshape(-1, 3)
    score = mcc(factors[:, [2, 0, 1]] * [-3.0, 0.1, 7.0] + 5, factors)
    assert score.value == pytest.approx(1)
    assert score.parts["matched_latent"].tolist() == [1, 2, 0]


def test_a_monotone_code_is_perfect_for_spearman_only():
    factors = np.stack(np.meshgrid(range(6), range(5)), axis=-1).reshape(-1, 2)
    assert mcc(np.exp(2.0 * factors), factors).value < 0.9
    assert mcc(np.exp(2.0 * factors), factors, mode="spearman").value == pytest.approx(1)


def test_a_rotation_matters_unless_an_affine_map_is_fitted(golden):
    arrays, _ = golden("rotated")
    assert mcc(arrays["latents"], arrays["factors"]).value < 0.8
    assert mcc(**{k: v[:3000] for k, v in arrays.items()}, mode="affine").value == pytest.approx(1, abs=1e-4)


def test_the_affine_fit_is_judged_on_held_out_rows():
    rng = np.random.default_rng(1)
    latents, factors = rng.normal(size=(200, 100)), rng.integers(0, 5, size=(200, 1))
    held_out = mcc(latents, factors, mode="affine").value
    in_sample = mcc(latents, factors, latents_test=latents, factors_test=factors, mode="affine").value
    assert in_sample > 0.5 > held_out


def test_real_valued_factors_are_used_as_they_are():
    rng = np.random.default_rng(2)
    factors = rng.normal(size=(300, 2))
    assert mcc(-factors, factors).value == pytest.approx(1)


def test_factors_left_without_a_latent_count_as_zero_and_are_named():
    factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    score = mcc(factors[:, 1:] * 1.0, factors)
    assert score.value == pytest.approx(0.5)
    assert score.parts["matched_latent"].tolist() == [-1, 0]
    assert "1 latent(s) for 2 factors: 0 counted as 0" in score.parts["notes"][0]


@pytest.mark.parametrize("mode", ["pearson", "spearman", "affine"])
def test_dead_latents_correlate_with_nothing(table, mode):
    _, factors = table
    rounding = 1e8 + np.random.default_rng(3).choice([0, 1.5e-8], size=(400, 4))
    assert mcc(rounding, factors, mode=mode).value == 0


def test_constant_factors_are_left_out(table):
    latents, factors = table
    with pytest.warns(UnknotWarning):
        score = mcc(latents, np.insert(factors, 1, 4, axis=1))
    assert score.value == pytest.approx(mcc(latents, factors).value)


def test_an_unknown_mode_is_refused(table):
    with pytest.raises(UnknotError, match="did you mean 'pearson'"):
        mcc(*table, mode="person")
