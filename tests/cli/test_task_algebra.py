"""`unknot task algebra` as a reader of the docs would type it."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.worlds.scenes.corpus import ROLES
from unknot.worlds.scenes.toy_corpus import toy_corpus

RUN = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("toy")
    toy_corpus(made, n=16, size=16)
    return made


def ask(*words: object) -> str:
    done = RUN.invoke(app, ["task", "algebra", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_corpus_that_is_there_is_used_and_files_are_written(folder: Path, tmp_path: Path) -> None:
    codes = {role: np.random.default_rng(0).normal(size=(16, 3)) for role in ROLES}
    np.savez(tmp_path / "mine.npz", **codes)
    words = ("--corpus", folder, "--minibatch", 16, "-o", tmp_path / "kept")
    files = ("--json", tmp_path / "r.json", "--html", tmp_path / "r.html")
    out = ask(tmp_path / "mine.npz", *words, *files)
    assert "mine.npz" in out and "symbolic attributes" in out and "100.0 [100.0, 100.0]" in out
    assert "Share of tuples in which the wrong picture does worse: acos, toy" in out
    assert str(tmp_path / "r.html") in out and list((tmp_path / "kept").glob("algebra_mine_npz-*.json"))
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["settings"]["corpora"]["toy"]["n"] == 16
    assert "published" in record["tables"]


def test_a_preview_only_draws(folder: Path, tmp_path: Path) -> None:
    assert ask("--corpus", folder, "--preview", tmp_path / "r.png") == f"{tmp_path / 'r.png'}\n"
    assert (tmp_path / "r.png").is_file()


def test_several_sources_share_one_page(folder: Path, tmp_path: Path) -> None:
    sources = []
    for seed in range(2):
        codes = {role: np.random.default_rng(seed).normal(size=(16, 3)) for role in ROLES}
        sources.append(tmp_path / f"mine{seed}.npz")
        np.savez(sources[-1], **codes)
    out = ask(*sources, "--corpus", folder, "--minibatch", 16, "--html", tmp_path / "both.html")
    assert "mine0.npz" in out and "mine1.npz" in out
    assert "mine1.npz" in (tmp_path / "both.html").read_text()


def test_a_corpus_is_made_where_there_is_none_and_read_the_next_time(tmp_path: Path) -> None:
    words = (
        "--corpus",
        tmp_path,
        "--tuples",
        8,
        "--size",
        16,
        "--variant",
        "clear",
        "--jobs",
        1,
        "--minibatch",
        8,
    )
    first = ask(*words, "--norm", "l2")
    home = tmp_path / "clear-8-16-seed0"
    assert (home / "corpus.json").is_file()
    before = (home / "images.npy").stat().st_mtime_ns
    assert list(home.glob("parts/baselines-*.json"))
    assert ask(*words, "--norm", "l2") == first
    assert (home / "images.npy").stat().st_mtime_ns == before


def test_mistakes_are_said_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    for words, message in (
        (("--corpus", folder), "16 tuples are fewer than a minibatch of 64"),
        (("--corpus", folder, "--minibatch", 16, "--norm", "l1"), "unknown norm"),
        (("--corpus", folder, "--quadruples", folder / "corpus.json"), "take the place of a corpus"),
        (("--corpus", folder, "--minibatch", 16, "--tre", "times"), "unknown composition of algebra 'times'"),
        (("--tuples", 1), "tuples is 1; expected a whole number from 2 up"),
        (("nonsense", "--corpus", folder, "--minibatch", 16), "unknown encoder 'nonsense'"),
        (("--quadruples", tmp_path / "x.csv"), "no such file"),
        (("--corpus", tmp_path, "--variant", "foggy"), "unknown variant of algebra 'foggy'"),
        (("--corpus", tmp_path, "--tuples", 32), "32 tuples are fewer than a minibatch of 64"),
    ):
        with pytest.raises(UnknotError, match=message):
            ask(*words)


def test_a_source_that_is_none_is_refused_before_a_corpus_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for source, message in (
        (tmp_path / "nope", "nope: no such file or folder"),
        ("nope.npz", "no such file or folder"),
        (tmp_path / "empty", "is not a run"),
        ("nowhere:nothing", "cannot be imported"),
    ):
        with pytest.raises(UnknotError, match=message):
            ask(source, "--corpus", tmp_path / "corpora", "--tuples", 8, "--size", 16, "--minibatch", 8)
    assert not (tmp_path / "corpora").exists()


def test_a_corpus_too_small_for_tre_is_scored_without_it(tmp_path: Path) -> None:
    toy_corpus(tmp_path / "toy", n=4, size=16)
    codes = {role: np.random.default_rng(0).normal(size=(4, 3)) for role in ROLES}
    np.savez(tmp_path / "mine.npz", **codes)
    out = ask(tmp_path / "mine.npz", "--corpus", tmp_path / "toy", "--minibatch", 4)
    piped = ask(tmp_path / "mine.npz", "--corpus", tmp_path / "toy", "--minibatch", 4, "--json", "-")
    assert json.loads(piped)["task"] == "algebra"
    assert "l2_coat" in out and "TRE is left out: the corpus was cut from 4 main scenes" in out


def test_a_corpus_with_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    toy_corpus(tmp_path, n=4, size=16)
    (tmp_path / "images.npy").unlink()
    with pytest.raises(UnknotError, match=r"images\.npy"):
        ask("--corpus", tmp_path, "--minibatch", 4)
