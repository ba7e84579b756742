"""`unknot data list`, `download` and `check`, as a user runs them."""

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import unknot.cli
from unknot.worlds import WORLDS
from unknot.worlds.entry import PublishedFile


@pytest.fixture
def run(tmp_path: Path, monkeypatch, capsys):
    """Run one command line in this process; gives exit code, output and complaints."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("UNKNOT_DATA", raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["unknot", "data", *arguments])
        with pytest.raises(SystemExit) as stop:
            unknot.cli.main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def published(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A web server with one file, listed as the file of dsprites; gives the folder it serves."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sprites.npz").write_bytes(b"sprites" * 1000)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        md5 = hashlib.md5(b"sprites" * 1000).hexdigest()
        file = PublishedFile("sprites.npz", (f"http://127.0.0.1:{server.server_port}/sprites.npz",), md5=md5)
        monkeypatch.setitem(WORLDS, "dsprites", replace(WORLDS["dsprites"], files=(file,)))
        yield folder
        server.shutdown()
        thread.join()


def test_list_shows_every_world_with_its_factors_and_where_files_are_sought(run, tmp_path: Path) -> None:
    code, out, _ = run("list", "--data", str(tmp_path))
    assert code == 0
    for name in WORLDS:
        assert any(line.split()[0] == name for line in out.splitlines() if line.strip())
    assert "shape 3, scale 6, orientation 40, x 32, y 32" in out and "737,280" in out and "CC-BY-4.0" in out
    assert f"looked for in {tmp_path}, {tmp_path / 'cache' / 'unknot'}." in out


def test_list_as_json_says_which_files_are_here(run, tmp_path: Path) -> None:
    path = tmp_path / WORLDS["shapes3d"].files[0].name
    path.touch()
    code, out, _ = run("list", "--json", "--data", str(tmp_path))
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0 and list(rows) == list(WORLDS)
    assert rows["shapes3d"]["here"] and rows["shapes3d"]["paths"] == [str(path)]
    assert not rows["dsprites"]["here"] and rows["dsprites"]["stand_in"] == "dsprites_rendered"
    assert rows["dsprites_rendered"]["rendered"] and rows["dsprites_rendered"]["here"]
    assert rows["cars3d"]["factors"][1] == {"name": "azimuth", "size": 24, "kind": "circular"}
    assert f"here: {path}" in run("list", "--data", str(tmp_path))[1]


@pytest.mark.parametrize("name", ["3dshapes.h5", "nowhere"])
def test_list_wants_a_folder(run, tmp_path: Path, name: str) -> None:
    (tmp_path / "3dshapes.h5").touch()
    code, out, complaint = run("list", "--data", str(tmp_path / name))
    assert (code, out) == (2, "") and f"{name} is not a folder" in complaint


def test_download_puts_the_file_where_it_is_found_again(run, tmp_path: Path, published: Path) -> None:
    code, out, _ = run("download", "dsprites", "--data", str(tmp_path / "data"))
    path = tmp_path / "data" / "sprites.npz"
    assert code == 0 and path.read_bytes() == b"sprites" * 1000
    assert f"{path} (checksum verified)" in out and "Licence: Apache-2.0. Cite Matthey" in out
    rows = {row["name"]: row for row in json.loads(run("list", "--json", "--data", str(tmp_path / "data"))[1])}
    assert rows["dsprites"]["here"]


def test_download_without_a_folder_goes_to_the_cache(run, tmp_path: Path, published: Path) -> None:
    assert run("download", "dsprites")[0] == 0
    assert (tmp_path / "cache" / "unknot" / "sprites.npz").exists()


def test_a_failed_download_exits_with_two_and_names_the_stand_in(run, tmp_path: Path, published: Path) -> None:
    (published / "sprites.npz").write_bytes(b"corrupted")
    code, _, err = run("download", "dsprites", "--data", str(tmp_path / "data"))
    assert code == 2 and "what came is not the published file" in err
    assert "The rendered stand-in 'dsprites_rendered' needs no file." in err
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dsprits", "did you mean 'dsprites'"),
        ("dsprites_rendered", "is rendered, so there is nothing to download"),
    ],
)
def test_what_cannot_be_downloaded_is_told(run, name: str, message: str) -> None:
    code, _, err = run("download", name)
    assert code == 2 and message in err


def test_check_exits_with_one_when_a_check_fails_and_shows_which(run, tmp_path: Path) -> None:
    path = tmp_path / "celeb_glow_random_train_labels.npz"
    np.savez(path, np.zeros((64_000, 4), np.int64))
    code, out, _ = run("check", str(path))
    assert code == 0 and "pass" in out and f"{path} has the form of the published file" in out
    assert "Its checksum was not compared: none is known." in out
    np.savez(path, np.full((64_000, 4), 7))
    code, out, _ = run("check", str(path))
    assert code == 1 and "FAIL" in out and "labels lie in the grid" in out and "differs from" in out
    code, out, _ = run("check", "--json", str(path))
    record = json.loads(out)
    assert code == 1 and not record["passed"] and [one["passed"] for one in record["checks"]] == [True, False]


def test_check_of_a_damaged_file_is_a_failure_and_of_a_strange_one_an_error(run, tmp_path: Path) -> None:
    (tmp_path / "mpi3d_toy.npz").write_bytes(b"PK\x03\x04 and then nothing")
    code, out, _ = run("check", str(tmp_path / "mpi3d_toy.npz"))
    assert code == 1 and "cut short or damaged" in out
    (tmp_path / "notes.txt").write_text("hello")
    code, out, err = run("check", str(tmp_path / "notes.txt"))
    assert code == 2 and out == "" and "is no published file that is known" in err
    assert run("check", str(tmp_path / "none"))[0] == 2


def test_the_command_runs_as_a_program(tmp_path: Path) -> None:
    code = "from unknot.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, "data", "check", str(tmp_path / "x")], capture_output=True
    )
    assert result.returncode == 2 and b"no such file" in result.stderr and b"Traceback" not in result.stderr
