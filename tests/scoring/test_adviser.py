"""Each warning of a card is raised by its example, says which metrics it is about, and not by a code that is fine."""

import itertools
from typing import Any

import numpy as np
import pytest

import unknot
from unknot.examples.misleading import MISLEADING, misleading
from unknot.metrics import METRICS
from unknot.scoring import observed
from unknot.scoring.adviser import ROWS, RULES
from unknot.scoring.record import scorecard_record
from unknot.scoring.scoring import plan, scorecard
from unknot.scoring.yardsticks import drawn

SUPERVISED = [name for name, metric in METRICS.items() if metric.facts.assumes]
TASKS = [*SUPERVISED, "dci[lasso]"]


# The metrics that an example must be about; others assume the same and are not misled by it.
MISLED = {
    "independent factors": {"mig", "mig_sup", "dcimig", "med", "infomec"},
    "ordered classes": {"mcc", "r2", "sap", "dci"},
    "straight latents": {"r2"},
    "classes at the ends": {"sap"},
    "evenly spread latents": {"mig", "mig_sup", "dcimig", "sap"},
    "informed latents": {"modularity", "mig_sup", "infomec", "irs"},
    "unmixed latents": {"mcc", "factor_vae_score", "beta_vae_score"},
    "one latent for each factor": {"mcc", "dcimig", "jemmig", "mig_sup"},
    "many rows": {"mig_sup", "med", "sap", "dci"},
    "balanced classes": {"snc", "linear_accuracy"},
    "as many latents as factors": {"mcc", "snc", "nk", "tmex"},
    "latents that differ": {"mig", "jemmig", "sap", "nk"},
}


@pytest.mark.parametrize("name", MISLEADING)
def test_an_example_raises_its_warning(name: str) -> None:
    latents, factors = misleading(name)
    todo = plan(unknot.Representation(latents, factors), metrics=TASKS)
    advice = {each.assumption: each for each in todo.advice}
    assumed = {metric for metric in SUPERVISED if name in METRICS[metric].facts.assumes}
    lasso = {"dci"} if name in METRICS["dci"].facts.assumed({"model": "lasso"}) else set()
    assert name in advice and set(advice[name].metrics) <= assumed | lasso
    assert set(advice[name].metrics) >= MISLED[name]
    assert f"unknot.examples.misleading('{name}')" in str(advice[name]) and "read " in str(advice[name])


def test_latents_that_are_all_constant_raise_none() -> None:
    factors = np.random.default_rng(0).integers(0, 4, size=(60, 2))
    assert not plan(unknot.Representation(np.ones((60, 3)), factors), metrics=TASKS).advice


def test_noise_does_not_crowd_in_few_bins() -> None:
    rng = np.random.default_rng(0)
    todo = plan(
        unknot.Representation(rng.normal(size=(1000, 5)), rng.integers(0, 4, size=(1000, 5))), metrics=["mig"]
    )
    assert todo.advice == []


def test_a_code_that_is_fine_raises_none() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4, 6], size=(3000, 3))
    latents = factors + 0.1 * rng.normal(size=factors.shape)
    assert plan(unknot.Representation(latents, factors), metrics=SUPERVISED).advice == []
    assert plan(unknot.Representation(latents), metrics=["rankme"]).advice == []


def test_two_classes_of_nearly_the_same_size_are_balanced() -> None:
    rng = np.random.default_rng(0)
    for share, warned in ((0.53, False), (0.85, True)):
        factors = (rng.random((2000, 2)) < share).astype(int)
        latents = factors + 0.1 * rng.normal(size=factors.shape)
        advice = plan(unknot.Representation(latents, factors), metrics=["snc"]).advice
        assert [each.assumption for each in advice] == ["balanced classes"] * warned


def test_every_assumption_has_a_rule_and_an_example() -> None:
    assumed = {assumption for metric in METRICS.values() for assumption in metric.facts.assumes}
    assert assumed == set(RULES) == set(MISLEADING)


def test_advice_is_of_the_metrics_on_the_card_and_in_its_record() -> None:
    latents, factors = misleading("independent factors")
    todo = plan(unknot.Representation(latents, factors), metrics=["mig_sup", "explicitness"])
    (advice,) = todo.advice
    assert advice.metrics == ("mig_sup",) and "conditional_mig" in str(advice)
    assert scorecard_record(scorecard(todo, []))["advice"][0]["text"] == str(advice)
    assert plan(unknot.Representation(latents, factors), metrics=["explicitness"]).advice == []


def test_gaps_constants_and_single_rows_are_looked_over() -> None:
    latents, factors = misleading("unmixed latents", n=400)
    gappy = factors.astype(float)
    gappy[::7, 0] = np.nan
    assert "unmixed latents" in {
        a.assumption for a in plan(unknot.Representation(latents, gappy), metrics=["mcc"]).advice
    }
    constant = np.hstack([latents, np.full((400, 2), 3.0)])
    assert plan(unknot.Representation(constant, factors), metrics=["mcc", "modularity"]).advice
    nearly = factors[:, :2].astype(float)
    nearly[200:, 0], nearly[:199, 1] = np.nan, np.nan  # one row has both labels
    assert plan(unknot.Representation(latents, nearly), metrics=["sap"]).advice == []


def test_where_no_row_has_all_labels_there_is_no_advice() -> None:
    rng = np.random.default_rng(0)
    latents, factors = rng.normal(size=(200, 4)), rng.integers(0, 3, size=(200, 2)).astype(float)
    factors[:100, 0], factors[100:, 1] = np.nan, np.nan
    assert plan(unknot.Representation(latents, factors), metrics=["mig"]).advice == []


def test_a_grid_in_order_has_the_advice_of_its_rows_in_any_order() -> None:
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(5), range(10), range(5), range(20))) * 2)
    assumptions = [
        [each.assumption for each in plan(unknot.Representation(rows * 1.0, rows), metrics=["sap"]).advice]
        for rows in (grid, rng.permutation(grid))
    ]
    assert assumptions == [["classes at the ends"]] * 2


def test_a_factor_that_hardly_ever_varies_does_not_silence_the_others() -> None:
    latents, factors = misleading("unmixed latents", n=6000)
    rare = np.zeros((6000, 1), dtype=np.int64)
    rare[int(np.setdiff1d(np.arange(6000), drawn(6000, ROWS))[0])] = 1
    advice = plan(unknot.Representation(latents, np.hstack([factors, rare])), metrics=["mcc"]).advice
    assert "unmixed latents" in {each.assumption for each in advice}


def test_known_codes_are_scored_once_for_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    latents, factors = misleading("independent factors")
    calls: list[Any] = []
    original = observed.yardstick
    monkeypatch.setattr(
        observed, "yardstick", lambda metric, *others: calls.append(metric) or original(metric, *others)
    )
    assert plan(unknot.Representation(latents, factors), metrics=["sap", "sap[regression]"]).advice
    assert len(calls) == 2


@pytest.mark.parametrize(("k", "classes"), [(30, 16), (16, 3)])
def test_of_many_factors_nothing_slow_is_looked_at(k: int, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    factors = np.random.default_rng(0).integers(0, classes, size=(2000, k))
    monkeypatch.setattr(observed, "yardstick", None)
    if classes == 16:
        monkeypatch.setattr(observed, "given_others", None)
    (advice,) = plan(unknot.Representation(factors * 1.0, factors), metrics=["sap"]).advice
    assert advice.assumption == "classes at the ends"
