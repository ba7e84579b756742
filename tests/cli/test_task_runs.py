"""`unknot task NAME RUN` and then `unknot report RUN`, as a user runs them."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.tasks import read_result
from unknot.worlds.scenes.toy_corpus import toy_corpus

SPEC = RunSpec(world="shapes3d_rendered", latents=3, image_size=32, steps=3, batch_size=8)
FAIR = ("fairness", "--rows", "200", "--rounds", "2", "--points", "3", "--target", "shape", "--sensitive", "size")


def unknot(*words: str | Path) -> tuple[str, str]:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(SPEC, tmp_path_factory.mktemp("runs")).folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / trained.name))


def kept(run: Path) -> list[Path]:
    return sorted((run / "tasks" / "by_hand").glob("*.json"))


def test_a_repeated_call_replaces_its_result_and_other_settings_stand_beside_it(run: Path) -> None:
    for _ in range(2):
        unknot("task", *FAIR, run)
    assert len(kept(run)) == 1
    unknot("task", *FAIR, run, "--seed", "1")
    assert sorted(read_result(path).settings["seed"] for path in kept(run)) == [0, 1]
    unknot("report", run)
    html = (run / "report.html").read_text()
    assert html.count("<h2>Task: fairness</h2>") == 1
    assert "<span>1: seed 0</span>" in html and "<summary>2: seed 1</summary>" in html


def test_a_folder_that_cannot_be_written_costs_a_warning_and_not_the_result(run: Path, tmp_path: Path) -> None:
    (run / "tasks").write_text("a file where the folder should be")
    said, warned = unknot("task", *FAIR, run, "--json", tmp_path / "f.json")
    assert "unfairness of predictions" in said and "shown by" not in said
    assert "the result is not kept with the run" in warned
    assert read_result(tmp_path / "f.json").task == "fairness"


def test_what_is_no_run_gets_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(trained / "run.json", tmp_path)  # the working folder is a run, but nobody named it
    toy_corpus(tmp_path / "toy", n=8, size=16)
    said, _ = unknot("task", "algebra", "--corpus", "toy", "--minibatch", "8")
    assert "shown by" not in said and not (tmp_path / "tasks").exists()
