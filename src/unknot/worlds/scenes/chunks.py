"""Big arrays on disk that several processes fill piece by piece: resumable, and the same whoever does which piece.

While the work is under way the folder holds `.making`: the plan, the arrays at their full length, and one record for
each finished piece. A piece that was not finished is done again from its beginning; since every piece has random
numbers of its own, the result does not depend on interruptions or on the number of workers.
"""

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.files import must_be_ours, plain, read_json, write_json, written_whole
from unknot.processes.lock import HeldError, forget_killed, held
from unknot.progress import Progress, silent
from unknot.reading.guard import in_words, load_json, parsing

MAKING = ".making"
PAUSE = 0.5  # seconds between two looks at a folder that another process fills
Work = Callable[[Path, int], dict[str, Any]]  # (the folder `.making`, number of the piece) -> what to record of it


def fill(
    folder: Path,
    plan: Mapping[str, Any],
    arrays: Mapping[str, tuple[tuple[int, ...], str]],
    n_pieces: int,
    work: Work,
    *,
    jobs: int = 1,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Do all pieces that are not done yet; the records of all, in order. `finish` then moves the arrays out.

    Args:
        folder: gets `.making`.
        plan: what decides the result; a folder that was begun with another plan is an error.
        arrays: file name -> shape and dtype; `work` writes its rows of them with `opened`.
        n_pieces: how many times `work` is called.
        work: a function that can be sent to another process.
        jobs: processes; 1 works in this one, and so does one that may not start others.
        progress: told how many pieces are done; see `in_items`.
    """
    if jobs < 1:
        raise UnknotError(f"{folder}: jobs is {jobs}; expected the number of processes, 1 or more.")
    making = folder / MAKING
    _begin(making, plan, arrays)
    missing = [k for k in range(n_pieces) if not _record(making, k).is_file()]
    done = n_pieces - len(missing)
    progress("pieces", done, n_pieces)
    for _ in _all_done(work, making, missing, min(jobs, len(missing))):
        done += 1
        progress("pieces", done, n_pieces)
    return [load_json(_record(making, k), hint=f"Remove {making}, and all is made anew.") for k in range(n_pieces)]


def in_items(progress: Progress, stage: str, piece: int, n: int) -> Progress:
    """Progress that counts n items, of which a piece has so many, for work that counts pieces."""

    def told(_: str, pieces: int, __: int, /, **facts: Any) -> None:
        progress(stage, min(pieces * piece, n), n, **facts)

    return told


def opened(making: Path, name: str) -> NDArray[Any]:
    """An array of a folder under work, to be written to."""
    with parsing(making / name, "an array", f"Remove {making}, and all is made anew."):
        array: NDArray[Any] = np.load(making / name, mmap_mode="r+", allow_pickle=False)
    return array


def mapped(path: Path, shape: tuple[int, ...], hint: str) -> NDArray[np.uint8]:
    """A finished array of bytes, memory-mapped, or the error that says what is wrong with it and what to do."""
    with parsing(path, "an array of bytes", hint):
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.shape != shape or array.dtype != np.uint8:
            raise UnknotError(f"{path}: is {array.dtype} {array.shape}; expected uint8 {shape}.")
    return array


def difference(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """In what a folder differs from what is wanted of it; empty if it does not."""
    return ", ".join(
        f"{key} {there.get(key)!r} instead of {value!r}"
        for key, value in wanted.items()
        if there.get(key) != value
    )


def finish(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Move the finished arrays to their place; to be called before the file that says that all is complete."""
    for name in arrays:
        if (folder / MAKING / name).is_file():
            (folder / MAKING / name).replace(folder / name)


def clear(folder: Path) -> None:
    """Remove what was needed while the work was under way."""
    shutil.rmtree(folder / MAKING, ignore_errors=True)


def progress_of(folder: Path) -> int | None:
    """How many pieces of an unfinished folder are done; None if nothing was begun."""
    records = folder / MAKING / "pieces"
    return len(list(records.glob("*.json"))) if records.is_dir() else None


@contextmanager
def alone(folder: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Let only one process at a time fill a folder; a killed one lets go of it.

    Args:
        folder: made if need be.
        waiting: called now and then while another process fills it; left out, that is an error.
    """
    must_be_ours(folder, "set of pictures", [MAKING, ".lock", "dataset.json", "corpus.json"])
    with ExitStack() as stack:
        while True:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(folder / ".lock"))
                break
            except OSError as error:
                raise UnknotError(f"{folder}: cannot be written ({error.strerror or error}).") from error
            except HeldError as busy:
                # A process that is started by the one that fills the folder would wait for itself.
                if waiting is None or (busy.holder.is_here and busy.holder.pid == os.getppid()):
                    raise UnknotError(
                        f"{folder}: {busy.holder} is filling this folder; wait for it or name another."
                        f"{busy.holder.hint}"
                    ) from None
            waiting()
            time.sleep(PAUSE)
        yield
        with suppress(OSError):
            (folder / ".lock").unlink()


def sweep(folder: Path) -> None:
    """Remove what a process that was killed at the very end of its work left in a folder that is complete."""
    from filelock import FileLock, Timeout

    lock = folder / ".lock"
    if not lock.exists() and not (folder / MAKING).exists():
        return
    forget_killed(lock)
    if not lock.with_suffix(".holder").exists():  # else somebody is still at it
        with suppress(Timeout, OSError, NotImplementedError), FileLock(lock).acquire(timeout=0):
            clear(folder)
            lock.unlink()


def _record(making: Path, piece: int) -> Path:
    return making / "pieces" / f"{piece:06d}.json"


def _begin(making: Path, plan: Mapping[str, Any], arrays: Mapping[str, tuple[tuple[int, ...], str]]) -> None:
    """Make the folder and its empty arrays, or check that it was begun with the same plan."""
    wanted, file = plain(dict(plan)), making / "plan.json"
    if file.is_file():
        begun = read_json(file)
        if begun != wanted:
            raise UnknotError(
                f"{making.parent}: was begun with {difference(begun, wanted) or 'another plan'}; name another folder."
            )
        return
    try:
        (making / "pieces").mkdir(parents=True, exist_ok=True)
        for name, (shape, dtype) in arrays.items():
            _allocate(making / name, shape, np.dtype(dtype))
    except OSError as error:
        shutil.rmtree(making, ignore_errors=True)
        raise UnknotError(f"{making.parent}: cannot be written ({error.strerror or error}).") from error
    write_json(file, wanted)


def _allocate(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """An array file of full length. Its room is taken now, since a full disk would kill a process that maps it."""
    need, free = math.prod(shape) * dtype.itemsize, shutil.disk_usage(path.parent).free
    if need > free:
        raise UnknotError(
            f"{path}: needs {in_words(need)}, but only {in_words(free)} are free; make room, or make fewer."
        )
    np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape).flush()  # type: ignore[no-untyped-call]
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _all_done(work: Work, making: Path, pieces: list[int], jobs: int) -> Iterator[int]:
    if jobs <= 1 or current_process().daemon:
        for piece in pieces:
            yield _do((work, making), piece)
        return
    from concurrent.futures.process import BrokenProcessPool

    from unknot.processes.pool import spread

    try:
        yield from spread(_do, (work, making), pieces, jobs)
    except BrokenProcessPool:
        raise UnknotError(
            f"{making.parent}: a process died (out of memory?); the same command goes on where it stopped, perhaps "
            "with fewer jobs."
        ) from None


def _do(shared: tuple[Work, Path], piece: int) -> int:
    work, making = shared
    record = work(making, piece)
    with written_whole(_record(making, piece)) as beside:
        beside.write_text(json.dumps(record, separators=(",", ":")), encoding="utf-8")
    return piece
