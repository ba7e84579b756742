"""What the tests share: stored representations with values computed by public implementations, and pinned results."""

import hashlib
import json
import math
import os
import re
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# Started in the background by a shell, the tests inherit that Ctrl-C is ignored, and some of them press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same cases on every machine and no clock: what passes here passes there. `make fuzz` draws others.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

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


@pytest.fixture
def pinned() -> Callable[..., None]:
    """`pinned(name, found)`: what is found is what goldens/NAME.json says; UNKNOT_WRITE_GOLDENS=1 writes that anew.

    Numbers may differ by 1e-6, absolute or relative, those that torch has `trained` by 1e-4; where torch rounds in
    another way than where the file was written they are not compared. Below a key in `growing` there may be more.
    """

    def compare(name: str, found: Any, *, trained: bool = False, growing: tuple[str, ...] = ()) -> None:
        path, tolerance = GOLDENS / f"{name}.json", 1e-4 if trained else 1e-6
        now = json.loads(json.dumps({**found, "torch": _torch_rounding()} if trained else found))
        if os.environ.get("UNKNOT_WRITE_GOLDENS"):
            digits = 6 if trained else 8
            short = json.loads(json.dumps(now), parse_float=lambda text: float(f"{float(text):.{digits}g}"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_laid_out(short) + "\n", encoding="utf-8")
            return
        before = json.loads(path.read_text(encoding="utf-8"))
        if trained and before.pop("torch") != now.pop("torch"):
            tolerance = math.inf
        moved = list(_differences(before, now, "", tolerance, growing))
        assert not moved, "\n".join([f"{path.name}: {len(moved)} differences", *moved[:20]])

    return compare


@cache
def _torch_rounding() -> str:
    """A hash of what a few steps of plain torch end in: others on other processors, and by other versions."""
    import torch
    from torch.nn import functional

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rng = torch.Generator().manual_seed(0)
        shapes = ((8, 1, 4, 4), (16, 8, 4, 4), (576, 64), (64, 1))
        weights = [(0.1 * torch.randn(shape, generator=rng)).requires_grad_() for shape in shapes]
        optimiser = torch.optim.Adam(weights, lr=0.01)
        images = torch.rand((8, 1, 32, 32), generator=rng)
        for _ in range(8):
            hidden = functional.conv2d(
                functional.conv2d(images, weights[0], stride=2).relu(), weights[1], stride=2
            )
            loss = ((hidden.flatten(1) @ weights[2]).tanh() @ weights[3] - images.mean()).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return hashlib.sha256(b"".join(w.detach().numpy().tobytes() for w in weights)).hexdigest()[:12]
    finally:
        torch.set_num_threads(threads)


def _differences(before: Any, now: Any, where: str, tolerance: float, growing: tuple[str, ...]) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        grows = any(f".{key}" in where for key in growing)
        names = [name for name in now if name in before] if grows else list(now)
        if sorted(names) != sorted(before) or (not grows and names != list(before)):
            yield f"{where}: names were {list(before)}, are {list(now)}"
        for name in (name for name in before if name in now):
            yield from _differences(before[name], now[name], f"{where}.{name}", tolerance, growing)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for i, pair in enumerate(zip(before, now, strict=True)):
            yield from _differences(*pair, f"{where}[{i}]", tolerance, growing)
    elif not _alike(before, now, tolerance):
        yield f"{where}: was {before!r}, is {now!r}"


def _alike(before: Any, now: Any, tolerance: float) -> bool:
    """Whether two plain values are the same; with an infinite tolerance whatever was computed may be another."""
    kinds = {type(before), type(now)}
    if kinds == {str} and tolerance == math.inf:
        before, now = (re.sub(r"-?\d+\.\d+", "#", text) for text in (before, now))
    if kinds <= {int, float}:
        return math.isclose(before, now, rel_tol=tolerance, abs_tol=tolerance)
    if kinds <= {int, float, bool, NoneType} and tolerance == math.inf:
        return True
    return len(kinds) == 1 and before == now


def _laid_out(value: Any, indent: str = "\n") -> str:
    """JSON with a line for each entry and each row of a table, so that a change of it can be read."""
    line, named = json.dumps(value, ensure_ascii=False), isinstance(value, dict)
    kinds = {type(part) for part in value} if isinstance(value, list) else set()
    if len(line) < 110 or not (named or kinds == {str} or kinds & {dict, list}):
        return line
    begin, end = "{}" if named else "[]"
    parts = [f"{json.dumps(k)}: {_laid_out(v, indent + ' ')}" for k, v in value.items()] if named else []
    parts = parts or [_laid_out(part, indent + " ") for part in value]
    return begin + ",".join(f"{indent} {part}" for part in parts) + indent + end
