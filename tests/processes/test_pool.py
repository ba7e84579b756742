"""Processes of commands end with the command, whatever ends it, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.family import alive, family

from unknot.processes.pool import spread

SHARED = Path("/dev/shm")
COMMANDS = {
    "score": ["score", "latents.npz", "--metrics", "nk,dci[gbt],dci[forest]", "--jobs", "2"],
    "scenes": ["data", "scenes", "-o", "scenes", "--n", "1000", "--jobs", "2"],
}


def _add(shared: dict[str, Any], item: int) -> tuple[float, bool, int]:
    return shared["x"].sum() + item, shared["x"].flags.writeable, os.getpid()


def _die(shared: None, item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fail(shared: None, item: int) -> None:
    raise ValueError(f"no {item}")


def _sleep(shared: None, item: int) -> None:
    time.sleep(item)


def test_every_item_is_done_by_processes_that_share_one_array() -> None:
    x = np.arange(100_000.0)
    results = list(spread(_add, {"x": x}, range(5), 2))
    assert sorted(value for value, _, _ in results) == [x.sum() + item for item in range(5)]
    assert not any(writeable for _, writeable, _ in results)
    assert 1 <= len({pid for _, _, pid in results} - {os.getpid()}) <= 2


def test_errors_and_deaths_reach_the_caller() -> None:
    with pytest.raises(ValueError, match="no 3"):
        list(spread(_fail, None, [3], 1))
    with pytest.raises(BrokenProcessPool):
        list(spread(_die, None, [0], 1))


def test_a_caller_that_stops_listening_does_not_wait() -> None:
    start = time.monotonic()
    results = spread(_sleep, None, [0, 600], 2)
    next(results)
    results.close()
    assert time.monotonic() - start < 120


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a command with two workers, and returns once both are there."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 9, (20_000, 4))
    np.savez(tmp_path / "latents.npz", latents=factors + rng.normal(size=factors.shape), factors=factors)
    started = []

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "unknot", *COMMANDS[name]]
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        _until(lambda: len(family(process.pid)) >= 4)  # itself, the tracker of its semaphores, two workers
        return process

    yield start
    for process in started:
        for pid in family(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM", "SIGKILL", "two"])
def test_nothing_is_left_of_a_command_that_is_ended(
    name: str, kind: str, begun: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = begun(name)
    members = family(process.pid)
    process.send_signal(getattr(signal, kind, signal.SIGINT))
    if kind == "two":
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if kind in ("SIGINT", "SIGTERM"):
        assert process.returncode == 130
        assert "interrupted" in said or name == "score"  # which says so on standard output
    assert "Traceback" not in said
    _until(lambda: not any(alive(pid) for pid in members))
    _until(lambda: not _in_memory(members))
    assert {path.name for path in tmp_path.iterdir()} <= {"latents.npz", "scenes"}


def _in_memory(members: set[int]) -> list[str]:
    """What these processes have put into shared memory; other tests have theirs."""
    names = [path.name for path in SHARED.glob("*")]
    return [name for name in names if any(str(pid) in name for pid in members)]


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
