"""What the tests share: stored representations with values computed by public implementations."""

import json
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Started in the background by a shell, the tests inherit that Ctrl-C is ignored, and some of them press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDENS = Path(__file__).parent / "goldens"


@cache
def _values() -> dict[str, Any]:
    return json.loads((GOLDENS / "goldens.json").read_text())


@cache
def _arrays(case: str) -> dict[str, np.ndarray]:
    with np.load(GOLDENS / f"{case}.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for array in arrays.values():
        array.setflags(write=False)  # shared between tests
    return arrays


@pytest.fixture
def golden() -> Callable[[str], tuple[dict[str, np.ndarray], dict[str, Any]]]:
    """`golden(case)`: the stored arrays (read-only) and name -> value of a case; matrices come as arrays."""

    def load(case: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        values = {
            name: np.array(entry["value"]) if isinstance(entry["value"], list) else entry["value"]
            for name, entry in _values()[case].items()
        }
        return dict(_arrays(case)), values

    return load
