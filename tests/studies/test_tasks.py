"""The tasks of a study: done once for each run, kept, and put beside the scores."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.reports.study_page import write_study_page
from unknot.studies.estimate import task_seconds
from unknot.studies.folder import StudyFolder
from unknot.studies.plan import plan_study
from unknot.studies.results import results
from unknot.studies.spec import read_spec
from unknot.studies.store import Store
from unknot.studies.study import run_study
from unknot.tasks.result import TaskResult
from unknot.worlds.scenes.toy_corpus import toy_corpus

from .conftest import TINY, Inline, planned, write

FAIR = "tasks:\n  fairness: {targets: [shape], sensitive: [scale], rows: 200, points: 8, rounds: 2}\n"


def test_each_run_is_put_to_each_task_once_and_again_when_its_options_change(tmp_path: Path) -> None:
    plan = planned(tmp_path, TINY + FAIR)
    engine = Inline()
    state = run_study(plan, tmp_path / "study", engine=engine)
    assert not state.failures
    assert state.done["task"] == state.total["task"] == 4
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


SEVERAL_SPLITS = """
name: splits
worlds: dsprites_rendered
splits: [random, extrapolation]
models: [mlp, cnn]
seeds: 1
steps: 2
image_size: 32
rows: 200
metrics: r2
ranking: false
tasks:
  generalisation: {rows: 60}
