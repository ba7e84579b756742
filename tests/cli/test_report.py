"""`unknot report`, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from unknot.cli import app
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec


def _unknot(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "unknot", *map(str, words)], capture_output=True, text=True)


def _study(folder: Path) -> Path:
    (folder / "tables").mkdir(parents=True)
    row = {"id": "a", "world": "dsprites", "model": "vae", "setting": "", "seed": 0, "split": ""}
    pd.DataFrame([row | {"status": "waiting"}]).to_parquet(folder / "tables" / "runs.parquet")
    (folder / "study.json").write_text(json.dumps({"name": "tiny"}))
    return folder


def test_a_study_gets_its_page_in_its_own_folder_and_the_path_is_printed(tmp_path: Path) -> None:
    folder = _study(tmp_path / "study")
    done = CliRunner().invoke(app, ["report", str(folder)])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(folder / "report.html")
    assert "<h1>Study: tiny</h1>" in (folder / "report.html").read_text()


def test_a_run_gets_its_page_where_it_is_asked_for(tmp_path: Path) -> None:
    run = Run.create(tmp_path, RunSpec(world="dsprites_rendered", steps=3))
    done = CliRunner().invoke(app, ["report", str(run.folder), "--output", str(tmp_path / "a" / "page.html")])
    assert done.exit_code == 0, done.output
    assert "not finished yet" in (tmp_path / "a" / "page.html").read_text()
    assert not (run.folder / "report.html").exists()


def test_what_is_neither_is_refused_without_a_traceback(tmp_path: Path) -> None:
    done = _unknot("report", tmp_path)
    assert done.returncode == 2
    assert "is neither a study (study.json) nor a run (run.json)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_page_that_cannot_be_written_is_refused_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = _unknot("report", _study(tmp_path / "study"), "-o", tmp_path / "file" / "page.html")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_a_run_that_was_encoded_and_scored_by_hand_has_its_scores_on_its_page(tmp_path: Path) -> None:
    small = ("--world", "dsprites_rendered", "--image-size", "32", "--steps", "3", "--batch-size", "8")
    unknot = CliRunner()
    trained = unknot.invoke(app, ["train", *small, "--output", str(tmp_path)])
    folder = trained.stdout.strip().splitlines()[-1]
    for words in (["encode", folder], ["score", folder, "--metrics", "mig"], ["report", folder]):
        done = unknot.invoke(app, words)
        assert done.exit_code == 0, done.output
    html = (Path(folder) / "report.html").read_text()
    assert "Not scored yet" not in html
    assert "mig[bins=20]" in html
