"""A process that does one case after the other, each in a child of its own with little memory and little time."""

import faulthandler
import os
import pickle
import resource
import select
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.family import session

MOST_BYTES = 4 << 30


def serve(connection: Connection, seed: int, stage: str, limit: float) -> None:
    """Answer numbers of cases with verdicts, until None comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks is told, and says so
    warm_up(Path(stage))
    connection.send(None)
    while (number := connection.recv()) is not None:
        connection.send(judged(seed, number, Path(stage), limit))


def warm_up(stage: Path) -> None:
    """Import and compile once what most cases need."""
    import h5py
    import pandas
    import safetensors.numpy
    import torch
    import yaml
    from PIL import Image
    from tests.fuzz import judge
    from tests.fuzz.calls import plain

    import unknot
    import unknot.cli.task.command
    from unknot.metrics import METRICS

    del h5py, pandas, safetensors, yaml, Image, judge
    torch.set_num_threads(1)
    for name in dir(unknot):
        getattr(unknot, name)
    latents, factors = plain()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for metric in METRICS.values():
            if metric.facts.cost != "minutes":
                metric(latents, factors)


def judged(seed: int, number: int, stage: Path, limit: float) -> Any:
    """The verdict on one case: reached by a child, or on it, if it did not come back."""
    from tests.fuzz.judge import Verdict

    folder = Path(tempfile.mkdtemp(prefix="unknot-fuzz-"))
    began = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(writing, seed, number, stage, folder, limit)
    os.close(writing)
    content, late = _read(reading, began + limit)
    os.close(reading)
    end_session(child)
    _, status, usage = os.wait4(child, 0)
    verdict: Verdict = pickle.loads(content) if content and not late else Verdict(number, outcome="fault")
    if late:
        verdict.faults.append((f"no end after {limit:.0f} s", _about(folder)))
    elif not content:
        verdict.faults.append((f"died of {status}", _about(folder)))
    verdict.seconds, verdict.megabytes = time.monotonic() - began, usage.ru_maxrss / 1024
    if usage.ru_maxrss * 1024 > MOST_BYTES:
        verdict.faults.append(("more than 4 GB", verdict.about))
        verdict.outcome = "fault"
    shutil.rmtree(folder, ignore_errors=True)
    return verdict


def _child(writing: int, seed: int, number: int, stage: Path, folder: Path, limit: float) -> None:
    """Do the case and end; nothing of it comes back but the verdict."""
    from tests.fuzz.judge import attempt

    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, size + MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.dump_traceback_later(limit - 1, file=(folder / "where").open("w"))
        content = pickle.dumps(attempt(seed, number, stage, folder))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(struct.pack("<Q", len(content)) + content)
    except BaseException:
        (folder / "where").write_text(traceback.format_exc())
    finally:
        os._exit(0)


def _read(pipe: int, deadline: float) -> tuple[bytes, bool]:
    """What a child writes, its length first; and whether it did not come in time."""
    content = b""
    while len(content) < 8 or len(content) < 8 + struct.unpack("<Q", content[:8])[0]:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", True
        part = os.read(pipe, 1 << 16)
        if not part:
            return b"", False
        content += part
    return content[8:], False


def end_session(leader: int) -> list[int]:
    """Kill what is left of a child and of all it started; which of its own children there were."""
    left = session(leader)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return [pid for pid in left if pid != leader]


def _about(folder: Path) -> str:
    """What a case that did not come back was doing."""
    files = [folder / "about", folder / "where"]
    return "\n".join(path.read_text(errors="replace") for path in files if path.is_file())
