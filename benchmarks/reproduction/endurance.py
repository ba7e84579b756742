"""Disturbed at random for an hour, a study of a thousand tiny runs ends with the tables of an undisturbed one.

Killed are the command, everything it started, and single workers; the disk is full for seconds at a time (where this
program may mount one: as root); a Ray cluster, which does the steps for a quarter of the time, loses nodes. Memory and
open files of the command are sampled, and looked for is what it leaves behind.
"""

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from reproduce import table

from reproduction.lives import Life, descendants, in_words, must_be_the_same, session, title
from unknot.processes.signals import kept_sigterm, sigterm_is_ctrl_c

FILE = Path(__file__).with_suffix(".yaml")
MINUTES, SEEDS, SEED = 60, 50, 0
ENOUGH = 30  # minutes for all seeds; a shorter trial has fewer
GAP = 45.0  # seconds between two disturbances, on average
STARTING = 0.2  # of the commands are disturbed while they start
RAY = (0.25, 0.5)  # of the time in which Ray does the steps
MEMORY = 80_000_000  # bytes of a Ray node's object store
ROOM = 3_600_000  # bytes of disk for each run
LONG = 240.0  # seconds: of a command that lives for so long, memory must not grow in the second half of its life
MOST_GROWTH = 1.0  # MB, or open files, a minute
PATIENCE = 60.0  # seconds in which the workers of a killed command end
SHARED = Path("/dev/shm")
TORCH = "torchinductor_"  # the cache that torch makes for each user, and keeps
BAD = ("Traceback", "should not have happened")


def run(folder: Path, jobs: int, minutes: float = MINUTES) -> str:
    """What was done to the study, and what was the same in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    file, n_runs = _study(folder, minutes)
    shared = set(SHARED.iterdir())
    with ExitStack() as stack:
        stack.enter_context(sigterm_is_ctrl_c())
        calm = Life(file, folder / "undisturbed", ["--jobs", str(jobs)])  # what is done of it from before is kept
        stack.callback(calm.kill, everything=True)
        disk = stack.enter_context(_mounted(folder / "disk", n_runs * ROOM))
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="endurance-")))
        hour = Hour(file, calm, disk, temporary, jobs, minutes * 60)
        stack.callback(hour.close)
        hour.pass_()
        left = [str(path) for path in temporary.iterdir() if not path.name.startswith(TORCH)]
    left += [str(path) for path in set(SHARED.iterdir()) - shared if not _in_use(path)]
    if left:
        sys.exit(f"left behind: {', '.join(left)}")
    bad = [word for word in BAD if word in hour.log.read_text(errors="replace")]
    if bad:
        sys.exit(f"{hour.log}: says '{bad[0]}'")
    return hour.report(n_runs)


def _study(folder: Path, minutes: float) -> tuple[Path, int]:
    """The study's file, with fewer seeds for a short trial; and how many runs it has."""
    from unknot.studies.plan import plan_study
    from unknot.studies.spec import read_spec

    seeds = max(2, min(SEEDS, round(SEEDS * minutes / ENOUGH)))
    file = folder / "endurance.yaml"
    file.write_text(FILE.read_text().replace(f"seeds: {SEEDS}", f"seeds: {seeds}"))
    return file, len(plan_study(read_spec(file)).runs)


