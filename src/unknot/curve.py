"""The loss terms of a run over its steps."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

Row = dict[str, float]


class Broken(NamedTuple):
    """The first step whose values are not all finite, and those values."""

    step: int
    values: Row


class Curve:
    """Rows of means over a window of steps, and the steps since the last row.

    Values stay on their device, unread, until `read`: asking for each at every step would make a GPU wait.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._window: dict[str, list[float]] = {}  # a player may leave out steps, so terms differ in number
        self._unread: list[tuple[int, str, Tensor]] = []

    def add(self, step: int, values: Mapping[str, Tensor]) -> None:
        """Take in the values of one step."""
        self._unread += [(step, name, value.detach()) for name, value in values.items()]

    def read(self) -> Broken | None:
        """Fetch what was added, all at once; what is not finite is returned, from its first step."""
        unread, self._unread = self._unread, []
        if not unread:
            return None
        broken: Broken | None = None
        for (step, name, _), value in zip(
            unread, torch.stack([v.float() for _, _, v in unread]).tolist(), strict=True
        ):
            self._window.setdefault(name, []).append(value)
            if not math.isfinite(value):
                broken = broken or Broken(step, {})
                if step == broken.step:
                    broken.values[name] = value
        return broken

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
