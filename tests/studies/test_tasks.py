"""The tasks of a study: done once for each run, kept, and put beside the scores."""

from pathlib import Path

import pandas as pd
import pytest

from unknot.errors import UnknotError
from unknot.reports.study_page import write_study_page
from unknot.studies.store import StudyFolder
from unknot.studies.study import run_study
from unknot.studies.tables import results

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