@dataclass
class Hour:
    """A study, and what happens to it.

    Attributes:
        file: of the study.
        calm: an undisturbed one, at the same time.
        disk: where the disturbed one is.
        temporary: the folder of its temporary files.
        jobs: steps at a time.
        seconds: that it is disturbed.
    """

    file: Path
    calm: Life
    disk: "Disk"
    temporary: Path
    jobs: int
    seconds: float
    done: "Counter[str]" = field(default_factory=Counter)
    codes: "Counter[int]" = field(default_factory=Counter)
    watches: "list[Watch]" = field(default_factory=list)
    ended: int = 0

    def __post_init__(self) -> None:
        self.rng, self.began = random.Random(SEED), time.monotonic()
        self.log = self.disk.folder.with_suffix(".log")
        self.log.write_text("")
        self.life: Life | None = None
        self.watches.append(Watch(self.calm.process.pid))
        self.cluster: Cluster | None = None

    @property
    def passed(self) -> float:
        """How much of the time is over."""
        return (time.monotonic() - self.began) / self.seconds

    def pass_(self) -> None:
        """Disturb studies until the time is over and one has ended."""
        while self.passed < 1 or not self.ended:
            with_ray = RAY[0] <= self.passed < RAY[1]
            if with_ray and self.cluster is None:
                self.cluster = Cluster()
            elif not with_ray and self.cluster is not None:
                self._close_cluster()
            self._live()

    def close(self) -> None:
        """End what is under way."""
        if self.life is not None:
            self.life.kill(everything=True)
        self._close_cluster()

    def report(self, n_runs: int) -> str:
        """All of it in words."""
        rows = [{"disturbance": name, "times": times} for name, times in sorted(self.done.items())]
        memory, files = _growth(self.watches, 1), _growth(self.watches, 2)
        samples = np.concatenate([np.array(watch.samples) for watch in self.watches if watch.samples])
        most = samples.max(0)
        if max(memory, files) > MOST_GROWTH:
            sys.exit(f"the command grows: {memory:.2f} MB and {files:.2f} open files a minute")
        codes = ", ".join(f"{code} ({times})" for code, times in sorted(self.codes.items()))
        return (
            f"{table(rows)}\nSeed {SEED}, {self.jobs} processes, {self.seconds / 60:.0f} minutes, {n_runs} runs; "
            f"{len(self.watches) - 1} commands, which ended with {codes}; disturbed studies that came to their end: "
            f"{self.ended}. The same bit for bit: {in_words(self.calm.folder)}. {self.disk.words}\n\n"
            f"The command's memory, the undisturbed one's too, is {most[1]:.0f} MB at most and grows by {memory:.3f} "
            f"MB a minute in the second half of lives of more than {LONG / 60:.0f} minutes; it has "
            f"{most[2]:.0f} files open at most, growing by {files:.3f} a minute ({len(samples)} samples). Left behind: "
            "no process, no half-written or temporary file, no shared memory.\n"
        )

    def _live(self) -> None:
        """One command, from its start to its end."""
        study = self.disk.folder / "study"
        options = ["--jobs", str(self.jobs), "--retries", "3"]
        environment = {"TMPDIR": str(self.temporary)}
        if self.cluster is not None:
            options = ["--engine", "ray", "--address", self.cluster.address, "--retries", "3"]
        self.life = life = Life(self.file, study, options, environment, self.log)
        watch = Watch(life.process.pid)
        self.watches.append(watch)
        disturbed, said = False, self.log.stat().st_size
        if self.rng.random() > STARTING:
            while life.lives and self.passed < 1 and self.log.stat().st_size == said:
                time.sleep(0.1)  # until a step is done
        while life.lives and self.passed < 1:
            until = time.monotonic() + self.rng.expovariate(1 / GAP)
            while life.lives and time.monotonic() < until and self.passed < 1:
                time.sleep(0.1)
            if life.lives and self.passed < 1:
                disturbed = self._disturb(life) or disturbed
        life.process.wait()
        watch.stop()
        self.life = None
        self.codes[life.process.returncode] += 1
        self._must_be_alone(life)
        if life.process.returncode == 0:
            self.calm.must_end_well()
            must_be_the_same(self.calm.folder, study)
            self.ended += 1
            if self.passed < 1:
                shutil.rmtree(study)
        elif not disturbed:
            sys.exit(f"undisturbed, the command ended with {life.process.returncode}; see {self.log}")

    def _disturb(self, life: Life) -> bool:
        """Do something to it at random; whether it was done."""
        kinds: dict[str, Callable[[], object]] = {
            "SIGKILL of the command": lambda: life.kill(everything=False),
            "SIGKILL of command and workers": lambda: life.kill(everything=True),
            "SIGTERM of the command": lambda: life.kill(signal.SIGTERM, everything=False),
            "SIGKILL of a worker": lambda: self._kill_a_worker(life),
        }
        if self.cluster is not None:
            kinds["lost node of Ray"] = self.cluster.lose_a_node
        if self.disk.limited:
            kinds["full disk"] = lambda: self.disk.fill(self.rng.uniform(1, 6))
        kind = self.rng.choices(list(kinds), [1, 1, 1] + [2] * (len(kinds) - 3))[0]  # those it survives are more
        if kinds[kind]() is False:
            return False
        self.done[kind] += 1
        runs = len(list((self.disk.folder / "study" / "runs").glob("*/latents.npz")))
        print(f"{self.passed:.1%}  {kind}; {runs} runs encoded", flush=True)
        return True

    def _kill_a_worker(self, life: Life) -> bool:
        pool = self.cluster.workers() if self.cluster else set(session(life.process.pid)) - {life.process.pid}
        if not pool:
            return False
        os.kill(self.rng.choice(sorted(pool)), signal.SIGKILL)
        return True

    def _must_be_alone(self, life: Life) -> None:
        """An error if workers of a command that is over do not end."""
        until = time.monotonic() + PATIENCE
        while pids := session(life.process.pid):
            if time.monotonic() > until:
                sys.exit(f"processes {pids} outlive their command by {PATIENCE:.0f} s")
            time.sleep(0.2)

    def _close_cluster(self) -> None:
        if self.cluster is not None:
            self.cluster.close()
            self.cluster = None


