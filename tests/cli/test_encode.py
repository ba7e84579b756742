"""`unknot encode` and `unknot score RUN`, as a user runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.representation import read_representation
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train

WORLD = "dsprites_rendered"
OWN = "def two(images):\n    return images.mean(axis=(2, 3))[:, [20, 40]]\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    spec = RunSpec(world=WORLD, latents=3, image_size=32, steps=2, batch_size=4)
    return train(spec, tmp_path_factory.mktemp("runs"))


def _unknot(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unknot", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | {"COLUMNS": "120"})


def test_a_run_is_encoded_into_its_folder_a_file_for_each_setting(run: Run) -> None:
    done = _unknot("encode", run.folder, "--rows", "300", "--split", "composition", "--pictures")
    assert done.returncode == 0, done.stderr
    target = run.folder / "latents-composition-300.npz"
    assert done.stdout.splitlines()[-1] == str(target)
    made = read_representation(target)
    assert made.latents.shape == made.latents_test.shape == (300, 3)
    assert made.kl.shape == (3,)
    assert (run.folder / "pictures" / "hinton.png").is_file()
    assert "300 x 3 latents and 300 test rows" in done.stderr


def test_scoring_a_run_encodes_it_first_and_only_once(run: Run) -> None:
    done = _unknot("score", run.folder, "--metrics", "mig", "--json", "-")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["input"]["n_latents"] == 3
    assert read_representation(run.folder / "latents.npz").latents.shape == (15_000, 3)
    before = (run.folder / "latents.npz").stat().st_mtime_ns
    again = CliRunner().invoke(app, ["score", str(run.folder), "--metrics", "mig"])
    assert again.exit_code == 0, again.output
    assert (run.folder / "latents.npz").stat().st_mtime_ns == before
    assert (run.folder / "pictures" / "hinton.png").is_file()


def test_an_own_function_is_encoded_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "own_functions.py").write_text(OWN)
    words = ["--encoder", "own_functions:two", "--world", WORLD, "--rows", "40"]
    done = _unknot("encode", *words, "-o", "two.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_representation(tmp_path / "two.npz").latents.shape == (40, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "either the folder of a run or --encoder"),
        (["--encoder", "numpy:mean", "-o", "latents.npz"], "needs a world"),
        (["--encoder", "numpy:mean", "--world", WORLD], "--encoder needs -o FILE"),
        (["--encoder", "numpy:mean", "--world", WORLD, "--rows", "none", "-o", "a.npz"], "rows is 'none'"),
        (["--encoder", "numpy:mean", "--world", WORLD, "-o", "latents.txt"], "does not end in .npz"),
        (["--encoder", "numpy:mean", "--world", WORLD, "--rows", "4", "-o", "latents.npz"], "returned"),
        (["--encoder", "numpy:mean", "--world", WORLD, "--pictures"], "--pictures are of runs"),
        (["nowhere"], "is not a run"),
        (["mine:encode"], "Encoders are named by --encoder: `unknot encode --encoder mine:encode -o latents.npz`"),
    ],
)
def test_mistakes_are_explained(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["encode", *words])
    assert done.exit_code != 0
    assert message in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_run_cannot_be_scored(tmp_path: Path) -> None:
    done = _unknot("score", tmp_path)
    assert done.returncode == 2
    assert "is not a run" in done.stderr


def test_an_interrupt_leaves_the_file_from_before(tmp_path: Path) -> None:
    target = tmp_path / "latents.npz"
    np.savez(target, latents=np.ones((2, 2)))
    before = target.read_bytes()
    (tmp_path / "own_functions.py").write_text(
        "n = 0\ndef two(images):\n    global n\n    n += 1\n    if n == 3:\n        raise KeyboardInterrupt\n"
        "    return images.mean(axis=(2, 3))[:, :2]\n"
    )
    words = ["--encoder", "own_functions:two", "--world", WORLD, "--rows", "900", "-o", "latents.npz"]
    done = _unknot("encode", *words, cwd=tmp_path)
    assert done.returncode == 130
    assert target.read_bytes() == before
    assert not list(tmp_path.glob(".*.part"))
