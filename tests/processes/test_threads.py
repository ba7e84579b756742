"""How many threads a computation uses."""

import os
import signal
import threading
import time

import pytest
import torch

from unknot.errors import UnknotError
from unknot.processes.threads import side_by_side, threads_of_torch


def test_threads_are_those_of_before_again() -> None:
    before = torch.get_num_threads()
    with threads_of_torch(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("n", [0, -3, 10**6])
def test_what_is_no_number_of_threads_is_refused(n: int) -> None:
    with pytest.raises(UnknotError, match=f"threads is {n}; expected 1 to 1024"), threads_of_torch(n):
        pass


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
