"""Results of tasks against each other: over seeds, over draws, and one by one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot import UnknotError
from unknot.cli import app
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.tasks.comparison import compare_results
from unknot.tasks.kept_results import keep_result
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


def test_numbers_that_do_not_exist_leave_the_others_paired() -> None:
    levels = {"old": (np.nan, 0.4, 0.5, 0.6), "new": (0.1, 0.45, 0.549, np.nan)}
    given = {
        name: [
            TaskResult("fairness", name, "w", {"accuracy": value}, {}, {"seed": at})
            for at, value in enumerate(own)
        ]
        for name, own in levels.items()
    }
    result = compare_results(given)
    assert result.differences[0].difference == pytest.approx(0.0495)  # of the second and third seed
    assert "4 of fairness: accuracy" in result.notes[0]
    given["old"].append(given["old"][1])
    assert "2 of fairness: accuracy" in compare_results(given).notes[0]
    fewer = {"old": given["old"][1:4], "new": given["new"]}  # three each that exist, of other seeds
    (apart,) = compare_results(fewer).differences
    assert apart.high - apart.low > 0.2 and apart.verdict == "undecided"
    words = _reasoning(0.5)
    words.tables["curve"][-1]["accuracy"] = "x"
    assert "2 of reasoning: accuracy" in compare_results({"old": [_reasoning(0.4)], "new": [words]}).notes[0]


def test_controls_and_constants_are_not_compared() -> None:
    old, new = (
        replace(result, values={**result.values, "accuracy_other_rows": level, "third_row": level, "chance": 0.5})
        for result, level in ((_reasoning(0.5), 0.2), (_reasoning(0.6), 0.3))
    )
    result = compare_results({"old": [old], "new": [new]})
    assert result.metrics == ["reasoning: accuracy", "reasoning: steps_needed"]
    assert "the same number everywhere, and not compared: reasoning: chance." in result.notes


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
    assert (
        "note: these rows or seeds are too few to see a loss of 0.05 in reasoning: steps_needed" in result.output
    )
    for bad in ("nan", "-1", "inf"):
        refused = CliRunner().invoke(app, [*words, "--fail-below", bad])
        assert isinstance(refused.exception, UnknotError) and f"--fail-below is {bad}" in str(refused.exception)
    assert "old.json is named twice" in str(CliRunner().invoke(app, [*words, words[1]]).exception)


def test_runs_of_one_setting_are_its_seeds(tmp_path: Path) -> None:
    for steps, levels in ((2, (0.40, 0.50, 0.60)), (3, (0.45, 0.549, 0.651))):
        for seed, level in reversed(list(enumerate(levels))):
            run = Run.create(tmp_path, RunSpec(world="dsprites_rendered", steps=steps, seed=seed))
            keep_result(run, _reasoning(level, seed))
    run.result_of("fairness", "damaged").write_text("{")
    words = ["compare", *(str(run.folder) for run in Run.inside(tmp_path)), "--tasks"]
    assert CliRunner().invoke(app, [*words, "--json", str(tmp_path / "c.json")]).exit_code == 0
    result = json.loads((tmp_path / "c.json").read_text())
    _, steps = result["differences"]
    assert len(result["names"]) == 2 and abs(steps["difference"]) == pytest.approx(50) and steps["p"] < 0.001
    assert len(result["notes"]) == 1 and "fairness-damaged.json" in result["notes"][0]
    again = shutil.copytree(run.folder, tmp_path / "again")
    assert "of the same seed, 0; name one" in str(CliRunner().invoke(app, [*words, str(again)]).exception)
