"""`unknot task fairness`, as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.tasks import read_result

WORLD = "dsprites_rendered"
OWN = "def two(images):\n    return images.mean(axis=(2, 3))[:, [20, 40]]\n"
QUICK = ("--rows", "300", "--rounds", "3", "--points", "5")


def test_an_encoder_is_judged_and_the_files_asked_for_are_written(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    command = [sys.executable, "-m", "unknot", "task", "fairness", "mine:two", "--world", WORLD, *QUICK]
    command += ["--target", "shape", "--target", "x", "-o", "kept", "--json", "f.json", "--html", "f.html"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"COLUMNS": "130"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.split("\n")[:3] == ["encoding", "training classifiers", "interventions"]
    assert "unfairness of predictions (row)" in done.stdout
    result = read_result(tmp_path / "f.json")
    assert [row["target"] for row in result.tables["targets"]] == ["shape", "x"]
    assert len(result.tables["pairs"]) == 8
    assert "<svg" in (tmp_path / "f.html").read_text()
    assert len(list((tmp_path / "kept").glob("fairness_*.json"))) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere:nothing", "--world", WORLD], "cannot be imported"),
        (
            ["unknot.reports.demo:main", "--rows", "none"],
            "rows is 'none'; expected a whole number from 10 up or all",
        ),
        (["numpy:ravel"], "needs a world"),
        (["runs/nope"], "runs/nope: no such file or folder"),
        (["nope.npz"], "nope.npz: no such file or folder"),
    ],
)
def test_mistakes_end_in_one_message(words: list[str], complaint: str) -> None:
    done = CliRunner().invoke(app, ["task", "fairness", *words])
    assert complaint in str(done.exception)
