"""`unknot rank`, as a user runs it."""

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from unknot import rank
from unknot.cli import app
from unknot.reports.ranking import show_ranking
from unknot.representation import Representation

GOLDENS = Path(__file__).parents[1] / "goldens"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The stored models as files: four that disentangle (beta 4), four that do not (beta 1)."""
    folder = tmp_path_factory.mktemp("models")
    factors = np.random.default_rng(0).integers(0, 3, (2000, 2))
    with np.load(GOLDENS / "udr.npz") as stored:
        for i, (latents, kl) in enumerate(zip(stored["reps"], stored["kl"], strict=True)):
            name = f"beta{4 if stored['hyper'][i] == 0 else 1}-seed{i}.npz"
            Representation(latents, factors, kl=kl).write(folder / name)
    return sorted(folder.glob("*.npz"), key=lambda path: path.stem[-1])


def _unknot(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unknot", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "120"})


def test_the_output_says_who_is_best_how_it_was_found_and_what_it_rests_on(files: list[Path]) -> None:
    done = _unknot("rank", *files, "--group-by", r"beta(\d+)", "--against", "modularity", "--top", "3")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["comparing", "scoring"]
    said = " ".join(done.stdout.split())
    assert "UDR-L, Lasso with penalty 0.1 (the released code's), 2,000 rows" in said
    assert "other models of the same setting" in said
    assert "5 more; --top shows them" in said
    assert "Best for each number d of informative latents d models UDR best model 4 7 0.890" in said
    assert "setting models median UDR 95 % over seeds best in 4 4 0.890" in said
    assert "modularity[bins=20]" in said
    assert "fewer than 5 partners (3 here)" in said
    assert "The herd decides" in said
    assert "find the same latents up to order and sign" in said


def test_ids_of_runs_are_whole_in_80_columns_and_settings_say_what_tells_them_apart(files: list[Path]) -> None:
    common = "discriminator_layers 6, discriminator_lr 0.0001, same_batch False"
    settings = [f"factor_vae, gamma {10 * (1 + i // 4)}.0, {common}" for i in range(8)]
    found = replace(rank(files), names=tuple(f"7fe38336233{i}" for i in range(8)), settings=tuple(settings))
    console = Console(width=80, file=io.StringIO())
    show_ranking(found, console)
    said = console.file.getvalue()
    assert all(f"  {name}  factor_vae, gamma " in said for name in found.names), said
    assert "same_batch" not in said


@pytest.mark.parametrize(
    ("words", "title", "name", "tolerance"),
    [
        ([], "penalty 0.1 (the released code's)", "udr_eq2_lasso0.1_a2a_model_scores", 1e-6),
        (
            ["--alpha", "cv"],
            "cross-validated penalty (the paper's)",
            "udr_eq2_multitask_cv_a2a_model_scores",
            2e-4,
        ),
        (["--method", "spearman", "--rows", "all"], "UDR-S", "udr_eq2_spearman_a2a_model_scores", 1e-9),
        (["--normaliser", "public"], "all-to-all", "udr_lasso_a2a_model_scores", 1e-6),
        (["--groups", "a,a,b,b,a,a,b,b", "--all-to-all"], "all-to-all", "udr_eq2_lasso0.1_a2a_model_scores", 1e-6),
        (
            ["--groups", "a,a,a,a,b,b,b,b", "--normaliser", "public"],
            "same setting",
            "udr_lasso_within_hyper_model_scores",
            1e-6,
        ),
    ],
)
def test_the_record_holds_the_stored_scores(
    files: list[Path], golden, words: list[str], title: str, name: str, tolerance: float
) -> None:
    done = CliRunner().invoke(app, ["rank", *map(str, files), *words, "--json", "-"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert title in record["title"]
    scores = [model["udr"] for model in record["models"]]
    np.testing.assert_allclose(scores, golden("udr")[1][name], atol=tolerance)
    assert [model["name"][-1] for model in record["models"]] == list("01234567")
    assert record["models"][7]["n_informative"] == 3
    assert len(record["pairs"]["score"]) == sum(model["compared"] for model in record["models"])
    assert record["advice"]


def test_tables_and_pictures_are_written(files: list[Path], tmp_path: Path) -> None:
    box, matrix, table, record = (tmp_path / n for n in ("box.png", "matrix.svg", "table.csv", "record.json"))
    words = ["--group-by", "beta.", "--plot", box, "--matrix", matrix, "--csv", table, "--json", record]
    done = CliRunner().invoke(app, ["rank", *map(str, [*files, *words])])
    assert done.exit_code == 0, done.output
    assert box.read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in matrix.read_text()
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [row["rank"] for row in rows] == list("12345678")
    assert {row["setting"] for row in rows[:4]} == {"beta4"}
    settings = json.loads(record.read_text())["settings"]
    assert [s["setting"] for s in settings] == ["beta4", "beta1"]
    assert settings[0]["best"] == 1.0


def test_a_model_without_a_score_is_shown_as_such(files: list[Path], tmp_path: Path) -> None:
    Representation(np.ones((2000, 2)), kl=np.zeros(2)).write(tmp_path / "dead.npz")
    done = CliRunner().invoke(app, ["rank", *map(str, files[:3]), str(tmp_path / "dead.npz")])
    assert done.exit_code == 0, done.output
    assert "undefined" in done.output
    assert "note: no informative latent" in done.output
    listed = CliRunner().invoke(app, ["rank", *map(str, files[:3]), str(tmp_path / "dead.npz"), "--csv", "-"])
    assert listed.stdout.splitlines()[-1] == ",dead,,,0,0"
    everything = CliRunner().invoke(app, ["rank", *map(str, files[:3]), str(tmp_path / "dead.npz"), "--json", "-"])
    assert json.loads(everything.stdout)["models"][3]["udr"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alpha", "crossed"], "alpha is 'crossed'"),
        (["--rows", "many"], "rows is 'many'"),
        (["--method", "spearmn"], "did you mean 'spearman'"),
        (["--groups", "a,b"], "2 groups for 8 models"),
        (["--groups", "a", "--group-by", "b"], "both say what the settings are"),
        (["--against", "migs"], "did you mean 'mig'"),
        (["--plot", "box.doc"], "end its name in .png"),
    ],
)
def test_mistakes_are_explained(files: list[Path], words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["rank", *map(str, files), *words])
    assert done.exit_code != 0
    assert message in str(done.exception)


def test_one_model_is_not_a_ranking(files: list[Path]) -> None:
    done = _unknot("rank", files[0])
    assert done.returncode == 2
    assert done.stderr == "unknot: rank: 1 model(s) given; ranking compares at least two, better six or more.\n"


def test_an_interrupt_ends_with_one_line_and_no_files(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import unknot.ranking.pair_scores

    def stop(*models: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(unknot.ranking.pair_scores, "udr_scores", stop)
    done = CliRunner().invoke(app, ["rank", *map(str, files), "--json", str(tmp_path / "record.json")])
    assert done.exit_code == 130
    assert done.output == "unknot: interrupted; runs that were encoded stay so.\n"
    assert list(tmp_path.iterdir()) == []
