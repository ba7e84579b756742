"""How many threads a computation uses."""

import os
import queue
import signal
import threading
import time
from collections.abc import Iterator

import pytest
import torch
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from unknot.errors import UnknotError
from unknot.processes.threads import one_thread, side_by_side, threads_of_torch


def test_threads_are_those_of_before_again() -> None:
    before = torch.get_num_threads()
    with threads_of_torch(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("n", [0, -3, 10**6])
def test_what_is_no_number_of_threads_is_refused(n: int) -> None:
    with pytest.raises(UnknotError, match=f"threads is {n}; expected 1 to 1024"), threads_of_torch(n):
        pass


def sizes_of_blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def resize(n: int) -> None:
    """Set the pools of BLAS, in a thread of its own: the one that sets them may keep others from it while it lives."""
    thread = threading.Thread(target=lambda: ThreadpoolController().limit(limits=n, user_api="blas"))
    thread.start()
    thread.join()


@pytest.fixture
def three_threads() -> Iterator[list[int]]:
    before = max(sizes_of_blas())
    resize(3)
    yield sizes_of_blas()
    resize(before)


def test_threads_that_enter_and_leave_in_any_order_have_one_thread_and_leave_as_many_as_before(
    three_threads: list[int],
) -> None:
    assert set(three_threads) == {3}
    commands = [queue.SimpleQueue[bool]() for _ in range(2)]
    done = queue.SimpleQueue[bool]()

    def enter_and_leave(own: "queue.SimpleQueue[bool]") -> None:
        own.get()
        with one_thread(), one_thread():
            done.put(True)
            own.get()
        done.put(True)
        own.get()  # lives on after it has left

    threads = [threading.Thread(target=enter_and_leave, args=(own,), daemon=True) for own in commands]
    for thread in threads:
        thread.start()
    for number, size in ((0, 1), (1, 1), (0, 1), (1, 3)):  # the first leaves while the second is inside
        commands[number].put(True)
        assert done.get(timeout=60)
        assert set(sizes_of_blas()) == {size}
    with one_thread():
        assert set(sizes_of_blas()) == {1}
    assert sizes_of_blas() == three_threads
    for own, thread in zip(commands, threads, strict=True):
        own.put(True)
        thread.join()


def test_each_thread_has_its_own_size_of_openmp_again() -> None:
    def sizes() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"]

    def inside(_: int) -> tuple[list[int], list[int], list[int]]:
        with threadpool_limits(3, user_api="openmp"):
            before = sizes()
            with one_thread():
                both.wait(60)
                during = sizes()
            return before, during, sizes()

    both = threading.Barrier(2)
    results = [list[list[int]]() for _ in range(2)]
    threads = [threading.Thread(target=lambda own=own: own.extend(inside(0))) for own in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for before, during, after in results:
        assert set(before) == {3} and set(during) == {1} and after == before


def test_work_side_by_side_comes_back_in_order_and_an_error_with_it() -> None:
    assert side_by_side(lambda a, b: a - b, [5, 6, 7], [1, 2, 3]) == [4, 4, 4]
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda a: 1 / a, [1, 0, 2])


def test_ctrl_c_does_not_wait_for_the_work_that_is_under_way() -> None:
    finish, begun = threading.Event(), []

    def work(number: int) -> None:
        begun.append(number)
        finish.wait(60)

    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(100))
    assert time.monotonic() - start < 30
    under_way = len(begun)
    finish.set()
    timer.join()
    time.sleep(0.05)
    assert len(begun) == under_way < 100, "nothing more is begun"
