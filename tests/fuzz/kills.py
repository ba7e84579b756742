"""Commands that are interrupted, ended or killed at random moments: nothing stays behind, and the same command goes on.

`python -m tests.fuzz.run --kills 100 --seed 1`
"""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.family import session
from tests.fuzz.worker import end_session

COMMANDS = {  # a few seconds of work each; {stage} is the folder with files to begin from
    "train": "train --world {stage}/world.npz --steps 150 --batch-size 16 --checkpoint-every 10 -o runs",
    "score": "score {stage}/many.npz --jobs 2 --metrics mig,sap,dci,nk,snc,gbt_accuracy --json scores.json",
    "study": "study {stage}/study.yaml -o study --jobs 2 --checkpoint-every 1",
    "scenes": "data scenes -o scenes --n 60 --size 64 --jobs 2",
    "reasoning": "task reasoning --input onehot --world dsprites_rendered --steps 60 --evaluate-every 20 "
    "--evaluation-batches 2 -o reasoning",
}
HOW = ("Ctrl-C", "Ctrl-C", "Ctrl-C twice", "SIGINT", "SIGTERM", "SIGTERM", "SIGKILL", "SIGKILL")
PATIENCE = (
    20.0  # seconds in which a command has to end, and whatever it has started; on a slow machine, its own time
)
TIMES = {
    "seconds",
    "training_seconds",
    "minutes",
    "started",
    "time",
    "written",
    "eta",
}  # what no two results share
PASSING = {"time.json", "run.lock", "study.lock", "task.lock"}


def kill_all(kills: int, seed: int, output: Path) -> int:
    """Kill so many commands, one after the other; how many left something behind or did not go on.

    What is in the record from before is not done again.
    """
    from rich.progress import track

    stage, rng, record = _stage(output / "stage"), Random(seed), output / f"kills-{seed}.txt"
    before = record.read_text().splitlines() if record.is_file() else []
    lines = {int(line.partition(":")[0]): line for line in before}
    calm = {name: _calm(name, stage, output / "calm" / name) for name in COMMANDS}
    for number in track(range(kills), "kills"):
        name, how, when = rng.choice(list(COMMANDS)), rng.choice(HOW), rng.uniform(0, 1.05)
        if number in lines:
            continue
        seconds = calm[name][0]
        faults = killed(name, how, when, stage, output / "killed", *calm[name])
        about = f"{name}, {how} after {when * seconds:.1f} of {seconds:.1f} s"
        lines[number] = f"{number}: {about}: {'; '.join(faults) or 'fine'}"
        record.write_text("".join(f"{lines[n]}\n" for n in sorted(lines)))
    bad = sum(not line.endswith(": fine") for line in lines.values())
    sys.stdout.write(f"{record.read_text()}{len(lines)} kills, {bad} at fault.\n")
    return bad


