"""Chance as it is measured: what noise gets, nothing of what a code knows, and groups kept whole."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import unknot
from unknot.cli import app
from unknot.scoring.chance import Chance
from unknot.scoring.record import score_rows, scorecard_record, to_csv
from unknot.scoring.rows import Data
from unknot.tables.labels import labels_of


def _few_rows(noise: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 40], size=(200, 2))
    return rng.normal(size=(200, 3)) if noise else factors + 0.1 * rng.normal(size=(200, 2)), factors


def test_chance_is_what_the_loop_over_permuted_labels_gives() -> None:
    latents, factors = _few_rows(noise=False)
    chance = unknot.score(latents, factors, metrics=["mcc"], null=50, seed=3).records["mcc[pearson]"].chance
    rng = np.random.default_rng([3, 50, 1])
    loop = [unknot.metrics.METRICS["mcc"](latents, factors[rng.permutation(200)]).value for _ in range(50)]
    assert chance is not None and chance.value == pytest.approx(np.mean(loop), abs=1e-12)
    assert chance.spread == pytest.approx(np.std(loop, ddof=1)) and chance.p == 1 / 51


def test_noise_is_not_above_chance_and_a_code_is() -> None:
    for noise in (True, False):
        card = unknot.score(
            *_few_rows(noise), metrics=["mig", "jemmig", "modularity", "factor_vae_score"], null=30
        )
        for row in (row for row in score_rows(card) if not row.part):
            if noise:
                assert row.p_chance > 0.05
            elif row.metric != "modularity[bins=20]":  # which 40 classes in 200 rows give to noise as well
                assert row.p_chance < 0.05 < row.above_chance


def test_few_rows_are_given_their_chance_unasked_and_many_a_formula() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(1000, 2))
    latents = factors + rng.normal(size=(1000, 2))
    few = unknot.score(latents[:300], factors[:300], metrics=["mig", "mcc"])
    many = unknot.score(latents, factors, metrics=["mig", "snc", "factor_vae_score"])
    assert all(record.chance.permutations == 10 for record in few.records.values())
    assert many.records["mig[bins=20]"].chance is None
    assert many.records["factor_vae_score"].chance == Chance(0.5)
    assert many.records["snc[auto,eq3]"].chance == Chance(0.0)
    assert (
        unknot.score(latents[:300], factors[:300], metrics=["mig"], null=0).records["mig[bins=20]"].chance is None
    )


def test_chance_stands_in_all_forms_of_a_card(tmp_path: Path) -> None:
    latents, factors = _few_rows(noise=False)
    card = unknot.score(latents, factors, metrics=["mcc"])
    level = card.records["mcc[pearson]"].chance.value
    record = json.loads(json.dumps(scorecard_record(card)))
    assert record["scores"]["mcc[pearson]"]["chance"]["value"] == pytest.approx(level)
    assert replace(next(score_rows(record)), seconds=0) == replace(next(score_rows(card)), seconds=0)
    assert card.to_frame().chance_level[0] == level and "above_chance" in to_csv(card).splitlines()[0]
    np.savez(tmp_path / "few.npz", latents=latents, factors=factors)
    page = tmp_path / "few.html"
    result = CliRunner().invoke(
        app, ["score", str(tmp_path / "few.npz"), "--metrics", "mcc", "--null", "20", "--html", str(page)]
    )
    assert result.exit_code == 0 and "above it" in result.output and "above chance" in page.read_text()
    refused = CliRunner().invoke(app, ["score", str(tmp_path / "few.npz"), "--null", "1"])
    assert refused.exit_code == 1 and "null is 1" in str(refused.exception)


def test_a_score_below_chance_is_said_to_be_not_above_it(tmp_path: Path) -> None:
    latents, factors = _few_rows(noise=True)
    np.savez(tmp_path / "few.npz", latents=latents, factors=factors)
    card = unknot.score(tmp_path / "few.npz", metrics=["sap", "mig", "mcc"], null=20)
    below = [row for row in score_rows(card) if row.above_chance is not None and row.above_chance < 0]
    assert below
    result = CliRunner().invoke(
        app, ["score", str(tmp_path / "few.npz"), "--metrics", "sap,mig,mcc", "--null", "20"]
    )
    assert result.output.count("not above it") >= len(below) and "above it -" not in result.output


@pytest.mark.parametrize("mixed", [True, False])
def test_rows_change_labels_within_groups_or_groups_change_theirs(mixed: bool) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 5)
    labels = rng.integers(0, 3, size=(150 if mixed else 30, 2))
    labels = labels if mixed else labels[groups]
    torn = next(Data(np.zeros((150, 1)), labels_of(labels), groups=groups).torn(rng)).factors.values
    assert np.any(torn != labels)
    for group in range(30):
        own, other = labels[groups == group], torn[groups == group]
        same = sorted(map(tuple, own)) == sorted(map(tuple, other))
        assert same if mixed else len(np.unique(other, axis=0)) == 1
