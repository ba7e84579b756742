"""`unknot task generalisation` and `unknot leaderboard`, as a user runs them."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from unknot.cli import app
from unknot.cli.leaderboard import leaderboard
from unknot.errors import UnknotError
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.tasks.result import read_result

OWN = """
import numpy as np

def half(images):
    return np.full((len(images), 5), 0.5)

def lines(images):
    return images[:, ::8, ::8].reshape(len(images), -1) / 255

def two(images):
    return np.zeros((len(images), 2))

def broken(images):
    return np.full((len(images), 5), np.nan)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


def _task(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unknot", "task", "generalisation", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=here, env=os.environ | {"COLUMNS": "80"})


def test_functions_are_tested_compared_written_and_put_on_a_page(here: Path) -> None:
    common = ("--world", "dsprites_rendered", "--split", "extrapolation", "--split", "random", "--rows", "300")
    done = _task(here, "mine:half", "mine:half", *common, "-o", "out", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    assert "extrapolation: R² by factor" in done.stdout and "-0.388" in done.stdout
    assert "correlation of predictions" in done.stdout and "ground truth" in done.stdout
    (written,) = (here / "out").glob("*.json")  # the same model twice is one file
    found = read_result(written)
    assert found.settings["splits"] == ["extrapolation", "random"]
    page = (here / "page.html").read_text()
    assert "R², extrapolation" in page and "correlation of errors" in page and "always the training mean" in page


def test_latents_are_read_out_and_one_json_is_written(here: Path) -> None:
    words = ("mine:lines", "--readout", "--world", "dsprites_rendered", "--split", "composition", "--rows", "200")
    done = _task(here, *words, "--train-rows", "300", "--steps", "50", "--name", "grid", "--json", "found.json")
    assert done.returncode == 0, done.stderr
    record = json.loads((here / "found.json").read_text())
    assert record["source"] == "grid" and record["settings"]["readout"] is True
    assert set(record["values"]) == {"composition_r2", "composition_r2_clipped", "composition_r2_constant"}


def test_runs_of_two_splits_are_each_tested_on_their_own(here: Path) -> None:
    runs = [
        train(
            RunSpec(world="dsprites_rendered", model="cnn", split=split, steps=1, image_size=32), here
        ).folder.name
        for split in ("extrapolation", "interpolation")
    ]
    done = _task(here, *runs, "--rows", "20", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    assert "extrapolation: R² by factor" in done.stdout and "interpolation: R² by factor" in done.stdout
    assert "correlation" not in done.stdout and "R², interpolation" in (here / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mine:two", "--world", "dsprites_rendered", "--split", "random"], "--readout"),
        (["mine:broken", "--world", "dsprites_rendered", "--split", "random"], "predicts nan for shape"),
        (["mine:half", "--world", "dsprites_rendered"], "inside which split"),
        (["mine:half", "--world", "dsprites_rendered", "--split", "beyond"], "unknown split 'beyond'"),
        (["mine:half", "--world", "dsprites_rendered", "--rows", "few"], "rows is 'few'; expected a whole number"),
        (["mine:half", "mine:half", "--json", "a.json"], "-o FOLDER"),
        (["--oracle"], "the oracle reads the true factors of a world; name one"),
        (["mine:half", "--oracle", "--world", "dsprites"], "expected no source with these options"),
        ([], "expected a source: The folder of a run"),
        (["runs/nope"], "runs/nope: no such file or folder"),
        (["runs/nope", "--world", "dsprites_rendered"], "runs/nope: no such file or folder"),
    ],
)
def test_mistakes_are_named(here: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    monkeypatch.chdir(here)
    done = CliRunner().invoke(app, ["task", "generalisation", *words])
    assert isinstance(done.exception, UnknotError) and said in str(done.exception)


def test_a_mistake_ends_in_one_message(here: Path) -> None:
    done = _task(here, "mine:broken", "--world", "dsprites_rendered", "--split", "random")
    assert done.returncode == 2 and "predicts nan for shape" in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_oracle_reads_true_factors(here: Path) -> None:
    words = ("--oracle", "--world", "dsprites", "--split", "random", "--rows", "500", "--steps", "300")
    done = _task(here, *words, "--recipe", "quick")
    assert done.returncode == 0, done.stderr
    assert "sign-flipped" in done.stdout and "random_true_factors" in done.stdout


def test_the_leaderboard_shows_published_numbers_beside_own_ones(here: Path) -> None:
    done = _task(
        here, "mine:half", "--world", "dsprites_rendered", "--split", "extrapolation", "--rows", "99", "-o", "out"
    )
    assert done.returncode == 0, done.stderr
    board = typer.Typer()
    board.command()(leaderboard)
    shown = CliRunner().invoke(board, [str(here / "out"), "--world", "dsprites"], env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    assert "SlowVAE" in shown.output and "dSprites (rendered)" in shown.output and "MPI3D" not in shown.output
    assert "dsprites (Schott et al. 2022, Table 5)" in shown.output
    page = here / "page.html"
    written = CliRunner().invoke(board, [str(here / "out"), "--format", "csv", "--html", str(page)])
    rows = list(csv.DictReader(io.StringIO(written.stdout)))
    assert "R², extrapolation" in page.read_text()
    assert {row["whose"] for row in rows} == {"own", "published", "baseline"}
    (mine,) = [row for row in rows if row["whose"] == "own"]
    assert (mine["images"], mine["rank"], mine["world"]) == ("dSprites (rendered)", "1", "dsprites")
    assert CliRunner().invoke(board, ["--format", "markdown"]).output.startswith("| world | split |")
    next((here / "out").glob("*.json")).rename(here / "out" / "\udcff.json")  # no text
    assert r"\udcff.json" in CliRunner().invoke(board, [str(here / "out"), "--format", "json"]).output
    ranked = CliRunner().invoke(board, [str(here / "out"), "--split", "extrapolation"], env={"COLUMNS": "160"})
    assert "own, 1 seed" in ranked.output and "66.7 ± 1.7" in ranked.output
