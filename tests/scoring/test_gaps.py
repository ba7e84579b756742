"""Scores where labels are missing: those of the rows that have them."""

import numpy as np
import pytest
import scipy.sparse

import unknot
from unknot import UnknotError
from unknot.errors import UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.score import Score
from unknot.scoring import redrawn
from unknot.scoring.redrawn import call
from unknot.scoring.rows import Data
from unknot.scoring.scorecard import Plan

N = 600
ALONE = [name for name, metric in METRICS.items() if metric.facts.per_factor]
SMALL = ("gbt_accuracy", "lr_accuracy")
SEEDED = {"mlp_accuracy", "gbt_accuracy"}  # what they draw for a factor goes by its place


def example(share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, [3, 4, 2], size=(N, 3)).astype(float)
    z = y @ rng.normal(size=(3, 5)) + 0.5 * rng.normal(size=(N, 5))
    y[rng.random(y.shape) < share] = np.nan
    return z, y


@pytest.mark.parametrize("name", ALONE)
def test_with_labels_missing_each_factor_has_the_score_of_its_known_rows(name: str) -> None:
    z, y = example()
    id_ = f"{name}[n=200]" if name in SMALL else name
    score = unknot.score(z, y, metrics=[id_])[name]
    for j in range(3):
        there = ~np.isnan(y[:, j])
        alone = unknot.score(z[there], y[there, j].astype(int), metrics=[id_])[name]
        np.testing.assert_allclose(score.parts["per_factor"][j], alone.value, atol=1e-12)
        assert score.parts["n_rows_per_factor"][f"factor_{j}"] == alone.parts["n_rows"]
    assert score.value == pytest.approx(np.mean(score.parts["per_factor"]), abs=1e-12)


@pytest.mark.parametrize("name", sorted({*ALONE} - SEEDED))
def test_a_metric_that_claims_so_scores_each_factor_by_itself(name: str) -> None:
    z, y = example(0)
    y = y.astype(int)
    id_ = f"{name}[n=200]" if name in SMALL else name
    whole = unknot.score(z, y, metrics=[id_])[name]
    assert whole.value == pytest.approx(np.mean(whole.parts["per_factor"]), abs=1e-12)
    for j in range(3):
        alone = unknot.score(z, y[:, j], metrics=[id_])[name]
        np.testing.assert_allclose(whole.parts["per_factor"][j], alone.value, atol=1e-12)
        for part in METRICS[name].facts.also:
            assert part in alone.parts


def test_a_metric_of_all_factors_together_uses_complete_rows_and_says_so() -> None:
    z, y = example()
    complete = ~np.isnan(y).any(axis=1)
    score = unknot.score(z, y, metrics=["modularity"])["modularity"]
    alone = unknot.score(z[complete], y[complete].astype(int), metrics=["modularity"])["modularity"]
    assert score.value == alone.value
    assert f"used the {complete.sum()} of {N} rows whose labels are all known." in score.parts["notes"]


def test_a_metric_without_labels_uses_all_rows() -> None:
    z, y = example()
    assert unknot.score(z, y, metrics=["rankme"]).values() == unknot.score(z, metrics=["rankme"]).values()


