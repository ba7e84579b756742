"""The loss terms of a run over its steps."""

import math
from bisect import insort
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor

Row = dict[str, float]
GRADIENT = "gradient_norm"  # a column of the curve
EXPLODED = 10_000  # times the median so far; the largest mean of 50 steps in 142 runs was 19 times as large
SMALL = 1.0  # norms that have not exploded, whatever was before: a collapsed model wakes up from next to nothing
ENOUGH = 10  # steps that make a median; a row is the mean of more


class Broken(NamedTuple):
    """The first step whose values are not all finite, and those values."""

    step: int
    values: Row

    @property
    def words(self) -> str:
        """What went wrong."""
        terms = {n: v for n, v in self.values.items() if n != "loss" and not n.endswith(GRADIENT)}
        if not terms:
            return "the gradient is no longer finite, though every term of the loss is"
        return ", ".join(f"the term '{name}' became {value}" for name, value in terms.items())


class Exploded(NamedTuple):
    """The first step with a norm far above all that this run had before."""

    step: int
    name: str
    norm: float
    median: float
    values: Row

    @property
    def words(self) -> str:
        """What went wrong."""
        player = self.name.removesuffix(GRADIENT)  # with its dot, or nothing
        own = [name for name in self.values if name.rpartition(".")[0] == player[:-1] and name != self.name]
        terms = [name for name in own if name != "loss"] or own
        largest = max(terms, key=lambda name: abs(self.values[name]))
        whose = f" of '{player[:-1]}'" if player else ""
        return (
            f"the gradient{whose} exploded, to a norm of {self.norm:.3g} after a median of {self.median:.3g}; "
            f"the largest term was '{largest}' at {self.values[largest]:.3g}"
        )


class Curve:
    """Rows of means over a window of steps, and the steps since the last row.

    Values stay on their device, unread, until `read`: asking for each at every step would make a GPU wait.

    Args:
        norms: names of values that must not explode.
    """

    def __init__(self, norms: Iterable[str] = ()) -> None:
        self.norms = tuple(norms)
        self.rows: list[Row] = []
        self._window: dict[str, list[float]] = {}  # a player may leave out steps, so terms differ in number
        self._unread: list[tuple[int, str, Tensor]] = []

    def add(self, step: int, values: Mapping[str, Tensor]) -> None:
        """Take in the values of one step."""
        self._unread += [(step, name, value.detach()) for name, value in values.items()]

    def read(self) -> Broken | Exploded | None:
        """Fetch what was added, all at once, up to the first step that went wrong, which is returned.

        A norm is compared with the rows and with the steps since the last row, so it does not matter when one reads.
        """
        unread, self._unread = self._unread, []
        if not unread:
            return None
        numbers = torch.stack([value.float() for _, _, value in unread]).tolist()
        named = [(step, name, value) for (step, name, _), value in zip(unread, numbers, strict=True)]
        before = {name: sorted(self._recorded(name)) for name in self.norms}
        in_rows = {name for name in self.norms if any(name in row for row in self.rows)}
        for step, group in groupby(named, key=lambda each: each[0]):
            values = {name: value for _, name, value in group}
            broken = {name: value for name, value in values.items() if not math.isfinite(value)}
            if broken:
                return Broken(step, broken)
            for name in [name for name in self.norms if name in values]:
                enough = name in in_rows or len(before[name]) >= ENOUGH
                if enough and _exploded(values[name], before[name]):
                    return Exploded(step, name, values[name], _median(before[name]), values)
                insort(before[name], values[name])
            for name, value in values.items():
                self._window.setdefault(name, []).append(value)
        return None

    def _recorded(self, name: str) -> list[float]:
        return [row[name] for row in self.rows if name in row] + self._window.get(name, [])

    def close_row(self, step: int) -> Row:
        """End the window with a row of its means."""
        means = {name: sum(values) / len(values) for name, values in self._window.items()}
        self.rows.append({"step": step, **means})
        self._window = {}
        return means

    def state(self) -> dict[str, Any]:
        """All of it as plain values, to be read before."""
        return {"rows": self.rows, "window": self._window}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.rows, self._window, self._unread = state["rows"], state["window"], []


def _exploded(norm: float, before: list[float]) -> bool:
    """Whether a norm is far above the sorted ones before, and above the largest: gradients may start large."""
    return _median(before) > 0 and norm > max(EXPLODED * _median(before), before[-1], SMALL)


def _median(ordered: list[float]) -> float:
    return ordered[len(ordered) // 2]
