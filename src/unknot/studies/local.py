"""Steps in processes of this machine, one thread each.

A process that is killed costs its step, which is reported as failed, and nothing else: the others go on, and another
process takes its place. If this process itself is killed, its workers end with it.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from typing import IO, Any

from unknot.processes.parent import follow_parent
from unknot.processes.signals import forget_waiting_signals, waiting_signals
from unknot.studies.engines import Advance, Outcome
from unknot.studies.steps import Step, perform

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 30.0  # seconds for a step to save its state after Ctrl-C
REPORT_EVERY = 0.2  # seconds between two reports of one step
POSIX = sys.platform != "win32"
TAIL = 20_000  # bytes of what a worker said that go into a log


@dataclass
class _Worker:
    process: Any
    pipe: Any
    output: IO[bytes]  # what it prints, in a file without a name
    step: Step | None = None
    since: float = 0.0


class LocalEngine:
    """A pool of processes that survives the death of each of them."""

    def __init__(self, jobs: int | None = None) -> None:
        self.workers = jobs or os.cpu_count() or 1
        self._context = get_context("spawn")  # a fork would copy threads of torch and numba in unknown states
        self._pool: list[_Worker] = []

    def has_room(self) -> bool:
        """Whether a process is idle, or can still be started."""
        return sum(worker.step is not None for worker in self._pool) < self.workers

    def submit(self, step: Step) -> None:
        """Send a step to an idle process, or to a new one."""
        worker = next((w for w in self._pool if w.step is None), None) or self._start()
        worker.step, worker.since = step, time.perf_counter()
        with suppress(OSError):  # it has just died: `wait` will find out
            worker.pipe.send(step)

    def wait(self, timeout: float) -> list[Outcome | Advance]:
        """What the processes report, and which of them died."""
        busy = {worker.pipe: worker for worker in self._pool if worker.step is not None}
        ready = connection.wait(list(busy), timeout) if busy else []
        return [event for pipe in ready if (event := self._listen(busy[pipe])) is not None]  # type: ignore[index]

    def close(self, *, stop: bool = False) -> None:
        """End all processes; with `stop`, those at work first save their state."""
        for worker in self._pool:
            if stop and worker.step is not None:
                _interrupt(worker)
            else:
                worker.pipe.close()
        until = time.monotonic() + (PATIENCE if stop else 5)
        for worker in self._pool:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.output.close()
        self._pool = []

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        output = TemporaryFile("a+b")
        process = self._context.Process(target=_work, args=(theirs, _Output(output.fileno())), daemon=True)
        with _one_thread(), waiting_signals():
            process.start()
        theirs.close()
        self._pool.append(_Worker(process, ours, output))
        return self._pool[-1]

    def _listen(self, worker: _Worker) -> Outcome | Advance | None:
        step = worker.step
        if step is None:
            return None
        try:
            what, *rest = worker.pipe.recv()
        except (EOFError, OSError):
            return self._bury(worker, step)
        if what == "advance":
            return Advance(step, *rest)
        worker.step = None
        error, log = rest
        if error:
            log += _tail(worker.output)
        worker.output.truncate(0)
        return Outcome(step, error, log, time.perf_counter() - worker.since)

    def _bury(self, worker: _Worker, step: Step) -> Outcome:
        worker.process.join()
        self._pool.remove(worker)
        worker.pipe.close()
        log = _tail(worker.output)
        worker.output.close()
        code = worker.process.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        return Outcome(step, f"its process {how}{hint}", log, time.perf_counter() - worker.since)


class _Output:
    """A file on its way to a process, where the system can hand over files."""

    def __init__(self, file: int) -> None:
        self._file = file

    def __getstate__(self) -> Any:
        return DupFd(self._file) if POSIX else None

    def __setstate__(self, handed: Any) -> None:
        self._file = handed.detach() if POSIX else os.open(os.devnull, os.O_WRONLY)

    def take(self) -> None:
        """Let what this process prints go there."""
        for number, stream in enumerate((sys.stdout, sys.stderr), 1):
            stream.flush()
            os.dup2(self._file, number)
        os.close(self._file)


def _work(pipe: Any, output: _Output) -> None:
    """What a process does: steps, one after the other, until the pipe is closed."""
    _alone(output)
    last = 0.0

    def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= REPORT_EVERY or done == total:
            last = now
            pipe.send(("advance", done, total))

    with suppress(KeyboardInterrupt, EOFError, OSError):
        while True:
            step = pipe.recv()
            if step is None:
                return
            try:
                perform(step, progress)
                pipe.send(("ended", "", ""))
            except Exception as error:
                pipe.send(("ended", one_line(error), traceback.format_exc()))


def one_line(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def _alone(output: _Output) -> None:
    """Cut a process off from the terminal, and end it with the one that started it."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C goes to the parent, which passes it on once
    forget_waiting_signals()  # the end of a cluster's job, SIGTERM, is told to all of it: that too is the parent's
    output.take()
    follow_parent()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let a process started inside the block use one thread for sums and products."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _interrupt(worker: _Worker) -> None:
    """Ask a process to save its state and end; one that was just ending its step takes the empty message instead."""
    with suppress(OSError):
        worker.pipe.send(None)
        os.kill(worker.process.pid, signal.SIGINT)


def _tail(output: IO[bytes]) -> str:
    output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
    text = output.read().decode(errors="replace").strip()
    return f"\nWhat the process said:\n{text}\n" if text else ""
