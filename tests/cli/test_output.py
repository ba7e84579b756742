"""What commands print: words that no terminal obeys, in whatever encoding it takes."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unknot.cli.output import plain_console

ESCAPES = "\x1b[31mred\x1b[0m\x07"


def _unknot(*words: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "unknot", *(os.fsencode(str(word)) for word in words)]
    return subprocess.run(command, capture_output=True, env=os.environ | {"COLUMNS": "120"} | environment)


def _representation(path: Path, *names: str) -> Path:
    factors = np.random.default_rng(0).integers(0, 3, (60, len(names)))
    with path.open("wb") as file:
        np.savez(file, latents=factors * 1.0, factors=factors, factor_names=np.array(names))
    return path


def test_names_on_the_console_are_words(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    table = Table(f"[/red]{ESCAPES}")
    table.add_row(f"[bold]{ESCAPES}")
    plain_console().print(table)
    plain_console().print("[/red] :smile:")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and "\x07" not in printed
    assert "\\x1b[31mred" in printed
    assert "[/red]" in printed and "[bold]" in printed and ":smile:" in printed


def test_names_of_files_and_factors_do_not_reach_the_terminal_as_orders(tmp_path: Path) -> None:
    path = _representation(tmp_path / f"a{ESCAPES}.npz", f"[/red]{ESCAPES}", "\u202ex")
    done = _unknot("score", path, "--metrics", "mig")
    assert done.returncode == 0, done.stderr
    assert "\\x1b[31mred" in done.stdout.decode() and "\\u202e" in done.stdout.decode()
    path.write_bytes(b"PK")
    done = _unknot("score", path)
    assert done.returncode == 2
    assert b"\\x1b[31mred" in done.stderr and b"\x1b" not in done.stderr
    done = _unknot("score", f"--{ESCAPES}")
    assert done.returncode == 2 and b"\x1b" not in done.stderr


def test_standard_output_that_takes_ascii_alone_gets_escapes(tmp_path: Path) -> None:
    path = _representation(tmp_path / "a.npz", "größe", "名前")
    done = _unknot("score", path, "--metrics", "mig", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"gr\\xf6\\xdfe" in done.stdout


def test_names_that_are_no_text_survive(tmp_path: Path) -> None:
    path = _representation(tmp_path / "a\udcff.npz", "x", "y")
    done = _unknot("score", path, "--metrics", "mig", "--json", tmp_path / "a.json", "--html", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    assert "\\udcff" in (tmp_path / "a.json").read_text(encoding="utf-8")
    path.unlink()
    assert b"a\xff.npz" in _unknot("score", path).stderr


def test_cells_of_a_table_are_no_formulas(tmp_path: Path) -> None:
    paths = [_representation(tmp_path / f"{name}.npz", "x", "y") for name in ("=1+1", "@SUM(A1)")]
    done = _unknot("rank", *paths, "--all-to-all", "--method", "spearman", "--csv", tmp_path / "a.csv")
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert {row[1] for row in rows[1:]} == {"'=1+1", "'@SUM(A1)"}


def test_a_file_may_take_what_the_user_allows(tmp_path: Path) -> None:
    path = _representation(tmp_path / "a.npz", "x", "y")
    with np.load(path) as stored:
        np.savez_compressed(path, **stored)  # what is only mapped takes no memory of its own
    done = _unknot("score", path, "--max-bytes", "1KB")
    assert done.returncode == 2
    assert b"a.npz: would take 1.9 KB of memory, and a file may take at most 1.0 KB" in done.stderr
    assert _unknot("--max-bytes=1MB", "score", path, "--metrics", "mig", UNKNOT_MAX_BYTES="1KB").returncode == 0
    assert b"--max-bytes: 'x' is no size" in _unknot("score", path, "--max-bytes", "x").stderr


def test_a_name_that_is_too_long_for_a_disk_is_refused_in_a_sentence() -> None:
    for words in (["score", "n" * 300 + ".npz"], ["rank", "n" * 300, "b"], ["study", "n" * 300 + ".yaml"]):
        done = _unknot(*words)
        assert done.returncode == 2, done.stderr
        assert b"should not have happened" not in done.stderr and b"nnn" in done.stderr
