"""Benchmarks refuse jobs that there are not, and read no results of other code."""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
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
    assert {model for *_, model in cells[240:]} == set(part.LARGE)
    text = part.text(_generalisation(part, cells))
    assert "| dsprites_rendered | beta_vae | 91 ± 1 (78) | 81 ± 1 (0) | 71 ± 1 (64) | 61 ± 1 (18) |" in text
    assert "| mpi3d_rendered | bit_resnet101 | 90 (100) | - | 70 (" in text
    assert "| dsprites_rendered | 10 (63), 10 of 10 | 20 (14), 10 of 10 | 30 (" in text  # points lost
    assert "| shapes3d_rendered | -0.500 | 0.800 | 0.911 | 0 of 10 |" in text


def test_generalisation_is_told_of_the_runs_that_there_are() -> None:
    part = import_module("reproduction.schott2022")
    cells = part.cells(1)
    for n in (1, 7, 25, 43, 71, 130):
        text = part.text(_generalisation(part, cells[:n]))
        assert "| dsprites_rendered | mlp | 90 (" in text
        assert "nan" not in text
    assert "| mpi3d_rendered | - | - | 30 (" in part.text(_generalisation(part, cells[:60]))


def test_rows_in_the_docs_are_told_as_those_of_a_call() -> None:
    part = import_module("reproduction.schott2022")
    rows = pd.read_csv(Path(__file__).parents[1] / "docs" / "measured" / "schott2022.csv")
    assert not rows.duplicated(["seed", "world", "split", "model"]).any()
    assert "| shapes3d_rendered | mlp | 97 ± 0 (100) | 91 ± 2 (100) |" in part.text(rows)


def test_runs_that_were_measured_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = import_module("reproduction.schott2022")
    cells = part.cells(1)[:2]
    monkeypatch.setattr(part, "STEPS", {"mlp": 1, "cnn": 1})
    monkeypatch.setattr(part, "ROWS", 300)
    monkeypatch.setattr(part, "cells", lambda seeds: cells)
    monkeypatch.setattr(part, "workers", ThreadPoolExecutor)
    told, made, train = part.run(tmp_path, 1), [], part.one

    def one(cell: tuple[int, str, str, str], folder: Path) -> dict[str, Any]:
        made.append(cell)
        return dict(train(cell, folder))

    monkeypatch.setattr(part, "one", one)
    assert part.run(tmp_path, 1) == told and made == []
    rows = pd.read_csv(tmp_path / "r2.csv")
    rows.assign(run=["trained in another way", rows["run"][1]]).to_csv(tmp_path / "r2.csv", index=False)
    assert part.run(tmp_path, 1) == told and made == cells[:1]
    rows.drop(columns="run").to_csv(tmp_path / "r2.csv", index=False)  # of before rows named their runs
    assert part.run(tmp_path, 1) == told and made == [cells[0], *cells]


def _generalisation(part: ModuleType, cells: list[tuple[int, str, str, str]]) -> pd.DataFrame:
    rows = [
        {
            "world": world,
            "model": model,
            "split": split,
            "seed": seed,
            "R²": 0.9 - 0.1 * part.SPLITS.index(split) + 0.02 * seed + len(model) / 10_000,
            "unseen factor": -0.5,
            "others": 0.8,
            "constant": 0.1,
        }
        for seed, world, split, model in cells
        if (world, split, model) != ("mpi3d_rendered", "composition", "bit_resnet101")
    ]
    return pd.DataFrame(rows)


def test_novel_combinations_stand_beside_the_published_tables() -> None:
    part = import_module("reproduction.mahon2024")
    cells = part.cells()
    assert len(cells) == len(set(cells)) == 3 * len(part.MODELS)
    rows = [
        {"model": model, "held_out": held_out, **dict.fromkeys(ACCURACIES, 0.95), "mlp novel both": i / 100}
        | {metric: i / 50 for metric in part.METRICS}
        for i, (held_out, model) in enumerate(cells[:-1])
    ]
    text = part.text(pd.DataFrame(rows))
    n = len(part.MODELS)
    assert f"| size=0,shape=0 | {n} of {n} | 0.95 (0.95 to 0.95) |" in text
    assert f"| size=5,shape=2 | {n - 1} of {n - 1} |" in text
    assert (
        f"| {cells[1][1]} | {' | '.join(['0.950'] * 5)} | {(1 + 1 + n) / 200:.3f} |" in text
    )  # of two combinations
    assert f"| autoencoder | {' | '.join(['0.950'] * 5)} | 0." in text
    assert f"| snc | {' | '.join(['1.00 [1.00, 1.00]'] * 5)} | 0.849 |" in text and "| 0.849 | 0.850 |" in text
    assert "| beta_vae | " in text and " 0.147 |" in text
    assert "| beta_vae, 0.002 |" in part.text(pd.DataFrame(rows[:3]))


