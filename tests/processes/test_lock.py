"""Work that one process at a time may do, on one machine or on several that share a disk."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.processes import lock
from unknot.processes.lock import HeldError, forget_killed, held

Start = Callable[..., "subprocess.Popen[str]"]
MACHINE = """
import platform, sys, time
from pathlib import Path
import filelock
from unknot.processes import lock

class Blind(filelock.BaseFileLock):  # a disk that does not tell machines of each other's locks
    def _acquire(self): self._context.lock_file_fd = 0
    def _release(self): self._context.lock_file_fd = None

platform.node = lambda: sys.argv[2]
lock._boot = lambda: sys.argv[2]
filelock.FileLock = Blind
lock.BEAT, lock.DEAD, lock.SETTLE = 0.05, 1.0, 0.2
try:
    with lock.held(Path(sys.argv[1])):
        print("in", flush=True)
        end = time.monotonic() + float(sys.argv[3])
        while time.monotonic() < end:
            time.sleep(0.02)
    print("out", flush=True)
except lock.HeldError as busy:
    print("refused:", busy, busy.holder.hint, flush=True)
except lock.UnknotError as error:
    print("lost:", error, flush=True)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"BEAT": 0.05, "DEAD": 1.0, "SETTLE": 0.2}.items():
        monkeypatch.setattr(lock, name, seconds)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that is another machine: it has another name, and the system does not show it our locks."""
    started = []

    def start(host: str, seconds: float = 60.0) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "ignore", "-c", MACHINE, str(tmp_path / "a.lock"), host, str(seconds)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_another_machine_is_refused_by_name_while_the_holder_lives(machine: Start, tmp_path: Path) -> None:
    first = machine("node7")
    assert said(first) == "in\n"
    refused = said(machine("node8"))
    assert refused.startswith(f"refused: process {first.pid} on node7  If node7 is dead, its lock is taken over")
    assert first.poll() is None


def test_a_dead_machine_is_taken_over_once_it_gave_no_sign_of_life_for_long(
    machine: Start, tmp_path: Path
) -> None:
    first = machine("node7")
    assert said(first) == "in\n"
    first.kill()
    first.wait()
    began = time.monotonic()
    second = machine("node8", 0.0)
    assert said(second) == "in\n" and time.monotonic() - began > 1.0
    assert said(second) == "out\n"
    assert not (tmp_path / "a.holder").exists()


def test_a_machine_that_slept_stops_when_another_has_taken_over(machine: Start) -> None:
    first = machine("node7")
    assert said(first) == "in\n"
    first.send_signal(signal.SIGSTOP)
    second = machine("node8", 5.0)
    assert said(second) == "in\n"
    first.send_signal(signal.SIGCONT)
    assert "was taken over by process" in said(first)
    assert said(second) == "out\n"


def test_of_two_machines_that_take_over_at_once_one_goes_on(machine: Start) -> None:
    first = machine("node7")
    assert said(first) == "in\n"
    first.kill()
    first.wait()
    answers = sorted(said(process).split()[0] for process in [machine("node8"), machine("node9")])
    assert answers == ["in", "refused:"]


def test_what_a_killed_process_of_this_machine_left_is_no_hindrance(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from unknot.processes.lock import held\n"
    code += "with held(Path(sys.argv[1])): os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.lock")])
    left = (tmp_path / "a.holder").read_text()
    with held(tmp_path / "a.lock"):  # a warning, which is an error here, would say that it waits
        forget_killed(tmp_path / "a.lock")
        assert (tmp_path / "a.holder").exists()
    assert not (tmp_path / "a.holder").exists()
    (tmp_path / "a.holder").write_text(left)
    forget_killed(tmp_path / "a.lock")
    assert not (tmp_path / "a.holder").exists()


def test_who_waits_gets_the_lock_when_the_other_machine_lets_go(machine: Start, tmp_path: Path) -> None:
    first = machine("node7", 1.5)
    assert said(first) == "in\n"
    with (
        pytest.warns(UnknotWarning, match=r"names process \d+ on node7"),
        held(tmp_path / "a.lock", patience=math.inf),
    ):
        assert said(first) == "out\n"


def test_the_record_says_who_holds_the_lock_and_counts(tmp_path: Path) -> None:
    def lines() -> list[str]:
        return (tmp_path / "a.holder").read_text().splitlines()

    with held(tmp_path / "a.lock"):
        assert json.loads(lines()[0])["pid"]
        first = int(lines()[1])
        while int(lines()[1]) == first:
            time.sleep(0.01)
        with pytest.raises(HeldError, match=f"^process {os.getpid()}$"), held(tmp_path / "a.lock"):
            pass


def test_errors_of_the_work_are_its_own_and_a_record_taken_away_by_hand_is_written_anew(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="mine"), held(tmp_path / "a.lock"):
        (tmp_path / "a.holder").unlink()
        while not (tmp_path / "a.holder").exists():
            time.sleep(0.01)
        raise UnknotError("mine")
    with pytest.raises(KeyboardInterrupt), held(tmp_path / "a.lock"):
        raise KeyboardInterrupt
    (tmp_path / "b.lock").mkdir()
    with pytest.raises(OSError, match="directory"), held(tmp_path / "b.lock"):
        pass


@pytest.mark.parametrize("text", ["", "5", "[" * 100_000, '{"host": '])
def test_a_record_that_says_nothing_names_nobody(text: str) -> None:
    assert str(lock._parsed(text)) == "another process on another machine"
