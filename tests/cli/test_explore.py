"""`unknot explore`, as a user runs it."""

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unknot.cli.explore import explore
from unknot.errors import UnknotError
from unknot.reports.explorer.server import Explorer
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    spec = RunSpec(world="dsprites_rendered", latents=4, image_size=32, steps=2, batch_size=4)
    return train(spec, tmp_path_factory.mktemp("explored"))


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "unknot", "explore", *map(str, words)]


def test_the_address_is_printed_the_page_served_and_ctrl_c_ends_it(run: Run) -> None:
    words = _command(run.folder, "--no-browser")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address, timeout=120) as page:
                assert "<title>beta_vae" in page.read().decode()
            taken = subprocess.run(
                _command(run.folder, "--no-browser", "--port", address.strip("/").rpartition(":")[2]),
                capture_output=True,
                text=True,
            )
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0
    assert said.splitlines()[-1] == "unknot: ended."
    assert "Traceback" not in said
    assert taken.returncode == 2
    assert "cannot be opened" in taken.stderr
    with socket.socket() as gone, pytest.raises(OSError):
        gone.connect(("127.0.0.1", int(address.strip("/").rpartition(":")[2])))


def test_a_folder_that_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(_command(tmp_path, "--no-browser"), capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr.strip() == f"unknot: {tmp_path}: is not a run; it has no run.json. `unknot train` makes one."
    )


def test_a_file_of_latents_is_served_and_what_is_for_files_alone_is_refused(run: Run, tmp_path: Path) -> None:
    words = _command("example", "--world", "dsprites_rendered", "--no-browser")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            with urllib.request.urlopen(process.stdout.readline().strip(), timeout=120) as page:
                assert "6,000 rows of 10 latents. A picture is the image of its row." in page.read().decode()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
    with pytest.raises(UnknotError, match=r"explore: --world is for a file of latents, and .* is none"):
        explore(folder=run.folder, world="dsprites_rendered")
    with pytest.raises(UnknotError, match=r"explore: a file of factors is for a file of latents, and .* is none"):
        explore(folder=run.folder, factors_file=tmp_path / "factors.csv")
    with pytest.raises(UnknotError, match=r"missing\.npz: no such file\.$"):
        explore(folder=tmp_path / "missing.npz")


def test_columns_of_a_table_are_named_as_for_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"z0": rng.normal(size=30), "z1": rng.normal(size=30), "kind": ["a", "b", "?"] * 10})
    table.to_csv(tmp_path / "cells.csv", index=False)
    with pytest.raises(UnknotError, match="--latents"):
        explore(folder=tmp_path / "cells.csv")
    seen = []
    monkeypatch.setattr(Explorer, "serve_forever", lambda self: seen.append(self))
    explore(folder=tmp_path / "cells.csv", latents="z*", factors="kind", missing="?", browser=False)
    (page,) = (server.home.page.decode() for server in seen)
    assert "30 rows of 2 latents" in page and ">kind<" in page
    with pytest.raises(UnknotError, match=r"explore: --latents is for a file of latents, and .* is none"):
        explore(folder=tmp_path, latents="z*")