def test_a_model_is_trained_without_a_combination_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = import_module("reproduction.mahon2024")
    sizes = {"hue": 5, "size": 3, "shape": 3}
    classes = np.stack(np.meshgrid(*map(np.arange, sizes.values()), indexing="ij"), axis=-1).reshape(-1, 3)
    images = np.repeat(np.repeat(40 * classes[:, None, None, :].astype(np.uint8), 8, axis=1), 8, axis=2)
    world = tmp_path / "world.npz"
    np.savez(world, images=images, factors=classes, factor_names=list(sizes), factor_kinds=["ordinal"] * 3)
    monkeypatch.setitem(part.FIELDS, "steps", 4)
    monkeypatch.setitem(part.FIELDS, "image_size", 8)
    monkeypatch.setattr(part, "METRICS", ("mig",))
    row = part.one(("size=0,shape=0", "beta_vae, 0.002"), tmp_path, world)
    assert set(ACCURACIES) | {"mig", "seconds", "model", "held_out"} == set(row)
    assert all(0 <= row[name] <= 1 for name in ACCURACIES)


ACCURACIES = [
    f"{heads} {test} {factor}"
    for heads in ("mlp", "linear")
    for test in ("random", "novel")
    for factor in ("size", "shape", "both")
]


def test_correlations_are_told_of_those_that_know_and_within_settings() -> None:
    part = import_module("reproduction.vansteenkiste2019")
    rng = np.random.default_rng(0)
    rows = []
    for setting, (name, knows) in enumerate({"first": 0.9, "second": 0.9, "blind": 0.4}.items()):
        for seed, luck in enumerate(rng.permutation(6)):
            row = {"representation": name, "seed": seed, "other rows": 0.3, "linear reading": knows}
            row |= {score: float(luck) for score in (*part.METRICS, "reconstruction error")}
            row |= {f"{step} steps": float(rng.random()) for step in part.AT}
            rows.append(row | {"mig": setting - 0.01 * luck, "2000 steps": 10 * setting + luck})
    text = part.told(rows)
    assert "18 representations, 12 of them knowing." in text
    (mig,) = (line for line in text.splitlines() if line.startswith("| mig |"))
    *_, among_all, knowing, within = mig.strip("| ").split(" | ")
    within_settings, *across = (float(cell.split(" [")[0]) for cell in (within, among_all, knowing))
    assert within_settings < -0.95 and min(across) > 0
    assert "| second | " in text and "10.00 to 15.00" in text
    assert "| - |" in part.told(rows[:6]), "too few for a correlation"


def test_a_reasoner_is_put_to_a_representation_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = import_module("reproduction.vansteenkiste2019")
    monkeypatch.setattr(part, "IMAGES", 64)
    monkeypatch.setattr(part, "READ", 300)
    monkeypatch.setattr(part, "METRICS", ("mig",))
    monkeypatch.setattr(part, "AT", (1, 2))
    monkeypatch.setitem(part.FIELDS, "steps", 3)
    world = part.images_of(tmp_path)
    with np.load(world) as drawn:
        assert drawn["images"].shape == (64, 32, 32, 3) and drawn["images"].std() > 10
    row = part.one("beta_vae, 0.1", 0, tmp_path, world)
    assert 0 <= row["2 steps"] <= 1 and 0 <= row["linear reading"] <= 1 and row["reconstruction error"] > 0
    assert part.one("beta_vae, 0.1", 0, tmp_path, tmp_path / "nothing") == row
    monkeypatch.setitem(part.FIELDS, "lr", 1e6)
    assert part.one("dense, 0.1", 0, tmp_path, world) is None, "diverged"
