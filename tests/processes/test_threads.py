"""How many threads a computation uses."""

import pytest
import torch

from unknot.errors import UnknotError
from unknot.processes.threads import threads_of_torch


def test_threads_are_those_of_before_again() -> None:
    before = torch.get_num_threads()
    with threads_of_torch(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("n", [0, -3, 10**6])
def test_what_is_no_number_of_threads_is_refused(n: int) -> None:
    with pytest.raises(UnknotError, match=f"threads is {n}; expected 1 to 1024"), threads_of_torch(n):
        pass
