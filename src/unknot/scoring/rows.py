"""Which rows of a representation a metric is scored on, and how often they are looked through: once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats
from unknot.metrics.inputs import Checked, third
from unknot.representation import Representation


@dataclass(frozen=True)
class Named:
    """Factors that bring their names, as a table does, so that a metric's notes and parts use them."""

    values: NDArray[Any]
    columns: tuple[str, ...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getitem__(self, rows: Any) -> "Named":
        return Named(self.values[rows], self.columns)


@dataclass(frozen=True)
class Data:
    """The rows one metric sees."""

    latents: Floats
    factors: Named | None
    latents_test: Floats | None = None
    factors_test: Named | NDArray[Any] | None = None

    @cached_property
    def checked(self) -> Checked:
        """The latents, for metrics that share what they make of them."""
        return Checked(self.latents)

    def split(self, seed: int) -> "Data":
        """A third of the rows held out, before resampling puts copies of a row on both sides."""
        if self.factors is None or self.latents_test is not None:
            return self
        test, train = third(len(self.latents), seed)
        return Data(self.latents[train], self.factors[train], self.latents[test], self.factors[test])

    def resampled(self, rng: np.random.Generator) -> "Data":
        """As many rows drawn with replacement, training and test rows apart."""
        pick = rng.integers(0, len(self.latents), len(self.latents))
        latents, factors = self.latents[pick], None if self.factors is None else self.factors[pick]
        if self.latents_test is None or self.factors_test is None:
            return Data(latents, factors)
        pick = rng.integers(0, len(self.latents_test), len(self.latents_test))
        return Data(latents, factors, self.latents_test[pick], self.factors_test[pick])


def chosen(rep: Representation, cap: int | None, tested: bool, seed: int) -> Data:
    """At most `cap` rows, two thirds of them training rows where held-out rows are there and `tested`."""
    rng = np.random.default_rng(seed)
    factors = None if rep.factors is None else Named(rep.factors, rep.factor_names)
    if tested and factors is not None and rep.latents_test is not None and rep.factors_test is not None:
        train = _subset(len(rep.latents), cap and -(-cap * 2 // 3), rng)
        test = _subset(len(rep.latents_test), cap and max(1, cap // 3), rng)
        return Data(rep.latents[train], factors[train], rep.latents_test[test], rep.factors_test[test])
    # what is missing is split off by the metric: some variants hold out nothing, some only for a part of their numbers
    keep = _subset(len(rep.latents), cap, rng)
    return Data(rep.latents[keep], None if factors is None else factors[keep])


def _subset(n: int, cap: int | None, rng: np.random.Generator) -> Any:
    if cap is None or n <= cap:
        return slice(None)
    return np.sort(rng.choice(n, size=cap, replace=False))
