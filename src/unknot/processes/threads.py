"""How many threads a computation uses. One is the fastest on a shared machine, and sums come out in the same order."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import parent_process
from threading import Lock, Thread
from typing import Any, TypeVar

from unknot.errors import UnknotError

MOST = 1024
T = TypeVar("T")


@contextmanager
def threads_of_torch(n: int = 1) -> Iterator[None]:
    """So many threads of torch, if anything has imported it."""
    if not 1 <= n <= MOST:
        raise UnknotError(field="threads", value=n, expected=f"1 to {MOST}")
    torch = sys.modules.get("torch")  # what is no torch network does not load it
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread of BLAS and OpenMP; it may be entered again, and by several threads at once."""
    shared, own = _libraries(len(sys.modules))
    _SHARED.enter(shared)
    try:
        with own.limit(limits=1):
            yield
    finally:
        _SHARED.leave()


@lru_cache(maxsize=1)
def _libraries(_: int) -> tuple[Any, Any]:
    """What is loaded that has one size for the whole process, and what has one for each thread that calls it.

    Looked for anew, which takes milliseconds, when modules were imported.
    """
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController()
    own = libraries.select(user_api="openmp", threading_layer="openmp")
    paths = {each["filepath"] for each in libraries.info()} - {each["filepath"] for each in own.info()}
    return libraries.select(filepath=list(paths)), own


class _Shared:
    """Libraries of one size for the whole process: 1 from the first that enters until the last has left."""

    def __init__(self) -> None:
        self.lock, self.inside = Lock(), 0
        self.limited: Any = None
        self.limits: list[Any] = []

    def enter(self, libraries: Any) -> None:
        with self.lock:
            self.inside += 1
            if libraries is not self.limited:  # nobody was inside, or more was loaded since
                self.limited = libraries
                self.limits.append(libraries.limit(limits=1))
                with libraries.limit(limits=None):  # after which any thread may set sizes, not this one alone
                    pass

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.limited = None
                while self.limits:
                    with self.limits.pop():  # whose end brings former sizes back
                        pass


_SHARED = _Shared()


def side_by_side(work: Callable[..., T], *items: Iterable[Any]) -> list[T]:
    """What `work` makes of each item, or of the items of several lists, on all cores; in a process of a pool, on one.

    For compiled code that lets other threads run, and does not wait for them inside. Ctrl-C is met at once: threads are
    left alone with the item they are at, take no other, and end with the process.
    """
    cores = 1 if parent_process() else len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    todo = dict(enumerate(zip(*items, strict=True)))
    numbers, results, failures = iter(list(todo)), dict[int, T](), list[BaseException]()

    def take() -> None:
        for number in numbers:  # each goes to one thread
            if failures or number not in todo:
                return
            try:
                results[number] = work(*todo[number])
            except BaseException as error:
                failures.append(error)

    threads = [Thread(target=take, daemon=True) for _ in range(min(cores or 1, len(todo)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        todo.clear()
        raise
    if failures:
        raise failures[0]
    return [results[number] for number in todo]
