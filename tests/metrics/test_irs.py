"""IRS against the definition written out, public values and cases worked by hand."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.irs import irs

CASES = ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("name", "quantile", "rebin"),
    [
        ("irs_q0.99_rawfactors", 0.99, None),
        ("irs_q1_rawfactors", 1.0, None),
        ("irs_q0.99", 0.99, 20),
        ("irs_q1", 1.0, 20),
        ("ubi_irs_q1", 1.0, None),
    ],
)
def test_agrees_with_public_values(golden, case: str, name: str, quantile: float, rebin: int | None) -> None:
    arrays, values = golden(case)
    score = irs(arrays["latents"], arrays["factors"], quantile=quantile, rebin=rebin)
    assert score.value == pytest.approx(values[name], rel=1e-6, abs=1e-9)


def _slow(latents: np.ndarray, factors: np.ndarray, q: float, weighted: bool) -> float:
    norm = np.abs(latents - latents.mean(0)).max(0)
    robustness = np.empty((latents.shape[1], factors.shape[1]))
    for i in range(latents.shape[1]):
        for j in range(factors.shape[1]):
            groups = [latents[factors[:, j] == g, i] for g in np.unique(factors[:, j])]
            deviations = [np.quantile(np.abs(group - group.mean()), q) for group in groups]
            weights = [len(group) for group in groups] if weighted else None
            robustness[i, j] = 1 - np.average(deviations, weights=weights) / norm[i]
    return float(np.average(robustness.max(1), weights=norm))


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_definition_written_out(q: float, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    factors = np.column_stack([rng.integers(0, 4, 500), rng.binomial(3, 0.3, 500)])
    latents = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(500, 3)) * [0.1, 1, 3]
    latents[:, 1] = np.round(latents[:, 1])  # ties
    score = irs(latents, factors, quantile=q, weighted=weighted)
    assert score.value == pytest.approx(_slow(latents, factors, q, weighted), abs=1e-12)


def test_a_skewed_group_can_make_it_negative() -> None:
    """M1: z1 is 1 in three quarters of a group whose mean is 3/4; its last quarter lies 3/4 off, the norm is 1/2."""
    c, s, coin = (part.ravel() for part in np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"))
    z1 = np.where(c == s, c, coin)
    score = irs(np.column_stack([z1, coin]) * 1.0, np.column_stack([c, s]), quantile=1.0)
    np.testing.assert_allclose(score.parts["robustness"][0], [-0.5, -0.5])
    np.testing.assert_allclose(score.parts["robustness"][1], [0.0, 0.0])
    assert score.value == pytest.approx(-0.25)


def test_parents_are_the_factors_that_latents_follow() -> None:
    factors = np.stack(np.meshgrid(range(3), range(4), range(5)), axis=-1).reshape(-1, 3)
    score = irs(factors[:, [2, 0]] * 1.0, factors)
    assert score.parts["parents"].tolist() == [2, 0]
    assert score.value == pytest.approx(1)


def test_dead_latents_do_not_count() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, size=(90, 2))
    latents = factors + rng.normal(size=(90, 2))
    with_dead = np.insert(latents, 1, 4.0, axis=1)
    score = irs(with_dead, factors)
    assert score.value == pytest.approx(irs(latents, factors).value)
    assert np.isnan(score.parts["per_latent"][1]) and score.parts["parents"][1] == -1
    assert any("without variance" in note for note in score.parts["notes"])
    assert irs(np.ones((90, 2)), factors).value == 0


def test_rebinning_merges_values_of_large_factors() -> None:
    factors = np.column_stack([np.arange(400) % 40, np.arange(400) // 200])
    latents = factors[:, :1] * 1.0
    assert irs(latents, factors).value == pytest.approx(1)
    assert irs(latents, factors, rebin=20).value < 0.99


def test_wrong_options_are_named() -> None:
    factors = np.array([[0, 1], [1, 0], [1, 1]])
    with pytest.raises(UnknotError, match=r"quantile is 99"):
        irs(factors * 1.0, factors, quantile=99)
    with pytest.raises(UnknotError, match="rebin is 0"):
        irs(factors * 1.0, factors, rebin=0)
