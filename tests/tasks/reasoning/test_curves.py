"""Scores against accuracy over the steps of a task's training."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from unknot.errors import UnknotError
from unknot.tasks.reasoning.curves import accuracies_of, half_correlations, step_correlations
from unknot.tasks.result import TaskResult

RNG = np.random.default_rng(0)
QUALITY = RNG.random(24)
STEPS = [1000, 5000, 20_000]
ACCURACY = np.stack([QUALITY + RNG.normal(size=24) * noise for noise in (0.1, 0.5, 5.0)], axis=1)
TABLE = {"mig": QUALITY, "error": -QUALITY, "flat": np.ones(24)}


def _result(source: str, accuracy: dict[int, list[float]]) -> TaskResult:
    rows = [
        {"draw": i, "step": step, "accuracy": value}
        for step, values in accuracy.items()
        for i, value in enumerate(values)
    ]
    return TaskResult("reasoning", source, "", {}, {"curve": rows})  # type: ignore[arg-type]


def test_the_correlation_at_a_step_is_that_of_scipy_and_keeps_its_sign() -> None:
    found = step_correlations(TABLE, ACCURACY, STEPS, bootstraps=200).set_index(["metric", "step"])
    for t, step in enumerate(STEPS):
        wanted = spearmanr(QUALITY, ACCURACY[:, t]).statistic
        assert found.loc[("mig", step), "r"] == pytest.approx(wanted)
        assert found.loc[("error", step), "r"] == pytest.approx(-wanted)
        assert found.loc[("mig", step), "low"] <= wanted <= found.loc[("mig", step), "high"]


def test_a_score_that_does_not_vary_has_no_correlation_and_a_reason() -> None:
    found = step_correlations(TABLE, ACCURACY, STEPS, ["flat"], bootstraps=0)
    assert found["r"].isna().all() and set(found["note"]) == {"flat is the same for all models"}


def test_halves_are_by_accuracy_at_the_last_step() -> None:
    found = half_correlations(TABLE, ACCURACY, STEPS, ["mig"], bootstraps=0)
    best = ACCURACY[:, -1] >= np.median(ACCURACY[:, -1])
    for half, inside in (("best", best), ("worst", ~best)):
        rows = found[found["half"] == half].set_index("step")
        assert rows["n"].tolist() == [12, 12, 12]
        assert rows.loc[1000, "r"] == pytest.approx(spearmanr(QUALITY[inside], ACCURACY[inside, 0]).statistic)


def test_accuracies_are_means_over_reasoners_at_the_steps_all_results_have() -> None:
    results = [_result("a", {10: [0.2, 0.4], 20: [0.5, 0.7]}), _result("b", {20: [0.8, 0.9], 30: [0.9, 0.9]})]
    values, steps = accuracies_of(results)
    assert steps == (20,) and values.ravel() == pytest.approx([0.6, 0.85])
    values, steps = accuracies_of(results, [10, 20])
    assert values[0] == pytest.approx([0.3, 0.6]) and np.isnan(values[1, 0])


def test_missing_accuracies_leave_a_model_out() -> None:
    holed = ACCURACY.copy()
    holed[0, 0] = np.nan
    assert step_correlations(TABLE, holed, STEPS, ["mig"], bootstraps=0)["n"].tolist() == [23, 24, 24]


def test_shapes_that_do_not_fit_results_without_curves_and_without_shared_steps_are_refused() -> None:
    with pytest.raises(UnknotError, match=r"accuracies have shape \(24, 2\); expected \(24, 3\)"):
        step_correlations(TABLE, ACCURACY[:, :2], STEPS)
    with pytest.raises(UnknotError, match="has no curve over steps"):
        accuracies_of([TaskResult("fairness", "run", "", {})])
    with pytest.raises(UnknotError, match="share no step"):
        accuracies_of([_result("a", {10: [0.5]}), _result("b", {20: [0.5]})])
