"""Killed ten times at random moments, a study ends with the tables and weights of an undisturbed one, bit for bit."""

import random
import shutil
import time
from pathlib import Path
from typing import Any

from reproduce import table

from reproduction.lives import Life, in_words, must_be_the_same, results

FILE = Path(__file__).with_suffix(".yaml")
KILLS, SEED, CHECKPOINT_EVERY = 10, 0, 10
STAGES = {"train": "trained", "encode": "encoded", "score": "scored", "task": "tried"}


def run(folder: Path, jobs: int) -> str:
    """The ten moments, what was under way at each, and what was the same in the end."""
    shutil.rmtree(folder, ignore_errors=True)  # a study that is to be killed begins with nothing
    folder.mkdir(parents=True)
    options = ["--jobs", str(jobs), "--checkpoint-every", str(CHECKPOINT_EVERY)]
    calm = Life(FILE, folder / "undisturbed", options)
    calm.wait_for_work()
    began = time.monotonic() - calm.since
    calm.process.wait()
    work = time.monotonic() - calm.since - began
    calm.must_end_well()
    print(f"undisturbed: {began:.0f} s until a step is done, {work:.0f} s from there", flush=True)
    rng, rows, ended = random.Random(SEED), [], 0
    while len(rows) < KILLS or not ended:
        life = Life(FILE, folder / f"killed_{ended + 1}", options)
        if len(rows) < KILLS and _lives_too_long(life, rng, began, work):
            rows.append({"kill": len(rows) + 1, **_kill(life, everything=len(rows) % 2 == 0)})
            print(rows[-1], flush=True)
            continue
        life.must_end_well()
        ended += 1
        must_be_the_same(calm.folder, life.folder)
    return (
        f"{table(rows)}\nSeed {SEED}, {jobs} processes, a checkpoint every {CHECKPOINT_EVERY} steps. Undisturbed the "
        f"study takes {began + work:.0f} s; {ended} killed one(s) ended. The same bit for bit: "
        f"{in_words(calm.folder)}.\n"
    )


def _kill(life: Life, *, everything: bool) -> dict[str, Any]:
    """Kill -9 a study; when it was, and what was under way."""
    seconds = time.monotonic() - life.since
    life.kill(everything=everything)
    done, under_way = _state(life.folder)
    begun = results(life.folder) != life.before
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
    return life.lives


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