def killed(
    name: str, how: str, when: float, stage: Path, folder: Path, seconds: float, expected: dict[str, str]
) -> list[str]:
    """What was wrong after a command had been killed, and after the same command had been given again."""
    shutil.rmtree(folder, ignore_errors=True)
    shared = _shared_memory()
    process = _start(name, stage, folder)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(when * seconds)
    over = process.returncode is not None
    if not over:
        _strike(process.pid, how)
    faults = []
    try:
        process.wait(max(PATIENCE, seconds))
    except subprocess.TimeoutExpired:
        faults.append(f"does not end after {how}")
    deadline = time.monotonic() + max(PATIENCE, seconds)
    while (left := session(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        faults.append(f"{len(left)} processes are left")
    end_session(process.pid)
    process.wait()
    said = (folder / "err").read_text(errors="replace")
    if not over and "KeyboardInterrupt" in said and f"{os.sep}unknot{os.sep}" not in said:
        said = ""  # Python itself was starting yet, and says so in its own way
    elif not over and process.returncode not in (130, 2, -signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT, 0):
        faults.append(f"exit code {process.returncode}")
    # After SIGKILL it is Python that removes semaphores of the dead process, and says so.
    signs = ["should not have happened", "Traceback (most", *(["leaked"] if how != "SIGKILL" else [])]
    faults += [f"says {sign}" for sign in signs if sign in said]
    if shared_left := _shared_memory() - shared:
        faults.append(f"shared memory is left: {', '.join(sorted(shared_left))}")
        for name_left in shared_left:
            _remove(Path("/dev/shm") / name_left)
    again = _start(name, stage, folder)
    if again.wait():
        return [*faults, f"the same command ends with {again.returncode}: {(folder / 'err').read_text()[-300:]}"]
    temporary = (path for path in (folder / "tmp").iterdir() if not path.name.startswith("torchinductor"))
    parts = [str(path.relative_to(folder)) for path in (*folder.rglob(".*.part"), *temporary)]
    if parts:
        faults.append(f"files are left: {', '.join(parts)}")
    result = outcome(folder)
    if result != expected:
        names = [key for key in {**result, **expected} if result.get(key) != expected.get(key)]
        faults.append(f"ends in another result: {', '.join(names[:5])}")
    return faults


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _strike(leader: int, how: str) -> None:
    """Ctrl-C goes to all processes of a terminal, a signal to one."""
    number = {"SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}.get(how, signal.SIGINT)
    for again in range(1 + how.endswith("twice")):
        time.sleep(0.5 * again)
        for pid in session(leader) if how.startswith("Ctrl-C") else [leader]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _start(name: str, stage: Path, folder: Path) -> "subprocess.Popen[bytes]":
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    words = COMMANDS[name].format(stage=stage).split()
    environment = os.environ | {"TMPDIR": str(folder / "tmp"), "UNKNOT_DATA": str(folder), "COLUMNS": "120"}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "unknot", *words],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def _calm(name: str, stage: Path, folder: Path) -> tuple[float, dict[str, str]]:
    """How long a command takes if nobody disturbs it, and what comes of it."""
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    if code := _start(name, stage, folder).wait():
        sys.exit(f"{name}: ends with {code} all by itself: {(folder / 'err').read_text()[-1000:]}")
    return time.monotonic() - began, outcome(folder)


def _stage(stage: Path) -> Path:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (3000, 3))
    np.savez(
        stage / "many.npz", latents=factors @ rng.normal(size=(3, 5)) + rng.normal(size=(3000, 5)), factors=factors
    )
    return stage


def outcome(folder: Path) -> dict[str, str]:
    """A digest of every result below a folder, without what no two results share: when and how fast."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name not in ("tmp", "logs"))
    kept = (path for path in files if path.suffix != ".pt" and path.name not in {*PASSING, "out", "err"})
    return {str(path.relative_to(folder)): _digest(path) for path in kept}


def _digest(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".json":
        content = json.dumps(_timeless(json.loads(content)), sort_keys=True).encode()
    elif path.suffix == ".parquet":
        import pandas as pd

        content = pd.read_parquet(path).drop(columns=list(TIMES), errors="ignore").to_csv().encode()
    elif path.suffix == ".npz":
        with np.load(path) as arrays:
            content = b"".join(arrays[key].tobytes() for key in sorted(arrays.files))
    return hashlib.sha256(content).hexdigest()


def _timeless(record: Any) -> Any:
    if isinstance(record, dict):
        return {key: _timeless(value) for key, value in record.items() if key not in TIMES}
    return [_timeless(value) for value in record] if isinstance(record, list) else record


def _shared_memory() -> set[str]:
    """Entries of shared memory that no process which still runs has opened or named after itself."""
    names = {path.name for path in Path("/dev/shm").iterdir()}
    used = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            used |= {name for name in names if f"_{entry.name}_" in f"_{name}_".replace("-", "_")}
            with contextlib.suppress(OSError):
                maps = (entry / "maps").read_text(errors="replace")  # of files with any name
                used |= {name for name in names if f"/dev/shm/{name}" in maps}
    return names - used
