"""Work spread over processes of this machine that end with the one that started them, however that one ends."""

import mmap
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, Any, TypeVar

from unknot.processes.parent import follow_parent
from unknot.processes.signals import waiting_signals

T = TypeVar("T")
ALIGN = 64  # bytes, as arrays like to begin
HERE = sys.platform != "win32"  # where files without a name exist
_job: list[Any] = []  # in a worker: what it does, and what all workers share


def spread(work: Callable[[Any, Any], T], shared: Any, items: Sequence[Any], jobs: int) -> Iterator[T]:
    """`work(shared, item)` for every item, as they are finished.

    Ctrl-C, an error and a consumer that stops listening all kill the workers at once; SIGKILL of this process ends them
    too. Arrays of `shared` are in memory once: in a file without a name, which is gone with the last process.

    Raises:
        BrokenProcessPool: if a worker died.
    """
    with TemporaryFile() as file:
        pool = ProcessPoolExecutor(
            jobs,
            mp_context=get_context("spawn"),  # a fork would copy threads of torch and numba in unknown states
            initializer=_begin,
            initargs=(_Packed(file, (work, shared)),),
        )
        others, finished = set(active_children()), False
        try:
            with waiting_signals(), _no_script():
                futures = [pool.submit(_do, item) for item in items]
            for future in as_completed(futures):
                yield future.result()
            finished = True
        finally:
            if not finished:
                for worker in set(active_children()) - others:
                    worker.kill()
            pool.shutdown(cancel_futures=True)


@contextmanager
def companions(work: Callable[[Any, int], object], shared: Any, n: int) -> Iterator[Callable[[], bool]]:
    """Let `work(shared, number)` run for the numbers 1 to n beside the block, each in a process that ends with it.

    What the block is given tells whether all of them still run.
    """
    context = get_context("spawn")
    processes = [context.Process(target=_accompany, args=(work, shared, i + 1), daemon=True) for i in range(n)]
    try:
        with waiting_signals(), _no_script():
            for process in processes:
                process.start()
        yield lambda: all(process.is_alive() for process in processes)
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def _accompany(work: Callable[[Any, int], object], shared: Any, number: int) -> None:
    follow_parent()
    work(shared, number)


class _Packed:
    """An object on its way to workers, which map the bytes of its arrays instead of copying them."""

    def __init__(self, file: IO[bytes], value: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self._pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append if HERE else None)
        self._spans: list[tuple[int, int]] = []
        for buffer in buffers:
            start = -(-file.tell() // ALIGN) * ALIGN
            file.seek(start)
            self._spans.append((start, file.write(buffer.raw())))
        file.flush()
        self._file = file.fileno()

    def __getstate__(self) -> tuple[bytes, list[tuple[int, int]], Any]:
        return self._pickled, self._spans, DupFd(self._file) if self._spans else None

    def __setstate__(self, state: tuple[bytes, list[tuple[int, int]], Any]) -> None:
        self._pickled, self._spans, file = state
        self._file = -1 if file is None else file.detach()

    def unpacked(self) -> Any:
        """The object; its arrays are read-only."""
        if not self._spans:
            return pickle.loads(self._pickled)
        whole = memoryview(mmap.mmap(self._file, 0, access=mmap.ACCESS_READ))
        return pickle.loads(self._pickled, buffers=[whole[start : start + size] for start, size in self._spans])


@contextmanager
def _no_script() -> Iterator[None]:
    """Let processes started inside the block not run the user's script again, which needs no guard then."""
    script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _begin(packed: _Packed) -> None:
    follow_parent()
    _job[:] = packed.unpacked()


def _do(item: Any) -> Any:
    work, shared = _job
    return work(shared, item)
