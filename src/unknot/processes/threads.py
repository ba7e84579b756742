"""How many threads a computation uses. One is the fastest on a shared machine, and sums come out in the same order."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from unknot.errors import UnknotError

MOST = 1024


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
    """One thread of BLAS and OpenMP."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