"""


def test_runs_in_several_splits_are_compared_split_by_split(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    assert not run_study(planned(tmp_path, SEVERAL_SPLITS), folder, engine=Inline()).failures
    studied = write_study_page(tmp_path / "page.html", folder).read_text()
    board = CliRunner().invoke(app, ["leaderboard", str(folder), "--html", str(tmp_path / "board.html")])
    assert board.exit_code == 0, board.output
    for page in (studied, (tmp_path / "board.html").read_text()):
        for split in ("random", "extrapolation"):
            assert f"R², {split}" in page and page.count(f"{split}: correlation of predictions<") == 1
        assert page.count("extrapolation: correlation of ood<") == 1 and "random: correlation of ood" not in page


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("tasks: fairnes", r"line 13.*unknown task 'fairnes'; did you mean 'fairness'"),
        ("tasks: {fairness: {pionts: 3}}", r"line 13.*unknown option of fairness 'pionts'; did you mean 'points'"),
        ("tasks: 3", r"line 13.*tasks is 3; expected names"),
        ("tasks: {fairness: {folder: here}}", r"line 13.*unknown option of fairness 'folder'"),
        ("tasks: {fairness: {pool: mean}}", r"line 13.*unknown option of fairness 'pool'"),
        ("tasks: {fairness: 3}", r"line 13.*options of fairness are 3; expected names and values"),
    ],
)
def test_a_misspelt_task_is_an_error_with_its_line(tmp_path: Path, tasks: str, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        planned(tmp_path, TINY + tasks)


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("algebra", "size: 32", "those of the world are 32 x 32 x 3"),
        ("algebra", "tuples: 8", "8 tuples are fewer than a minibatch of 64"),
        ("algebra", "clear: no/where", "no/where: no such folder"),
        ("algebra", "quadruples: no/where.csv", "no/where.csv: no such file"),
        ("reasoning", "alternatives: hrd", "unknown alternatives of reasoning 'hrd'; did you mean 'hard'"),
        ("reasoning", "classes: {shap: 3}", "unknown factor 'shap'; did you mean 'shape'"),
        ("reasoning", "classes: {shape: 1, scale: 1, x: 1, y: 1, orientation: 2}", "different wrong answers"),
        ("reasoning", "draws: 1000", "1000 draws"),
        ("reasoning", "g: wide", "g is 'wide'; expected width x depth"),
        ("reasoning", "input: onehot", "input is 'onehot'; expected representation"),
        ("generalisation", "split: extrapolate", "did you mean 'extrapolation'"),
        ("generalisation", "readout: false", "needs the readout"),
        ("generalisation", "oracle: true", "reads true factors and no run"),
        ("generalisation", "split: [random, 'combination:shap=0,scale=0']", "unknown factor 'shap'"),
        ("generalisation", "world: shapes3d_rendered", "was trained on images of 64 x 64 x 1"),
        ("combinations", "held_out: nowhere=3", "unknown factor 'nowhere'"),
        ("combinations", "held_out: [{scale: 9, shape: 0}]", "'scale' has classes 0..5"),
        ("combinations", "pair: scale", "pair is 'scale'; expected a list"),
        ("fairness", "targets: [shap]", "unknown factor 'shap'; did you mean 'shape'"),
        ("fairness", "world: dsprites_renderd", "did you mean 'dsprites_rendered'"),
    ],
)
def test_values_of_tasks_are_checked_before_anything_is_trained(
    tmp_path: Path, task: str, options: str, message: str
) -> None:
    with pytest.raises(UnknotError, match=rf"tiny\.yaml, line 1[45]: .*{message}"):
        planned(tmp_path, TINY + f"tasks:\n  {task}:\n    {options}\n")


def test_settings_that_draws_make_useless_are_refused_with_their_line(tmp_path: Path) -> None:
    options = "    draws: 2\n    lr: 0.1\n"
    with pytest.raises(UnknotError, match=r"tiny\.yaml, line 16: .*lr is 0\.1, but draws is 2"):
        planned(tmp_path, TINY + f"tasks:\n  reasoning:\n{options}")


def test_factors_are_checked_against_worlds_whose_files_are_not_here(tmp_path: Path) -> None:
    path = write(
        tmp_path, TINY.replace("dsprites_rendered", "shapes3d") + "tasks: {combinations: {pair: [size, x]}}"
    )
    with pytest.raises(UnknotError, match="line 13: unknown factor 'x'"):
        plan_study(read_spec(path), data=tmp_path, must_open=False)


def test_tasks_that_a_run_cannot_see_the_images_of_are_refused(tmp_path: Path) -> None:
    toy_corpus(tmp_path / "corpus", n=8, size=32)
    text = TINY + f"tasks: {{algebra: {{corpus: {tmp_path}/corpus, minibatch: 4}}}}"
    with pytest.raises(UnknotError, match=r"line 13: .*those of the world are 32 x 32 x 3"):
        planned(tmp_path, text)


def test_runs_are_put_to_object_algebra(tmp_path: Path) -> None:
    toy_corpus(tmp_path / "corpus", n=16, size=32)
    text = (
        TINY.replace("dsprites_rendered", "dsprites_color_rendered").replace("[1, 4]", "1").replace("seeds: 2", "")
    )
    text += f"tasks: {{algebra: {{corpus: {tmp_path}/corpus, minibatch: 8, pictures: 1}}}}"
    state = run_study(planned(tmp_path, text), tmp_path / "study", engine=Inline())
    assert not state.failures and state.done["task"] == 1
    table = pd.read_parquet(tmp_path / "study" / "tables" / "tasks.parquet").set_index("name")
    assert set(table["task"]) == {"algebra"} and table["value"]["l2_coat"] < 1
    assert "Task: algebra" in write_study_page(tmp_path / "page.html", tmp_path / "study").read_text()


def test_runs_of_a_study_share_the_corpus_that_the_first_of_them_makes(tmp_path: Path) -> None:
    text = TINY.replace("dsprites_rendered", "dsprites_color_rendered").replace("seeds: 2", "")
    options = f"corpus: {tmp_path}/corpora, tuples: 16, size: 16, minibatch: 8, jobs: 2, pictures: 0"
    text += f"tasks: {{algebra: {{{options}, variant: clear}}}}"
    study = planned(tmp_path, text)
    assert not (tmp_path / "corpora").exists()
    progress = run_study(study, tmp_path / "study", jobs=2)
    assert not progress.failures and progress.done["task"] == 2
    assert [path.name for path in (tmp_path / "corpora").iterdir()] == ["clear-16-16-seed0"]


def test_runs_of_several_splits_stand_in_one_report(tmp_path: Path) -> None:
    text = TINY.replace("[1, 4]", "1").replace(
        "metrics: [mig, sap]", "metrics: [mig]\nsplits: [random, composition]"
    )
    text += "tasks: {generalisation: {rows: 20, train_rows: 20, steps: 2}}"
    progress = run_study(planned(tmp_path, text), tmp_path / "study", engine=Inline())
    assert not progress.failures and progress.done["task"] == 4
    page = write_study_page(tmp_path / "page.html", tmp_path / "study").read_text()
    assert page.count("random: correlation of errors") == page.count("composition: correlation of errors") > 0


def test_the_time_of_tasks_is_that_of_finished_runs_or_of_a_trial(tmp_path: Path) -> None:
    reasoning = "  reasoning: {steps: 40, evaluate_every: 20, evaluation_batches: 2, classes: {x: 3, y: 3}}\n"
    made = planned(tmp_path, TINY + FAIR + reasoning)
    seconds, basis, left_out = task_seconds(Store(tmp_path / "none", made))
    assert seconds > 0
    assert basis == ["reasoning at the speed of a short trial"] and left_out == ["the task fairness"]

    made = planned(tmp_path, TINY + FAIR)
    store = Store(tmp_path / "study", made)
    for run in made.runs[:3]:
        TaskResult("fairness", "run", "w", {"unfairness": 0.1}, {}, seconds=7.0).write(
            store.task_files(run)["fairness"]
        )
    assert task_seconds(store) == (7.0, ["fairness as timed in finished runs"], [])


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
    monkeypatch.setattr("unknot.tasks.reasoning.page.LEAST", 4)
    page = write_study_page(tmp_path / "page.html", folder).read_text()
    assert "Abstract visual reasoning and scores: dsprites_rendered" in page
    assert "reconstruction error" in page and "mig[bins=20]" in page


def test_what_an_accuracy_is_held_against_is_neither_better_nor_worse(tmp_path: Path) -> None:
    plan = planned(tmp_path, TINY + "tasks:\n  reasoning: {steps: 1}\n")
    store = Store(tmp_path / "study", plan)
    for level, run in enumerate(store.runs):
        numbers = {"accuracy": 0.4, "accuracy_other_rows": 0.1 * level, "third_row": 0.7}
        (path,) = store.task_files(run).values()
        TaskResult("reasoning", run.id, "dsprites_rendered", numbers).write(path)
    store.write_study()
    store.write_tables()
    study = StudyFolder(tmp_path / "study")
    better = {measure.column: measure.higher_is_better for measure in study.measures}
    controls = ("reasoning.accuracy_other_rows", "reasoning.third_row")
    assert better == {"reasoning.accuracy": True} | dict.fromkeys(controls)
    page = write_study_page(tmp_path / "page.html", tmp_path / "study").read_text()
    assert "accuracy_other_rows (control)" in page
    assert set(re.findall(r'class="number best[^>]*data-value="([^"]*)"', page)) == {
        "0.4"
    }  # no control is the best
