"""Killed ten times at random moments, a study ends with the tables and weights of an undisturbed one, bit for bit."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduce import table

FILE = Path(__file__).with_suffix(".yaml")
KILLS, SEED, CHECKPOINT_EVERY = 10, 0, 10
TIMES = ["minutes", "seconds"]  # the columns that no two studies share
STAGES = {"train": "trained", "encode": "encoded", "score": "scored", "task": "tried"}


def run(folder: Path, jobs: int) -> str:
    """The ten moments, what was under way at each, and what was the same in the end."""
    shutil.rmtree(folder, ignore_errors=True)  # a study that is to be killed begins with nothing
    folder.mkdir(parents=True)
    calm = Life(folder / "undisturbed", jobs)
    calm.wait_for_work()
    began = time.monotonic() - calm.since
    calm.process.wait()
    work = time.monotonic() - calm.since - began
    _must_end_well(calm)
    print(f"undisturbed: {began:.0f} s until a step is done, {work:.0f} s from there", flush=True)
    rng, rows, ended = random.Random(SEED), [], 0
    while len(rows) < KILLS or not ended:
        life = Life(folder / f"killed_{ended + 1}", jobs)
        if len(rows) < KILLS and _lives_too_long(life, rng, began, work):
            rows.append({"kill": len(rows) + 1, **life.kill(everything=len(rows) % 2 == 0)})
            print(rows[-1], flush=True)
            continue
        life.process.wait()
        _must_end_well(life)
        ended += 1
        _must_be_the_same(calm.folder, life.folder)
    words = ", ".join(f"{len(_table(calm.folder, name))} of {name}" for name in _names())
    weights = len(list(calm.folder.glob("runs/*/weights.safetensors")))
    return (
        f"{table(rows)}\nSeed {SEED}, {jobs} processes, a checkpoint every {CHECKPOINT_EVERY} steps. Undisturbed the "
        f"study takes {began + work:.0f} s; {ended} killed one(s) ended. The same bit for bit: the rows of the tables "
        f"({words}) in all columns but times, {weights} files of weights, their latents.\n"
    )


@dataclass
class Life:
    """One process of `unknot study`, from its start to its end or its death."""

    folder: Path
    jobs: int

    def __post_init__(self) -> None:
        """Start it, in a session of its own, so that all its processes can be found."""
        self.before = _results(self.folder)
        self.said = self.folder.with_suffix(".log")
        options = ["--jobs", str(self.jobs), "--checkpoint-every", str(CHECKPOINT_EVERY)]
        command = [sys.executable, "-m", "unknot", "study", str(FILE), "-o", str(self.folder), *options]
        with self.said.open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.since = time.monotonic()

    def wait_for_work(self) -> bool:
        """Wait until there is a result that was not there; false if the process ends before."""
        while self.process.poll() is None:
            if _results(self.folder) != self.before:
                return True
            time.sleep(0.02)
        return False

    def kill(self, *, everything: bool) -> dict[str, Any]:
        """Kill -9 the command, or at the same instant everything it started, as a power cut does."""
        seconds = time.monotonic() - self.since
        for pid in _session(self.process.pid) if everything else [self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        done, under_way = _state(self.folder)
        begun = _results(self.folder) != self.before
        return {
            "after": f"{seconds:.1f} s",
            "killed": "command and workers" if everything else "command",
            "under way": under_way if begun else f"starting; next: {under_way}",
            **done,
        }


def _lives_too_long(life: Life, rng: random.Random, began: float, work: float) -> bool:
    """Wait for a random moment; whether the process still lives. One kill in five comes while it starts."""
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0, began))
    elif life.wait_for_work():
        time.sleep(rng.uniform(0, 2 * work / KILLS))
    return life.process.poll() is None


def _session(leader: int) -> list[int]:
    """The processes of a session. Workers are groups of their own, so the group alone would miss them."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if os.getsid(int(folder.name)) == leader:
                    found.append(int(folder.name))
            except OSError:
                continue
    return found or [leader]


def _results(folder: Path) -> set[tuple[str, int]]:
    """The files there are, and when they were written."""
    found = set()
    for pattern in ("runs/*/*.pt", "runs/*/*.safetensors", "runs/*/*.npz", "runs/*/*.json", "runs/*/tasks/*.json"):
        for path in folder.glob(pattern):
            try:
                found.add((str(path), path.stat().st_mtime_ns))
            except OSError:
                continue  # a finished run's checkpoint is removed
    return found


def _state(folder: Path) -> tuple[dict[str, int], str]:
    """How many runs are through each stage, and what is begun and not done."""
    from unknot.studies.plan import plan_study
    from unknot.studies.spec import read_spec
    from unknot.studies.store import Store

    store = Store(folder, plan_study(read_spec(FILE)))
    missing = [(run, store.missing(run)) for run in store.runs]
    done = {word: sum(kind not in kinds for _, kinds in missing) for kind, word in STAGES.items()}
    done["ranked"] = len(list((folder / "ranks").glob("*.json")))
    begun = [
        _word(store.run(run).folder, kinds[0])
        for run, kinds in missing
        if kinds and store.run(run).folder.is_dir()
    ]
    if not any(kinds for _, kinds in missing):
        all_ranked = done["ranked"] == len(store.plan.groups) * len(store.plan.rankings)
        return done, "tables" if all_ranked else "rank"
    return done, ", ".join(begun) or "train"


def _word(folder: Path, kind: str) -> str:
    """A step, and for training how much of it is safe."""
    import torch

    if kind != "train":
        return kind
    path = folder / "checkpoint.pt"
    step = torch.load(path, weights_only=True)["step"] if path.is_file() else 0
    return f"train (step {step} is safe)"


def _must_end_well(life: Life) -> None:
    if life.process.returncode:
        sys.exit(f"{life.folder}: ended with exit code {life.process.returncode}; see {life.said}")


def _must_be_the_same(calm: Path, killed: Path) -> None:
    """Every table, all weights and latents, and nothing half written left behind."""
    import numpy as np
    import pandas as pd

    for name in _names():
        pd.testing.assert_frame_equal(_table(calm, name), _table(killed, name), check_exact=True, obj=name)
    for path in sorted(calm.glob("runs/*/weights.safetensors")):
        other = killed / path.relative_to(calm)
        if _sha(path) != _sha(other):
            sys.exit(f"{other}: differs from {path}")
        with np.load(path.with_name("latents.npz")) as one, np.load(other.with_name("latents.npz")) as two:
            if any(one[key].tobytes() != two[key].tobytes() for key in one.files):
                sys.exit(f"{other.with_name('latents.npz')}: differs from {path.with_name('latents.npz')}")
    if left := [str(path) for path in killed.rglob(".*.part")]:
        sys.exit(f"half-written files are left: {', '.join(left)}")


def _names() -> tuple[str, ...]:
    from unknot.studies.tables import COLUMNS

    return tuple(COLUMNS)


def _table(folder: Path, name: str) -> Any:
    import pandas as pd

    return pd.read_parquet(folder / "tables" / f"{name}.parquet").drop(columns=TIMES, errors="ignore")


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
