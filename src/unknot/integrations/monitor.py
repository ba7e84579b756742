"""Scores while a model trains, in a loop of one's own.

    monitor = Monitor(images, factors, every=500)
    for step, batch in enumerate(loader, 1):
        ...
        monitor(model, step)
    monitor.last(model, step)

`unknot.integrations.lightning`, `.trainer` and `.keras` are the same as callbacks.
"""

import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, nullcontext
from timeit import timeit
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.reading.arguments import checked
from unknot.reading.arrays import as_array
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
        if not all(isinstance(rows, Sized) for rows in (inputs, factors)) or not len(inputs):
            raise UnknotError("monitor: needs held-out rows and their factors, and there are none.")
        if len(inputs) != len(factors):
            raise UnknotError(f"monitor: {len(inputs)} inputs for {len(factors)} rows of factors; give one each.")
        if every < 1 or not 0 < share <= 1:
            raise UnknotError(f"monitor: every is {every} and share {share}; expected 1 or more, and up to 1.")
        self.inputs, self.factors, self.metrics = inputs, factors, list(metrics)
        self.every, self.share, self.log, self._encode = every, share, log, encode or _outputs
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
            values = self._values(np.concatenate([as_numpy(self._encode(model, rows)) for rows in batches]))
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


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Leave random numbers, and the mode of every part of a torch module, as they are before."""
    torch = sys.modules.get("torch")  # a model of torch has imported it
    modes = {}
    if torch is not None and isinstance(model, torch.nn.Module):
        modes = {part: part.training for part in model.modules()}
        model.eval()
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - which is the caller's
    try:
        with nullcontext() if torch is None else torch.random.fork_rng():
            yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        for part, training in modes.items():
            part.training = training


def as_numpy(codes: Any) -> Any:
    """Codes (n, d) of any library; of several things the first, such as the means of means and log-variances."""
    if isinstance(codes, Mapping):
        raise UnknotError(f"monitor: the model returns {', '.join(map(str, codes))} by name; choose with encode=.")
    codes = as_array(codes[0] if isinstance(codes, tuple | list) else codes, "monitor", "latents")
    return codes.reshape(len(codes), -1)


def _outputs(model: Any, inputs: Any) -> Any:
    """What a model returns; a torch module is given its rows where its weights are."""
    if not callable(model):
        raise UnknotError(f"monitor: {type(model).__name__} cannot be called with rows; give encode=.")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        device = next((weight.device for weight in model.parameters()), None)
        with torch.no_grad():
            return model(torch.as_tensor(inputs).to(device=device))
    return model(inputs)
