"""Freed memory is kept between steps."""

import platform
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unknot.processes.memory import kept_memory

FAULTS = """
import resource
import numpy as np
from unknot.processes.memory import kept_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        [np.ones(2**20) for _ in range(8)]  # 64 MB, freed at the end of each round
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with kept_memory():
    faults()
    print(faults())
print(faults())
"""


glibc_only = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep memory")


@glibc_only
def test_pages_are_not_given_back_and_cleared_again_in_the_block() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    inside, outside = map(int, done.stdout.split())
    assert inside < 1000  # one round alone touches 16,384 pages
    assert outside > 10 * inside


@glibc_only
def test_what_was_kept_is_given_back_after_the_block() -> None:
    with kept_memory():
        big = [np.ones(2**20) for _ in range(8)]
        del big
        kept = _resident()
    assert _resident() <= kept


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
