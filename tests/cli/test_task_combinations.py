"""`unknot task combinations`, as a user runs it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.runs.run import Run
from unknot.tasks import read_result

WORLD = "dsprites_rendered"
OWN = "def two(images):\n    return images.mean(axis=(2, 3))[:, [20, 40]]\n"
TRAINED = (
    *(
        "task",
        "combinations",
        "--world",
        WORLD,
        "--model",
        "beta_vae",
        "--beta",
        "4",
        "--steps",
        "4",
        "--latents",
        "3",
    ),
    *("--image-size", "32", "--batch-size", "8", "--held-out", "scale=0,shape=0", "--held-out", "shape=1,scale=2"),
    *("--rows", "300", "--pair-only", "--recipe", "paper"),
)


def _unknot(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unknot", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | {"COLUMNS": "130"})


def test_a_model_is_trained_without_each_combination_and_the_command_goes_on(tmp_path: Path) -> None:
    done = _unknot(*TRAINED, "-o", "nc", "--json", "nc.json", "--html", "nc.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "training without scale=0,shape=0" in done.stderr and "heads, scale=2,shape=1 (2 of 2)" in done.stderr
    assert "mean (standard deviation) over 2 combinations" in done.stdout
    assert "random scale" in done.stdout and "novel both" in done.stdout
    splits = {Run(path.parent).spec.split for path in tmp_path.glob("nc/runs/*/run.json")}
    assert splits == {"combination:scale=0,shape=0", "combination:scale=2,shape=1"}
    result = read_result(tmp_path / "nc.json")
    assert result.settings["spec"]["options"] == {"beta": 4}
    assert "mlp_novel_both" in result.values
    assert "novel combination" in (tmp_path / "nc.html").read_text()
    again = _unknot(*TRAINED, "-o", "nc", cwd=tmp_path)
    assert again.returncode == 0 and not again.stderr  # nothing was left to do


def test_an_encoder_of_ones_own_is_tested_on_all_combinations_of_a_pair(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    words = ("task", "combinations", "mine:two", "--world", WORLD, "--pair", "scale,shape", "--limit", "2")
    done = _unknot(*words, "--rows", "300", "--recipe", "paper", "--json", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = read_result(tmp_path / "out.json")
    assert len(result.settings["combinations"]) == 2
    assert {row["factor"] for row in result.tables["answers"]} == {
        "shape",
        "scale",
        "orientation",
        "x",
        "y",
        "both",
    }


def test_a_killed_command_does_only_what_is_missing_when_it_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    words = ["task", "combinations", "mine:two", "--world", WORLD, "--rows", "600", "--pair-only", "-o", "kept"]
    command = [sys.executable, "-m", "unknot", *words]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and not list(tmp_path.glob("kept/parts/*.json")):
        time.sleep(0.02)
    child.kill()
    child.wait()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("kept/parts/*.json")}
    assert finished
    done = _unknot(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    whole = _unknot(*words[:-2], "--json", "whole.json", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    kept, fresh = (read_result(path) for path in (*tmp_path.glob("kept/*.json"), tmp_path / "whole.json"))
    assert kept.tables == fresh.tables and len(kept.settings["combinations"]) == 5


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "expected a source"),
        (["--beta", "4", "a:b"], "no such option: --beta; options of a model go with --model"),
        (["--model", "beta_vae"], "--model needs a world"),
        (["--model", "beta_vea", "--world", WORLD], "did you mean 'beta_vae'"),
        (["a:b", "--rows", "many", "--world", WORLD], "rows is 'many'; expected a whole number from 1 up or all"),
        (["nowhere:nothing", "--world", WORLD], "cannot be imported"),
        (["runs/nope"], "runs/nope: no such file or folder"),
        (
            ["--model", "beta_vae", "--world", WORLD, "--held-out", "scale=7,shape=0"],
            "no image has the combination",
        ),
        (["--model", "beta_vae", "--world", WORLD, "--held-out", "scale=0"], "two factors or more"),
        (["--model", "beta_vae", "--world", WORLD, "--held-out", "scael=0,shape=0"], "did you mean 'scale'"),
    ],
)
def test_mistakes_end_in_one_message(words: list[str], complaint: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["task", "combinations", *words])
    assert complaint in str(done.exception)
    assert not list(tmp_path.glob("**/run.json"))


def test_where_runs_are_kept_is_said_if_no_folder_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["task", "combinations", "--model", "beta_vae", "--world", WORLD, "--held-out", "scale=0"]
    for more, said in (([], True), (["-o", "mine"], False)):
        done = CliRunner().invoke(app, [*words, *more])
        assert ("runs are kept in combinations" in done.stderr) == said


def test_train_and_encode_take_a_combination_as_split(tmp_path: Path) -> None:
    words = (
        "train",
        "--world",
        WORLD,
        "--steps",
        "2",
        "--latents",
        "3",
        "--image-size",
        "32",
        "--batch-size",
        "4",
    )
    done = _unknot(*words, "--split", "combination:shape=0,scale=0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    made = _unknot("encode", run, "--rows", "30", "--split", "combination:scale=0,shape=0", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == f"{run}/latents-combination_scale_0_shape_0-30.npz"
