"""The statistics over a study's tables."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.studies.analysis import study_boxes, study_comparisons, study_correlations
from unknot.studies.folder import StudyFolder
from unknot.studies.results import results

COLUMNS = [
    "mig[bins=20]", "dci[gbt].completeness", "unfairness", "reasoning.accuracy", "reasoning.steps_to_90",
    "udr_spearman/all",
]  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two worlds x two settings x five seeds; in each world b follows a, but the world with larger a has smaller b."""
    rng = np.random.default_rng(0)
    runs, scores, tasks, ranks = [], [], [], []
    for w, world in enumerate(("dsprites", "shapes3d")):
        for setting in ("beta 1", "beta 4"):
            for seed in range(5):
                run = f"{world}-{setting[-1]}-{seed}"
                runs.append((run, world, "beta_vae", setting, seed, "", "done"))
                a = rng.uniform() + 10 * w
                numbers = {("mig[bins=20]", ""): a, ("dci[gbt]", "completeness"): a - 20 * w + 0.01 * rng.normal()}
                numbers[("unfairness", "")] = -a
                for (metric, part), value in numbers.items():
                    scores.append((run, metric, part, value, "compactness", metric != "unfairness", 1))
                tasks += [(run, "reasoning", "accuracy", a**3, True), (run, "reasoning", "steps_to_90", -a, False)]
                ranks.append((run, "udr_spearman", "all", rng.uniform(), 3, 4))
    runs.append(("failed", "dsprites", "beta_vae", "beta 4", 5, "", "failed"))
    tables = {
        "runs": (runs, ["id", "world", "model", "setting", "seed", "split", "status"]),
        "scores": (scores, ["id", "metric", "part", "value", "measures", "higher_is_better", "version"]),
        "tasks": (tasks, ["id", "task", "name", "value", "higher_is_better"]),
        "ranks": (ranks, ["id", "method", "scope", "score", "informative", "partners"]),
    }
    (tmp_path / "tables").mkdir()
    for name, (rows, columns) in tables.items():
        pd.DataFrame(rows, columns=columns).to_parquet(tmp_path / "tables" / f"{name}.parquet")
    (tmp_path / "study.json").write_text(json.dumps({"name": "sweep"}))
    return tmp_path


def _change(study: Path, table: str, change) -> None:
    path = study / "tables" / f"{table}.parquet"
    change(pd.read_parquet(path)).to_parquet(path)


def test_statistics_name_columns_as_results_do(study: Path) -> None:
    table = results(StudyFolder(study), parts=True)
    assert list(table.columns[7:]) == COLUMNS
    assert set(study_boxes(study, bootstraps=0)["column"]) == set(COLUMNS)
    pairs = study_correlations(study, bootstraps=0)
    assert set(pairs["first"]) | set(pairs["second"]) == set(COLUMNS)
    scores = StudyFolder(study).scores
    for row in scores[scores["part"] == "completeness"].itertuples():
        assert table.set_index("id").loc[row.id, "dci[gbt].completeness"] == row.value
    assert table.set_index("id").loc["failed", COLUMNS].isna().all()
    assert "dci[gbt].completeness" not in results(StudyFolder(study))


@pytest.mark.parametrize(
    ("once", "now"),
    [
        ("dci[gbt] completeness", "dci[gbt].completeness"),
        ("reasoning: accuracy", "reasoning.accuracy"),
        ("udr_spearman all", "udr_spearman/all"),
        ("udr_spearman, all to all", "udr_spearman/all"),
    ],
)
def test_a_name_that_a_column_had_once_is_refused_with_the_one_it_has(study: Path, once: str, now: str) -> None:
    message = f"'{once}' is now called '{now}'".replace("[", r"\[")
    for asks in (
        lambda: study_correlations(study, [once]),
        lambda: study_correlations(study, ["mig[bins=20]"], against=[once]),
        lambda: study_comparisons(study, once),
        lambda: study_comparisons(study, "mig[bins=20]", [once, "unfairness"]),
        lambda: study_boxes(study, [once]),
    ):
        with pytest.raises(UnknotError, match=message):
            asks()
    with pytest.raises(UnknotError, match="unknown column 'unfairnes'; did you mean 'unfairness'"):
        study_boxes(study, ["unfairnes"])


def test_worlds_are_not_mixed_unless_asked(study: Path) -> None:
    columns = ["mig[bins=20]", "dci[gbt].completeness"]
    found = study_correlations(study, columns, correction="holm", bootstraps=0)
    assert found["world"].tolist() == ["dsprites", "shapes3d"]
    assert (found["r"] > 0.9).all() and (found["n"] == 10).all() and (found["p_adjusted"] > found["p"]).any()
    assert study_correlations(study, columns, by=None, bootstraps=0)["r"][0] < 0
    with pytest.raises(UnknotError, match="did you mean 'world'"):
        study_correlations(study, columns, by="wold")


def test_metrics_are_correlated_with_tasks(study: Path) -> None:
    found = study_correlations(StudyFolder(study), ["mig[bins=20]"], against=["reasoning.accuracy"], bootstraps=0)
    np.testing.assert_allclose(found["r"], [1, 1])


def test_metrics_are_compared_by_how_close_they_are_to_a_task(study: Path) -> None:
    found = study_comparisons(study, "reasoning.accuracy", bootstraps=0)
    names = {*found["first"], *found["second"]}
    assert names == {"mig[bins=20]", "dci[gbt].completeness", "unfairness", "udr_spearman/all"}
    pair = found[(found["first"] == "mig[bins=20]") & (found["second"] == "udr_spearman/all")]
    np.testing.assert_allclose(pair["r1"], 1)
    assert (pair["r2"] < 0.9).all()


def test_a_task_of_which_less_is_better_is_turned_round(study: Path) -> None:
    metrics = ["unfairness", "udr_spearman/all"]
    for task in ("mig[bins=20]", "reasoning.steps_to_90"):
        found = study_comparisons(study, task, metrics, bootstraps=0, method="pearson")
        assert len(found) == 2
        np.testing.assert_allclose(found["r1"], 1)


def test_a_studys_boxes_are_per_world_model_and_setting(study: Path) -> None:
    found = study_boxes(study, ["mig[bins=20]", "unfairness", "reasoning.steps_to_90"])
    assert len(found) == 12
    assert set(found["setting"]) == {"beta_vae, beta 1", "beta_vae, beta 4"} and (found["n"] == 5).all()
    best = found.set_index(["world", "column", "setting"])["best"]["dsprites"]
    for lower in ("unfairness", "reasoning.steps_to_90"):
        np.testing.assert_allclose(best["mig[bins=20]"], best[lower], atol=1e-12)


def test_a_score_given_twice_and_a_score_of_no_run_are_named(study: Path) -> None:
    _change(study, "scores", lambda scores: pd.concat([scores, scores.iloc[:1]]))
    with pytest.raises(UnknotError, match="dsprites-1-0 has two values of 'mig"):
        study_boxes(study)
    _change(study, "scores", lambda scores: scores.iloc[:-1])
    _change(study, "runs", lambda runs: runs.iloc[1:])
    with pytest.warns(UnknotWarning) as told:
        study_boxes(study)
    assert any("scores.parquet: 'dsprites-1-0' is not among the 20 runs" in str(each.message) for each in told)


def test_a_study_without_numbers_says_so(study: Path) -> None:
    for name in ("scores", "tasks", "ranks"):
        (study / "tables" / f"{name}.parquet").unlink()
    with pytest.raises(UnknotError, match="has nothing to compare yet"):
        study_correlations(study)
