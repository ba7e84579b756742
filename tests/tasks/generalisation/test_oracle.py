from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.reports.leaderboard import leaderboard
from unknot.reports.task_page import write_task_page
from unknot.tasks.generalisation.options import KINDS
from unknot.tasks.generalisation.task import generalisation
from unknot.tasks.result import TaskResult


def oracle(world: str | None, split: str, **options: Any) -> TaskResult:
    return generalisation(world=world, split=split, oracle=True, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_readout_reads_true_and_sign_flipped_factors_on_every_split(kind: str) -> None:
    result = oracle("dsprites", kind, rows=3000, train_rows=30_000, steps=5000)
    assert len(result.values) == 2
    assert min(result.values.values()) > 0.99, result.values


@pytest.mark.parametrize("world", ["shapes3d", "mpi3d_real"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_readout_reads_the_factors_of_other_worlds_too(world: str, kind: str) -> None:
    result = oracle(world, kind, rows=2000, train_rows=20_000, steps=2000, recipe="quick")
    assert len(result.values) == 2
    assert min(result.values.values()) > 0.99, result.values


def test_all_training_points_are_read_if_nothing_else_is_said(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    def result() -> TaskResult:
        return oracle("mpi3d_real", "", rows=50, steps=2, folder=tmp_path, progress=lambda *now: told.append(now))

    first = result()
    assert told[-1][1:] == (4, 4)
    assert first.settings["train_rows"] == "all"
    assert [row["split"] for row in first.tables["oracle"]] == [kind for kind in KINDS for _ in range(2)]
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*.json")}
    assert len(kept) == 4 and result().values == first.values
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*.json")}


def test_it_stands_on_a_page_and_on_no_board(tmp_path: Path) -> None:
    result = oracle("dsprites", "random", rows=50, train_rows=100, steps=2)
    page = write_task_page(tmp_path / "page.html", [result]).read_text()
    assert "Readout of the true factors of dsprites" in page and "sign-flipped" in page
    assert not [entry for entry in leaderboard([result]) if entry.own]


def test_it_needs_a_world_and_takes_no_source() -> None:
    with pytest.raises(UnknotError, match="the oracle reads the true factors of a world; name one"):
        oracle(None, "random")
    with pytest.raises(UnknotError, match="expected no source with these options"):
        generalisation(lambda images: np.zeros((len(images), 5)), "dsprites", "random", oracle=True)
