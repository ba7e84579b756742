"""The tasks of a study: done once for each run, kept, and put beside the scores."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from unknot.errors import UnknotError
from unknot.reports.study_page import write_study_page
from unknot.studies.store import StudyFolder
from unknot.studies.study import run_study
from unknot.studies.tables import results
from unknot.tasks.result import TaskResult

from .conftest import TINY, Inline, planned

FAIR = "tasks:\n  fairness: {targets: [shape], sensitive: [scale], rows: 200, points: 8, rounds: 2}\n"


def test_each_run_is_put_to_each_task_once_and_again_when_its_options_change(tmp_path: Path) -> None:
    plan = planned(tmp_path, TINY + FAIR)
    engine = Inline()
    progress = run_study(plan, tmp_path / "study", engine=engine)
    assert not progress.failures
    assert progress.done["task"] == progress.total["task"] == 4
    table = pd.read_parquet(tmp_path / "study" / "tables" / "tasks.parquet")
    assert set(table["task"]) == {"fairness"} and table["id"].nunique() == 4
    assert not table.set_index("name")["higher_is_better"]["unfairness"].any()
    wide = results(StudyFolder(tmp_path / "study"))
    assert wide.filter(like="fairness.").notna().all().all() and wide.filter(like="fairness.").size

    page = write_study_page(tmp_path / "page.html", tmp_path / "study").read_text()
    assert "Task: fairness" in page

    again = Inline()
    run_study(plan, tmp_path / "study", engine=again)
    assert again.kinds() == []

    changed = Inline()
    run_study(planned(tmp_path, TINY + FAIR.replace("points: 8", "points: 9")), tmp_path / "study", engine=changed)
    assert set(changed.kinds()) == {"task"}
    assert all(len(list(f.glob("*.json"))) == 1 for f in (tmp_path / "study" / "runs").glob("*/tasks"))


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("tasks: fairnes", r"line 13.*unknown task 'fairnes'; did you mean 'fairness'"),
        ("tasks: {fairness: {pionts: 3}}", r"line 13.*unknown option of fairness 'pionts'; did you mean 'points'"),
        ("tasks: 3", r"line 13.*tasks is 3; expected names"),
        ("tasks: {fairness: {folder: here}}", r"line 13.*unknown option of fairness 'folder'"),
    ],
)
def test_a_misspelt_task_is_an_error_with_its_line(tmp_path: Path, tasks: str, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        planned(tmp_path, TINY + tasks)


def test_the_report_says_which_scores_foretell_reasoning(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    shutil.copytree(finished, folder)
    rows = []
    for i, run in enumerate(sorted((folder / "runs").iterdir())):
        curve = [{"draw": 0, "step": step, "accuracy": 0.2 + 0.1 * i + step / 1000} for step in (100, 200)]
        over = [{"step": row["step"], "accuracy": row["accuracy"]} for row in curve]
        by = [{"relations": 1, "accuracy": 0.5, "third_row": 0.7, "answers_only": 0.3}]
        tables = {"curve": curve, "accuracy over training": over, "by relations": by, "reasoners": [{"draw": 0}]}
        TaskResult("reasoning", "run", "w", {"accuracy": over[-1]["accuracy"]}, tables).write(
            run / "tasks" / "reasoning-0.json"
        )
        rows.append((run.name, "reasoning", "accuracy", over[-1]["accuracy"], True))
    columns = ["id", "task", "name", "value", "higher_is_better"]
    pd.DataFrame(rows, columns=columns).to_parquet(folder / "tables" / "tasks.parquet")
    monkeypatch.setattr("unknot.reports.study_page.LEAST", 4)
    page = write_study_page(tmp_path / "page.html", folder).read_text()
    assert "Abstract visual reasoning and scores: dsprites_rendered" in page
    assert "reconstruction error" in page and "mig[bins=20]" in page
