"""A study that is killed and begun again: its processes, and whether it ends as an undisturbed one."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMES = ["minutes", "seconds"]  # the columns that no two studies share
RESULTS = ("runs/*/*.pt", "runs/*/*.safetensors", "runs/*/*.npz", "runs/*/*.json", "runs/*/tasks/*.json")


@dataclass
class Life:
    """One process of `unknot study`, from its start to its end or its death.

    Attributes:
        file: of the study.
        folder: of the study.
        options: of the command.
        environment: its own variables.
        log: a file that is added to.
    """

    file: Path
    folder: Path
    options: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)
    log: Path = Path()

    def __post_init__(self) -> None:
        """Start it, in a session of its own, so that all its processes can be found."""
        self.before = results(self.folder)
        self.log = self.folder.with_suffix(".log") if self.log == Path() else self.log
        command = [sys.executable, "-m", "unknot", "study", str(self.file), "-o", str(self.folder), *self.options]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **self.environment}
            )
        self.since = time.monotonic()

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def wait_for_work(self) -> bool:
        """Wait until there is a result that was not there; false if the process ends before."""
        while self.lives:
            if results(self.folder) != self.before:
                return True
            time.sleep(0.02)
        return False

    def kill(self, number: signal.Signals = signal.SIGKILL, *, everything: bool) -> None:
        """Signal the command, or at the same instant everything it started, as a power cut does; wait for its end."""
        for pid in session(self.process.pid) if everything else [self.process.pid]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        self.process.wait()

    def must_end_well(self) -> None:
        """Wait for its end; anything but success ends this program."""
        if self.process.wait():
            sys.exit(f"{self.folder}: ended with exit code {self.process.returncode}; see {self.log}")


def session(leader: int) -> list[int]:
    """The processes of a session. Workers are groups of their own, so the group alone would miss them."""
    return [pid for pid in _pids() if _session_of(pid) == leader]


def _pids() -> Iterator[int]:
    return (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit())


def _session_of(pid: int) -> int:
    """The session of a process that lives; 0 for one that does not."""
    try:
        state, _, _, leader = _status(pid)[:4]
    except OSError:
        return 0
    return 0 if state == "Z" else int(leader)


def _status(pid: int) -> list[str]:
    """State, parent, group, session, ... of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def descendants() -> set[int]:
    """The processes that this one started, directly or not, as long as those in between live."""
    parents = {}
    for pid in _pids():
        try:
            parents[pid] = int(_status(pid)[1])
        except OSError:
            continue
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family - {os.getpid()}


def title(pid: int) -> str:
    """What a process calls itself; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def results(folder: Path) -> set[tuple[str, int]]:
    """The files there are, and when they were written."""
    found = set()
    for pattern in RESULTS:
        for path in folder.glob(pattern):
            try:
                found.add((str(path), path.stat().st_mtime_ns))
            except OSError:
                continue  # a finished run's checkpoint is removed
    return found


def must_be_the_same(calm: Path, disturbed: Path) -> None:
    """Every table, all weights and latents, and nothing half written left behind."""
    import numpy as np
    import pandas as pd

    for name in table_names():
        pd.testing.assert_frame_equal(table_of(calm, name), table_of(disturbed, name), check_exact=True, obj=name)
    for path in sorted(calm.glob("runs/*/weights.safetensors")):
        other = disturbed / path.relative_to(calm)
        if _sha(path) != _sha(other):
            sys.exit(f"{other}: differs from {path}")
        with np.load(path.with_name("latents.npz")) as one, np.load(other.with_name("latents.npz")) as two:
            if any(one[key].tobytes() != two[key].tobytes() for key in one.files):
                sys.exit(f"{other.with_name('latents.npz')}: differs from {path.with_name('latents.npz')}")
    if left := [str(path) for pattern in (".*.part", "*.holder") for path in disturbed.rglob(pattern)]:
        sys.exit(f"half-written files are left: {', '.join(left)}")


def in_words(calm: Path) -> str:
    """How much of a study is compared."""
    rows = ", ".join(f"{len(table_of(calm, name))} of {name}" for name in table_names())
    weights = len(list(calm.glob("runs/*/weights.safetensors")))
    return f"the rows of the tables ({rows}) in all columns but times, {weights} files of weights, their latents"


def table_names() -> tuple[str, ...]:
    """The tables of a study."""
    from unknot.studies.tables import COLUMNS

    return tuple(COLUMNS)


def table_of(folder: Path, name: str) -> Any:
    """One of them, without times."""
    import pandas as pd

    return pd.read_parquet(folder / "tables" / f"{name}.parquet").drop(columns=TIMES, errors="ignore")


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
