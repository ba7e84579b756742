"""Faults of estimation, each once measured: what a number says does not depend on how the rows came."""

import numpy as np
import pytest

import unknot
from unknot.errors import UnknotError
from unknot.metrics.jemmig import jemmig
from unknot.metrics.mig import mig
from unknot.metrics.probes import mlp_accuracy
from unknot.metrics.snc import snc

Rng = np.random.Generator


@pytest.fixture
def rng() -> Rng:
    return np.random.default_rng(0)


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_snc_of_a_perfect_code_is_1_however_the_classes_are_drawn(n: int, rng: Rng) -> None:
    even, uneven = rng.integers(0, 40, n), rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    factors = np.column_stack([even, uneven])
    latents = factors + 1e-6 * rng.normal(size=factors.shape)
    assert snc(latents, factors).value == 1.0
    assert snc(latents[:, [0]], factors[:, [0]], bins="equal").value < 0.95  # the rule of before


def test_snc_of_noise_stays_at_chance(rng: Rng) -> None:
    assert snc(rng.normal(size=(10_000, 5)), rng.integers(0, 10, (10_000, 3))).value < 0.01


def test_the_order_of_latents_that_tie_does_not_matter(rng: Rng) -> None:
    # Both latents tell the halves of four classes apart; one of them tells nothing else, the other everything.
    factor = np.repeat(np.arange(2), 500)
    clean, spread = factor.astype(float), factor + rng.uniform(0, 0.9, 1000)
    latents = np.column_stack([clean, spread])
    for metric in (jemmig, lambda z, y: snc(z, y, latents_test=z, factors_test=y)):
        assert metric(latents, factor[:, None]).value == pytest.approx(
            metric(latents[:, ::-1], factor[:, None]).value
        )


def test_classes_written_as_fractions_are_classes(rng: Rng) -> None:
    factors = rng.integers(0, 40, (5_000, 2))
    latents = factors + 0.3 * rng.normal(size=factors.shape)
    for metric in (mig, snc):
        as_fractions = metric(latents, factors * 0.1)
        assert as_fractions.value == metric(latents, factors).value
        assert not any("cut into" in note for note in as_fractions.parts["notes"])
    measured = rng.normal(size=(5_000, 1))
    assert any("cut into 20 bins" in note for note in mig(measured, measured).parts["notes"])


def test_copies_of_a_row_are_held_out_together(rng: Rng) -> None:
    latents, factors = rng.normal(size=(300, 5)), rng.integers(0, 2, (300, 1))
    score = mlp_accuracy(np.tile(latents, (10, 1)), np.tile(factors, (10, 1)))
    assert score.value < 0.7
    assert any("copies of a row" in note for note in score.parts["notes"])
    assert not mlp_accuracy(latents, factors).parts["notes"]
    discrete = rng.integers(0, 3, (900, 2))  # whose equal rows are not copies
    assert mlp_accuracy(discrete * 1.0, discrete).value == 1.0


def test_noise_in_few_rows_is_no_knowledge(rng: Rng) -> None:
    card = unknot.score(rng.normal(size=(100, 10)), rng.integers(0, 2, (100, 40)), metrics=["mig"])
    assert sum(verdict.latent is not None for verdict in card.verdicts) <= 2


def test_one_outlier_does_not_hide_a_latent_from_the_verdict(rng: Rng) -> None:
    factors = rng.integers(0, 4, (2_000, 1))
    latents = factors + 0.01 * rng.normal(size=factors.shape)
    latents[0] = 1e6
    (verdict,) = unknot.score(latents, factors, metrics=["mcc"]).verdicts
    assert verdict.latent == 0 and verdict.share > 0.95


def test_mig_says_that_few_bins_keep_it_below_1(rng: Rng) -> None:
    factors = rng.integers(0, 40, (5_000, 1))
    assert any("the gap is at most: 0 (40 classes) 0.81" in n for n in mig(factors, factors).parts["notes"])
    assert not any("at most" in note for note in mig(factors, factors, bins=40).parts["notes"])


def test_corrected_information_of_few_rows_is_1_for_all_and_0_for_nothing() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 40, size=(200, 2))
    noise = rng.normal(size=(200, 3))
    perfect = np.hstack([factors + 1e-6 * rng.normal(size=factors.shape), noise])
    how = {"bins": "auto", "corrected": True}
    assert mig(perfect, factors).value < 0.5  # 20 bins hold no 40 classes, and noise in few rows seems to know
    assert mig(perfect, factors, **how).value > 0.95 and mig(noise, factors, **how).value < 0.03


def test_what_is_subtracted_is_the_mean_over_permutations() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, size=(60, 1))
    latents = factors + rng.normal(size=(60, 1))
    score = mig(latents, factors, corrected=True)
    information, entropy = score.parts["mutual_information"][0, 0], score.parts["entropy"][0]
    torn = [mig(latents, factors[rng.permutation(60)]).parts["mutual_information"][0, 0] for _ in range(2000)]
    by_hand = (information - np.mean(torn)) / (entropy - np.mean(torn))
    assert score.value == pytest.approx(by_hand, abs=0.01)


def test_bins_by_the_data_hold_every_class() -> None:
    factors = np.random.default_rng(0).integers(0, 60, size=(20_000, 2))
    assert mig(factors * 1.0, factors).value < 0.8 and mig(factors * 1.0, factors, bins="auto").value > 0.97
    with pytest.raises(UnknotError, match="corrected is for bins of equal width"):
        mig(factors, factors, corrected=True, normaliser="code")
