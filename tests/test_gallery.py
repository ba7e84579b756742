"""The scripts of `examples/` run as they are, one after the other, in an empty folder."""

import os
import runpy
import warnings
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_ten_and_they_are_short() -> None:
    assert len(SCRIPTS) >= 10
    assert all(len(script.read_text().splitlines()) < 60 for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of other libraries
        runpy.run_path(str(script), run_name="__main__")