class Watch(threading.Thread):
    """Samples the memory and the open files of a process every second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.since, self.over = pid, time.monotonic(), threading.Event()
        self.samples: list[tuple[float, float, int]] = []  # seconds, MB, files
        self.start()

    def run(self) -> None:
        """Sample until it is over."""
        page = os.sysconf("SC_PAGE_SIZE") / 1e6
        while not self.over.wait(1.0):
            try:
                pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
                files = len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
            except (OSError, IndexError):
                return
            if pages:
                self.samples.append((time.monotonic() - self.since, pages * page, files))

    def stop(self) -> None:
        """End."""
        self.over.set()
        self.join()


def _growth(watches: list[Watch], column: int) -> float:
    """The slope a minute in the second half of every command that lived for long, each against its own mean.

    In the first half libraries are loaded, each when it is needed, which a busy machine is slow to do.
    """
    x, y = [], []
    for watch in watches:
        if watch.samples and watch.samples[-1][0] > LONG:
            samples = np.array(watch.samples[len(watch.samples) // 2 :])
            x.append(samples[:, 0] - samples[:, 0].mean())
            y.append(samples[:, column] - samples[:, column].mean())
    if not x:
        return 0.0
    seconds, values = np.concatenate(x), np.concatenate(y)
    return float(60 * (seconds @ values) / (seconds @ seconds))


@dataclass
class Disk:
    """Where the disturbed study is."""

    folder: Path
    limited: bool
    size: int

    @property
    def words(self) -> str:
        """Whether it can be full."""
        return "" if self.limited else "The disk was never full: only root can mount one for it."

    def fill(self, seconds: float) -> bool:
        """Leave no room on it for some seconds."""
        used = shutil.disk_usage(self.folder).used
        if not self._resize(used):
            return False
        time.sleep(seconds)
        return self._resize(self.size)

    def _resize(self, size: int) -> bool:
        command = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        return subprocess.run(command, capture_output=True).returncode == 0


@contextmanager
def _mounted(folder: Path, size: int) -> Iterator[Disk]:
    """A disk in memory of so many bytes, gone at the end of the block; a plain folder where none can be mounted."""
    _unmount(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "endurance", str(folder)]
    limited = os.geteuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield Disk(folder, limited, size)
    finally:
        _unmount(folder)


def _unmount(folder: Path) -> None:
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # gone once nobody has a file of it open


class Cluster:
    """A Ray cluster of this machine: a head that does no work, and two nodes that do."""

    def __init__(self) -> None:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        from ray.cluster_utils import Cluster as RayCluster

        with kept_sigterm():  # which Ray would end this program by, without a word
            self.ray = RayCluster(
                initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": MEMORY}
            )
        self.nodes: list[Any] = [self._node(), self._node()]
        self.address = self.ray.address

    def lose_a_node(self) -> None:
        """Kill the processes of the node that was there first, and give it a successor."""
        self.ray.remove_node(self.nodes.pop(0), allow_graceful=False)
        self.nodes.append(self._node())

    def workers(self) -> set[int]:
        """The processes of Ray that do steps."""
        return {pid for pid in descendants() if title(pid).startswith("ray::")}

    def close(self) -> None:
        """End it."""
        self.ray.shutdown()

    def _node(self) -> Any:
        with kept_sigterm():
            return self.ray.add_node(num_cpus=1, object_store_memory=MEMORY)


def _in_use(file: Path) -> bool:
    """Whether a living process has a file of shared memory mapped: then it is that of another program."""
    for path in Path("/proc").glob("[0-9]*/maps"):
        try:
            if str(file) in path.read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False
