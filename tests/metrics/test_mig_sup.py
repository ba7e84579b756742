import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.kernels.information import factor_entropy, width_information
from unknot.metrics.mig_sup import mig_sup


def grid():
    return np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)


def test_a_latent_that_mixes_two_factors_is_worth_nothing():
    # z0 is the first factor, z1 numbers the cells of a 2 x 2 grid and knows all of both.
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    latents = np.stack([factors[:, 0], factors @ [2, 1]], axis=1).astype(float)
    score = mig_sup(latents, factors)
    assert score.parts["per_latent"] == pytest.approx([1, 0])
    assert score.value == pytest.approx(0.5)
    assert score.parts["best_factor"].tolist() == [0, 0]


def test_repeating_every_latent_keeps_the_score(golden):
    arrays, _ = golden("rotated")
    once = mig_sup(arrays["latents"], arrays["factors"]).value
    assert mig_sup(np.hstack([arrays["latents"]] * 2), arrays["factors"]).value == pytest.approx(once)


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
def test_the_code_normaliser_reproduces_the_values_of_zaidi_et_al(golden, case):
    arrays, values = golden(case)
    score = mig_sup(arrays["latents"], arrays["factors"], normaliser="code")
    assert score.value == pytest.approx(values["ubi_mig_sup_b20"], rel=1e-6, abs=1e-9)


def test_mig_sup_agrees_with_a_slow_version():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5, 2], size=(300, 3))
    latents = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    sizes = np.array([3, 5, 2])
    information = width_information(latents, factors, sizes, 9)
    entropies = factor_entropy(factors, sizes)
    gaps = []
    for row in information.tolist():
        shares = sorted(i / h for i, h in zip(row, entropies, strict=True))
        gaps.append(shares[-1] - shares[-2])
    assert mig_sup(latents, factors, bins=9).value == pytest.approx(sum(gaps) / 4)


def test_dead_latents_are_left_out_and_named():
    factors = grid()
    score = mig_sup(np.insert(factors * 1.0, 1, 2.0, axis=1), factors)
    assert score.value == pytest.approx(1)
    assert np.isnan(score.parts["per_latent"]).tolist() == [False, True, False]
    assert "without variance: 1." in score.parts["notes"][0]
    assert mig_sup(np.zeros((12, 2)), factors).value == 0


def test_one_factor_is_undefined_and_says_so():
    score = mig_sup(grid() * 1.0, grid()[:, 0])
    assert np.isnan(score.value)
    assert "one factor" in score.parts["notes"][0]


def test_an_unknown_normaliser_is_refused():
    with pytest.raises(UnknotError, match="normaliser"):
        mig_sup(grid() * 1.0, grid(), normaliser="latent")
