"""Benchmarks refuse jobs that there are not, and read no results of other code."""

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


def test_a_job_that_is_misspelt_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        import_module("wide").main(["--full", "gap"])
    assert "no job gap; there are information" in capsys.readouterr().err


def test_results_of_other_code_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, files = import_module("reproduction.draws"), import_module("unknot.files")
    before = draws.of_this_code(tmp_path)
    assert draws.of_this_code(tmp_path) == before and before.parent == tmp_path
    monkeypatch.setattr(files, "file_hash", lambda path: f"changed {path.name}")
    assert draws.of_this_code(tmp_path) != before


def test_pairs_of_another_way_to_draw_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons = import_module("reproduction.comparisons")
    for folder in (tmp_path, tmp_path / "another way"):
        (folder / "gates").mkdir(parents=True)
        (folder / "gates" / "0.json").write_text('{"loss": "old"}')
    (tmp_path / comparisons.WAY / "gates").mkdir(parents=True)
    (tmp_path / comparisons.WAY / "gates" / "0.json").write_text('{"loss": "new"}')
    assert comparisons.gate(tmp_path, 0) == {"loss": "new"}
