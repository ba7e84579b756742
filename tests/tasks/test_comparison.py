"""Results of tasks against each other: over seeds, over draws, and one by one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot import UnknotError
from unknot.cli import app
from unknot.tasks.comparison import compare_results
from unknot.tasks.result import TaskResult


def _reasoning(level: float, seed: int = 0, **settings: object) -> TaskResult:
    rng = np.random.default_rng([seed, int(level * 1000)])
    draws = [level + 0.02 * float(rng.normal()) for _ in range(5)]
    curve = [
        {"draw": draw, "step": step, "accuracy": accuracy * step / 20}
        for draw, accuracy in enumerate(draws)
        for step in (10, 20)
    ]
    values = {"accuracy": float(np.mean(draws)), "steps_needed": 1000 * (1 - level)}
    return TaskResult(
        "reasoning",
        "run",
        "dsprites_rendered",
        values,
        {"curve": curve},
        {"seed": seed, "model": str(level), **settings},
        lower_is_better=["steps_needed"],
    )


def test_draws_of_one_result_are_repetitions_and_a_number_alone_has_none() -> None:
    result = compare_results({"old": [_reasoning(0.5)], "new": [_reasoning(0.6)]})
    accuracy, steps = result.differences
    assert accuracy.verdict == "better" and accuracy.low < 0.1 < accuracy.high
    assert np.isnan(steps.p) and steps.verdict == "undecided" and "reasoning: steps_needed" in result.notes[0]


def test_runs_of_several_seeds_are_paired() -> None:
    old = [_reasoning(level, seed) for seed, level in enumerate((0.4, 0.5, 0.6))]
    new = [_reasoning(level, seed) for seed, level in enumerate((0.45, 0.549, 0.651))]
    accuracy, steps = compare_results({"old": old, "new": new}).differences
    assert steps.verdict == "better" and steps.difference == pytest.approx(-50)
    assert accuracy.difference == pytest.approx(0.05, abs=0.03)
    tied = compare_results(
        {"old": old, "new": [_reasoning(level + 0.1, at) for at, level in enumerate((0.4, 0.5, 0.6))]}
    )
    assert tied.differences[1].verdict == "undecided"
    assert "seeds differ by the same, which may be chance: reasoning: steps_needed" in tied.notes[0]


def test_only_like_is_compared_with_like() -> None:
    old, new = _reasoning(0.5), _reasoning(0.6)
    more = compare_results({"old": [old, replace(old, task="fairness")], "new": [new]})
    assert {each.metric.partition(":")[0] for each in more.differences} == {"reasoning"}
    assert "1 result(s) are left out" in more.notes[0]
    with pytest.raises(UnknotError, match="no two have results of the same task"):
        compare_results({"old": [old], "new": [_reasoning(0.6, steps=5)]})
    with pytest.raises(UnknotError, match="got the results of 1"):
        compare_results({"old": [old]})


def test_the_command_compares_files_of_results(tmp_path: Path) -> None:
    for name, level in (("old", 0.5), ("new", 0.4)):
        _reasoning(level).write(tmp_path / f"{name}.json")
    words = ["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json"), "--tasks"]
    result = CliRunner().invoke(app, [*words, "--fail-below", "0.05", "--json", str(tmp_path / "c.json")])
    assert result.exit_code == 1 and "2 by tasks" in result.output and "reasoning: accuracy" in result.output
    assert "NaN" not in (tmp_path / "c.json").read_text()
