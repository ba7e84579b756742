"""`unknot task reasoning` end to end, tiny."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.factors import space
from unknot.reports.task_page import write_task_page
from unknot.representation import Representation
from unknot.tasks.result import read_result

QUICK = ["--evaluate-every", "5", "--evaluation-batches", "1", "--g", "8x2", "--f", "8x1", "--steps", "10"]
SPACE = space({"shape": 3, "x": 4, "y": 4})


def _run(*words: object) -> str:
    done = CliRunner().invoke(app, ["task", "reasoning", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def latents(tmp_path: Path) -> Path:
    classes = SPACE.classes(np.arange(48))
    return Representation(classes * 1.0, classes, SPACE.names).write(tmp_path / "factors.npz")


def test_latents_in_a_file_are_reasoned_from_and_results_written(latents: Path, tmp_path: Path) -> None:
    said = _run(
        latents, *QUICK, "--json", tmp_path / "r.json", "--html", tmp_path / "p.html", "-o", tmp_path / "out"
    )
    assert "answers_only" in said and "Chance is 0.167" in said
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["task"] == "reasoning" and record["source"] == "factors"
    assert [row["step"] for row in record["tables"]["curve"]] == [5, 10]
    assert "Accuracy over training" in (tmp_path / "p.html").read_text()
    again = _run(latents, *QUICK, "--steps", "15", "-o", tmp_path / "out")
    assert (
        json.loads((tmp_path / "out" / "factors.json").read_text())["tables"]["curve"][:2]
        == record["tables"]["curve"]
    )
    assert "15" in again


def test_true_factors_of_a_world_need_no_run_and_settings_are_drawn() -> None:
    said = _run(
        "--input", "onehot", "--world", "abstract_dsprites_rendered", *QUICK, "--draws", "2", "--at", "5,10"
    )
    assert "accuracy_5" in said and "accuracy_best" in said


def test_a_kind_of_puzzle_that_no_evaluation_held_is_a_dash(tmp_path: Path) -> None:
    page, file = tmp_path / "page.html", tmp_path / "result.json"
    few = ["--steps", "2", "--evaluate-every", "1", "--evaluation-batches", "1", "--batch-size", "2"]
    said = _run("--input", "onehot", "--world", "abstract_dsprites_rendered", *few, "--json", file, "--html", page)
    lines = [line.split() for line in said.splitlines()]
    assert any(line[:2] in (["1", "-"], ["2", "-"], ["3", "-"]) for line in lines), said
    tables = json.loads(file.read_text())["tables"]
    assert {frozenset(row) for row in tables["curve"]} == {frozenset(tables["curve"][0])}
    again = write_task_page(tmp_path / "again.html", [read_result(file)])
    assert again.read_text().count("<svg") == page.read_text().count("<svg") > 0


def test_a_dash_for_json_is_standard_output_alone(
    latents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["task", "reasoning", str(latents), *QUICK, "-o", "out", "--json", "-"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(done.stdout) == json.loads((tmp_path / "out" / "factors.json").read_text())
    assert "Chance is 0.167" in done.stderr and not (tmp_path / "-").exists()


def test_a_puzzle_is_drawn_without_training(tmp_path: Path) -> None:
    words = ("--world", "abstract_dsprites_rendered", "--relations", "1", "--classes", "x=2,y=2,scale=2")
    said = _run("--preview", tmp_path / "puzzle.png", "--solved", *words)
    assert "puzzle.png" in said and (tmp_path / "puzzle.png").read_bytes()[:4] == b"\x89PNG"
    again = _run("--input", "onehot", "--preview", tmp_path / "again.png", *words)
    assert "accuracy" not in again and (tmp_path / "again.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give folders of runs, or --encoder, or --input"),
        (["--input", "onehot", "--encoder", "a:b"], "give folders of runs"),
        (["--input", "onehot"], "name a world"),
        (["--input", "onehot", "--g", "big"], "--g is 'big'; expected width x depth"),
        (["--input", "onehot", "--at", "soon"], "--at is 'soon'"),
        (["--input", "onehot", "--classes", "x"], "--classes is 'x'"),
        (["--relations", "4", "--input", "onehot"], "relations is '4'"),
        (["--preview", "puzzle.png"], "--preview needs --world"),
        (["nope.npz"], r"nope\.npz: no such file or folder"),
        (["runs/nope"], "runs/nope: no such file or folder"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        CliRunner().invoke(app, ["task", "reasoning", *words], catch_exceptions=False)
