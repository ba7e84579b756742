"""Scores while a model trains, in a loop of one's own.

    monitor = Monitor(images, factors, every=500)
    for step, batch in enumerate(loader, 1):
        ...
        monitor(model, step)
    monitor.last(model, step)

`unknot.integrations.lightning`, `.trainer` and `.keras` are the same as callbacks.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from timeit import timeit
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning, shown
from unknot.integrations.outputs import as_numpy, outputs, undisturbed
from unknot.reading.arguments import checked
from unknot.scoring.scoring import score

if TYPE_CHECKING:
    from pandas import DataFrame

AT_ONCE = 256  # rows that a model sees at a time
USUAL = ("mig", "sap", "modularity")  # which take no training, and few rows


class Monitor:
    """Scores a model on held-out rows every so many steps, as long as that takes a small share of the time.

    A model is put into evaluation mode for it, every part of it then back into its own mode, and random numbers go on
    as if nothing had been scored.

    Args:
        inputs: held-out rows, as the model takes them.
        factors: their factors, one row each.
        encode: makes latents of a model and some rows; if left out, what the model returns, or the first of several.
        metrics: which, by name.
        every: steps between two scores.
        share: of the time since the first step that scoring may take; a score that would take more is left out.
            1 sets no limit.
        log: called with the values and the step.
    """

    @checked
    def __init__(
        self,
        inputs: Any,
        factors: Any,
        *,
        encode: Callable[[Any, Any], Any] | None = None,
        metrics: Sequence[str] = USUAL,
        every: int = 500,
        share: float = 0.01,
        log: Callable[[Mapping[str, float], int], None] | None = None,
    ) -> None:
        for name, rows in (("inputs", inputs), ("factors", factors)):
            if not _has_rows(rows):
                raise UnknotError(
                    f"monitor: needs held-out rows and their factors; {name} is {shown(rows)}, which has no rows."
                )
        if len(inputs) != len(factors):
            raise UnknotError(f"monitor: {len(inputs)} inputs for {len(factors)} rows of factors; give one each.")
        if every < 1 or not 0 < share <= 1:
            raise UnknotError(f"monitor: every is {every} and share {share}; expected 1 or more, and up to 1.")
        self.inputs, self.factors, self.metrics = inputs, factors, list(metrics)
        self.every, self.share, self.log, self._encode = every, share, log, encode or outputs
        self.history: list[dict[str, float]] = []
        self.seconds = 0.0  # spent on scores
        self._started: float | None = None
        noise = np.random.default_rng(0).normal(size=(len(factors), 2))
        self._values(noise)  # refuses what cannot be scored, and compiles, before training begins
        self._last = timeit(lambda: self._values(noise), number=1)

    def __call__(self, model: Any, step: int) -> dict[str, float] | None:
        """Score if it is time to, and there is time for it; None if not."""
        self._started = self._started or time.perf_counter()
        spare = self.share * (time.perf_counter() - self._started) - self.seconds
        if step % self.every or (self.share < 1 and self._last > spare):
            return None
        return self.score(model, step)

    def last(self, model: Any, step: int) -> dict[str, float] | None:
        """Score the trained model, whatever that takes; None if its last step was scored already."""
        return None if self.history and self.history[-1]["step"] == step else self.score(model, step)

    def score(self, model: Any, step: int) -> dict[str, float]:
        """Score now."""
        start = time.perf_counter()
        with undisturbed(model):
            batches = (self.inputs[at : at + AT_ONCE] for at in range(0, len(self.inputs), AT_ONCE))
            parts = [as_numpy(self._encode(model, rows)) for rows in batches]
            if len(widths := sorted({part.shape[1] for part in parts})) > 1:
                raise UnknotError(f"monitor: the model gives rows of {widths} latents; expected as many of each.")
            values = self._values(np.concatenate(parts))
        self._last = time.perf_counter() - start
        self.seconds += self._last
        self.history.append({"step": step, **values})
        if self.log is not None:
            self.log(values, step)
        return values

    def to_frame(self) -> "DataFrame":
        """The scores so far, a row for each step that was scored."""
        from pandas import DataFrame

        return DataFrame(self.history)

    def _values(self, latents: Any) -> dict[str, float]:
        with warnings.catch_warnings(action="ignore", category=UnknotWarning):
            return score(latents, self.factors, metrics=self.metrics).values()


def _has_rows(rows: Any) -> bool:
    try:
        return len(rows) > 0
    except TypeError:  # which numbers, and arrays without an axis, answer with
        return False
