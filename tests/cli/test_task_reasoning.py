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

BRIEF = ["--evaluate-every", "5", "--evaluation-batches", "1", "--steps", "10"]
QUICK = [*BRIEF, "--g", "8x2", "--f", "8x1"]
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
    assert record["task"] == "reasoning" and record["source"] == str(latents)
    assert [row["step"] for row in record["tables"]["curve"]] == [5, 10]
    assert "Accuracy over training" in (tmp_path / "p.html").read_text()
    first = set((tmp_path / "out").glob("reasoning_factors_npz-*.json"))
    said = _run(latents, *QUICK, "--steps", "15", "-o", tmp_path / "out")
    (again,) = set((tmp_path / "out").glob("reasoning_factors_npz-*.json")) - first
    assert str(again) in said.replace("\n", "")
    assert json.loads(again.read_text())["tables"]["curve"][:2] == record["tables"]["curve"]
    assert len(list((tmp_path / "out" / "parts").glob("reasoner-*.pt"))) == 1


def test_true_factors_of_a_world_need_no_run_and_settings_are_drawn() -> None:
    said = _run(
        "--input", "onehot", "--world", "abstract_dsprites_rendered", *BRIEF, "--draws", "2", "--at", "5,10"
    )
    assert "accuracy_5" in said and "accuracy_best" in said


def test_an_encoder_is_a_source_like_any_other_and_several_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_reasoning.py").write_text(
        "def first(images):\n    return images[:, ::16, 0, 0]\n\nother = first\n"
    )
    few = "background=2,object_color=2,shape=3,scale=1,x=2,y=1"
    words = ["--world", "abstract_dsprites_rendered", "--classes", few, "--views", "2", "--html", "page.html"]
    said = _run("own_reasoning:first", "own_reasoning:other", *words, *QUICK)
    assert said.count("reasoning: own_reasoning:first on abstract_dsprites_rendered") == 2
    assert "1 fixed" in (tmp_path / "page.html").read_text()


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
    (kept,) = (tmp_path / "out").glob("*.json")
    assert json.loads(done.stdout) == json.loads(kept.read_text())
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
        ([], "expected a source: .* None with the input onehot"),
        (
            ["numpy:ravel", "--input", "onehot", "--world", "shapes3d_rendered"],
            "expected no source with these options",
        ),
        (["--input", "onehot"], "needs a world; name one"),
        (["--input", "onehot", "--g", "big"], "g is 'big'; expected width x depth"),
        (["--input", "onehot", "--at", "soon"], r"at is \['soon'\]; expected a list, each a whole number"),
        (
            ["--input", "onehot", "--classes", "x"],
            "classes is {'x': ''}; expected names, each with a whole number",
        ),
        (["--input", "onehot", "--draws", "2", "--lr", "0.1"], "lr is 0.1, but draws is 2"),
        (["--relations", "4", "--input", "onehot"], "unknown relations of reasoning '4'"),
        (["--preview", "puzzle.png"], "needs a world; name one"),
        (["nope.npz"], r"nope\.npz: no such file or folder"),
        (["runs/nope"], "runs/nope: no such file or folder"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        CliRunner().invoke(app, ["task", "reasoning", *words], catch_exceptions=False)