def test_without_complete_rows_what_needs_them_is_refused_with_the_way_out() -> None:
    z, y = example(0)
    y[: N // 2, 0] = np.nan
    y[N // 2 :, 1] = np.nan
    card = unknot.score(z, y, metrics=["mig", "dci"])
    assert np.isfinite(card["mig"].value)
    assert "only 0 of 600 rows have a label of every factor" in card.records["dci[gbt]"].refused
    assert "--factors" in card.records["dci[gbt]"].refused


def test_held_out_labels_may_be_missing_too() -> None:
    z, y = example(0)
    test = y[400:].copy()
    test[:50, 1] = np.nan
    card = unknot.score(z[:400], y[:400], latents_test=z[400:], factors_test=test, metrics=["r2"])
    alone = unknot.score(z[:400], y[:400, 1], latents_test=z[450:], factors_test=test[50:, 1], metrics=["r2"])
    assert card["r2"].parts["per_factor"][1] == pytest.approx(alone["r2"].value, abs=1e-12)


def test_the_rows_that_a_limit_leaves_are_known_ones() -> None:
    z, y = example(0)
    y[: N // 2, 0] = np.nan
    score = unknot.score(z, y[:, :1], metrics=["mig"], limit=200)["mig"]
    alone = unknot.score(z[N // 2 :], y[N // 2 :, :1], metrics=["mig"], limit=200)["mig"]
    assert score.parts["n_rows"] == 200
    assert score.value == pytest.approx(alone.value, abs=1e-12)


def test_intervals_hold_the_value_where_labels_are_missing() -> None:
    z, y = example()
    record = unknot.score(z, y, metrics=["mig", "sap"], bootstrap=10).records
    for each in record.values():
        assert each.interval[0] < each.score.value < each.interval[1]


def test_verdicts_look_at_the_known_rows_of_each_factor() -> None:
    z, y = example()
    card = unknot.score(z, y, metrics=["mig"])
    for j in range(3):
        there = ~np.isnan(y[:, j])
        alone = unknot.score(z[there], y[there, j], metrics=["mig"])
        np.testing.assert_array_equal(card.shares[:, j], alone.shares[:, 0])


def test_a_factor_of_one_value_where_it_is_known_is_left_out_with_the_reason() -> None:
    z, y = example(0)
    y[:, 2] = np.where(y[:, 2] == 1, 1, np.nan)
    with pytest.warns(UnknotWarning, match="left out constant"):
        card = unknot.score(z, y, metrics=["mig"])
    assert card.plan.rows.skipped == {"factor_2": "constant where it is known"}
    assert np.isnan(card["mig"].parts["per_factor"][2])
    assert np.isfinite(card["mig"].value)
    with pytest.raises(UnknotError, match="every factor is constant where it is known"):
        unknot.score(z, np.where(y[:, 2:] == 1, 1, np.nan), metrics=["mig"])


@pytest.mark.parametrize(
    "name",
    [
        "mig",
        "jemmig",
        "mig[zero+10]",
        "mig[bins=20,normaliser=code]",
        "sap[regression]",
        "sap[classification]",
        "r2[ridge]",
    ],
)
@pytest.mark.parametrize("layout", ["float32", "sparse"])
def test_of_wide_codes_too_each_factor_has_the_score_of_its_known_rows(
    name: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=(300, 110)).astype(np.float32), rng.integers(0, [3, 4, 2], size=(300, 3)).astype(float)
    z[:, :3] += y
    z[rng.random(z.shape) < 0.3] = 0
    z[:, 5] = 2.0
    y[rng.random(y.shape) < 0.3] = np.nan
    z[np.isnan(y[:, 0]), 6] = 1e-3  # without variance where the others are known, but for few rows
    z[~np.isnan(y[:, 0]), 6] = 5e-4
    latents = scipy.sparse.csr_matrix(z) if layout == "sparse" else z
    with monkeypatch.context() as patch:
        patch.setattr("unknot.scoring.gaps._each_alone", None)  # all factors at once
        card = unknot.score(latents, y, metrics=[name], null=0)
    (score,) = (record.score for record in card.records.values())
    for j in range(3):
        there = ~np.isnan(y[:, j])
        alone = unknot.score(z[there].astype(float), y[there, j].astype(int), metrics=[name], null=0)
        (expected,) = (record.score for record in alone.records.values())
        np.testing.assert_allclose(score.parts["per_factor"][j], expected.value, atol=1e-12)
        parts = {"predictability", "mutual_information", "penalty", "variance"} & {*score.by_factor}
        assert parts
        for part in parts:
            np.testing.assert_allclose(score.parts[part][..., j], expected.parts[part][..., 0], 1e-9, 1e-12)
        own = score.parts["n_rows_per_factor"][f"factor_{j}"]
        assert own == expected.parts["n_rows"]
        np.testing.assert_allclose(card.shares[:, j], alone.shares[:, 0], atol=1e-12)


def test_of_many_rows_the_same_ones_judge_penalties_as_of_each_factor_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unknot.metrics.ridge.LEFT_OUT", 40)
    rng = np.random.default_rng(1)
    z = rng.normal(size=(400, 110))
    y = np.round(z[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(0, 3, (400, 3)))
    y[rng.random(y.shape) < 0.3] = np.nan
    score = METRICS["r2"](z, y, readout="ridge")
    for j, there in enumerate(~np.isnan(y.T)):
        alone = METRICS["r2"](z[there], y[there, j], readout="ridge")
        np.testing.assert_allclose(score.parts["penalty"][j], alone.parts["penalty"][0], 1e-9)
        assert score.parts["per_factor"][j] == pytest.approx(alone.value, abs=1e-12)


def test_parts_of_rows_are_of_those_that_a_limit_leaves_where_a_label_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, counts = np.random.default_rng(0), []

    def counted(todo: Plan, name: str, data: Data, options: dict[str, object]) -> Score:
        counts.append(data.n)
        return call(todo, name, data, options)

    monkeypatch.setattr(redrawn, "call", counted)
    y = rng.integers(0, 4, size=(3000, 2)).astype(float)
    z = y + rng.normal(size=y.shape)
    y[0, 0] = np.nan
    unknot.score(z, y, metrics=["mig"], null=0, bootstrap=4, limit=600)
    assert counts and set(counts) <= {199, 200, 201, 399, 400, 401}


def test_of_rare_latents_too_each_factor_has_the_ridge_regression_of_its_known_rows() -> None:
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=(300, 110)), rng.integers(0, [3, 4], size=(300, 2)).astype(float)
    z[rng.random(z.shape) < 0.8] = 0
    z[:, 0] = (y[:, 0] == 1) + 0.1 * (rng.random(300) < 0.1)
    y[rng.random(y.shape) < 0.3] = np.nan
    score = unknot.score(z, y, metrics=["r2[ridge]"], null=0)["r2[ridge]"]
    for j in range(2):
        there = ~np.isnan(y[:, j])
        alone = unknot.score(z[there], y[there, j].astype(int), metrics=["r2[ridge]"], null=0)
        np.testing.assert_allclose(score.parts["per_factor"][j], alone["r2[ridge]"].value, atol=1e-12)
