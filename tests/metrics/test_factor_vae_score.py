"""FactorVAE score against public values, the published loop, and codes whose score is known."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.factor_vae_score import factor_vae_score

CASES = ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"]
GRID = np.stack(np.meshgrid(range(3), range(4), range(5)), axis=-1).reshape(-1, 3)
FEW = {"votes": 400, "votes_test": 300}


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_public_values_within_seed_noise(golden, case: str) -> None:
    """On M1 nearly all votes go to one latent, so the value is the share of one label among 5,000: sd 0.007."""
    arrays, values = golden(case)
    sd = {"sncnk": 0.0058, "rotated": 0.0076, "noise": 0.0065, "m1": 0.007, "m2": 0.0122, "theorem31_n4k3": 0.0063}
    found = factor_vae_score(arrays["latents"], arrays["factors"]).value
    assert found == pytest.approx(values["factor_vae_score"], abs=4 * sd.get(case, 0.0) + 0.01)


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_the_second_public_code_within_seed_noise(golden, case: str) -> None:
    arrays, values = golden(case)
    sd = {
        "sncnk": 0.0029,
        "rotated": 0.0053,
        "noise": 0.0021,
        "m1": 0.0066,
        "m2": 0.0057,
        "theorem31_n4k3": 0.0048,
    }
    found = [factor_vae_score(arrays["latents"], arrays["factors"], rng=seed).value for seed in range(5)]
    assert np.mean(found) == pytest.approx(values["ubi_z_min_var"], abs=4 * sd.get(case, 0.0) + 0.01)


def _published(latents: np.ndarray, factors: np.ndarray, votes: int, votes_test: int, batch: int) -> float:
    """The published loop: one vote at a time, rows looked up by their value."""
    rng = np.random.default_rng(11)
    rows = [{v: np.flatnonzero(column == v) for v in np.unique(column)} for column in factors.T]
    variance = latents[rng.integers(len(latents), size=10_000)].var(axis=0, ddof=1)
    cast = []
    for _ in range(votes + votes_test):
        j = rng.integers(factors.shape[1])
        chosen = rng.choice(rows[j][factors[rng.integers(len(latents)), j]], size=batch)
        cast.append(((latents[chosen].var(axis=0, ddof=1) / variance).argmin(), j))
    table = np.zeros((latents.shape[1], factors.shape[1]))
    for latent, j in cast[:votes]:
        table[latent, j] += 1
    return float(np.mean([table[latent].argmax() == j for latent, j in cast[votes:]]))


def test_agrees_with_the_published_loop() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4, 5], size=(2000, 3))
    latents = factors / [2, 3, 4] @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + 0.1 * rng.normal(size=(2000, 3))
    wanted = _published(latents, factors, 1500, 1500, 16)
    found = [
        factor_vae_score(latents, factors, votes=1500, votes_test=1500, batch=16, rng=s).value for s in range(5)
    ]
    assert 0.4 < wanted < 0.95
    assert np.mean(found) == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize("copies", [1, 2])
def test_is_one_for_a_perfect_code_even_if_every_latent_is_repeated(copies: int) -> None:
    score = factor_vae_score(np.hstack([GRID * 1.0] * copies), GRID, **FEW)
    assert score.value == 1
    assert score.parts["prediction"][:3] == ["0", "1", "2"]
    assert score.parts["votes"].sum() == 400
    if copies == 2:  # ties go to the lower latent, so the copies never win and predict none
        assert score.parts["prediction"][3:] == [None] * 3


def test_a_dead_latent_never_votes() -> None:
    code = np.insert(GRID * 1.0, 0, 3.0, axis=1)
    for threshold in (0.05, 0.0):
        score = factor_vae_score(code, GRID, threshold=threshold, **FEW)
        assert score.value == 1
        assert score.parts["active"].tolist() == [False, True, True, True]


def test_no_active_latent_is_zero_and_says_so() -> None:
    score = factor_vae_score(np.ones((len(GRID), 2)), GRID, **FEW)
    assert score.value == 0
    assert any("no latent" in note for note in score.parts["notes"])


def test_the_threshold_is_a_standard_deviation() -> None:
    code = GRID / GRID.std(axis=0)
    assert factor_vae_score(code * 0.055, GRID, **FEW).value == 1  # variance 0.003
    assert factor_vae_score(code * 0.045, GRID, **FEW).value == 0


def test_a_relative_threshold_does_not_depend_on_scale() -> None:
    rng = np.random.default_rng(0)
    code = GRID @ rng.normal(size=(3, 3))
    options = {"relative": True, **FEW}
    plain = factor_vae_score(code, GRID, **options)
    small = factor_vae_score(code * 2.0**-20, GRID, **options)
    assert small.value == plain.value > 0.3
    np.testing.assert_array_equal(small.parts["active"], plain.parts["active"])
    lopsided = factor_vae_score(code * [1.0, 1.0, 1e-6], GRID, **options)
    assert lopsided.parts["active"].tolist() == [True, True, False]


def test_per_factor_values_average_to_the_score_by_votes() -> None:
    rng = np.random.default_rng(0)
    score = factor_vae_score(GRID + rng.normal(size=GRID.shape), GRID, **FEW)
    assert score.parts["per_factor"].min() <= score.value <= score.parts["per_factor"].max()


def test_seed_decides() -> None:
    latents = np.random.default_rng(0).normal(size=(300, 3))
    factors = np.random.default_rng(1).integers(0, 3, size=(300, 2))
    assert (
        factor_vae_score(latents, factors, rng=1, **FEW).value
        == factor_vae_score(latents, factors, rng=1, **FEW).value
    )
    assert len({factor_vae_score(latents, factors, rng=s, **FEW).value for s in range(4)}) > 1


def test_wrong_numbers_are_named() -> None:
    with pytest.raises(UnknotError, match="batch=1"):
        factor_vae_score(GRID * 1.0, GRID, batch=1)
    with pytest.raises(UnknotError, match="threshold is -1"):
        factor_vae_score(GRID * 1.0, GRID, threshold=-1)
