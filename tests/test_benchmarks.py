"""Benchmarks refuse jobs that there are not, and read no results of other code."""

from importlib import import_module
from pathlib import Path

import pandas as pd
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


def test_generalisation_stands_beside_the_published_tables() -> None:
    part = import_module("reproduction.schott2022")
    cells = part.cells(2)
    assert len(cells) == len(set(cells)) == 3 * 4 * (2 * 10 + 4)
    assert {model for *_, model in cells[:120]} == set(part.STEPS)
    rows = [
        {
            "world": world,
            "model": model,
            "split": split,
            "seed": seed,
            "R²": 0.9 - 0.1 * part.SPLITS.index(split) + 0.02 * seed,
            "unseen factor": -0.5,
            "others": 0.8,
            "constant": 0.1,
        }
        for seed, world, split, model in cells
        if (world, split, model) != ("mpi3d_rendered", "composition", "bit_resnet101")
    ]
    text = part.text(pd.DataFrame(rows))
    assert "| dsprites_rendered | beta_vae | 91 ± 1 (78) | 81 ± 1 (0) | 71 ± 1 (64) | 61 ± 1 (18) |" in text
    assert "| mpi3d_rendered | bit_resnet101 | 90 (100) | - | 70 (" in text
    assert "| mpi3d_rendered | 10 (" in text  # points lost
    assert "| shapes3d_rendered | -0.500 | 0.800 | 0.910 |" in text
