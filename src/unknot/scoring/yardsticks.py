"""What a metric gives for codes of the very factors of a card that are known to be perfect, mixed, or noise."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.score import Score

ROWS = 1_500  # are enough to measure by
MIXTURES = 3  # that are drawn
NEAR = 0.02  # noise of a perfect latent, of its spread


@dataclass(frozen=True)
class Yardstick:
    """Scores of codes that are known.

    Attributes:
        perfect: of a latent of its own for each factor.
        apart: the same where factors have the same classes and do not depend on each other.
        mixed: of latents that each mix all factors.
        noise: of latents that know nothing.
    """

    perfect: float
    apart: float
    mixed: float
    noise: float

    @property
    def kept(self) -> float:
        """How much of what independent factors would give a perfect code it has here; NaN where these give nothing.

        >>> Yardstick(perfect=0.5, apart=0.9, mixed=0.3, noise=0.1).kept
        0.5
        """
        return self._share(self.perfect)

    @property
    def given_away(self) -> float:
        """How much of it a mixture gets here."""
        return self._share(self.mixed)

    def _share(self, value: float) -> float:
        return (value - self.noise) / (self.apart - self.noise) if self.apart != self.noise else np.nan


def drawn(n: int, most: int) -> Ints:
    """At most so many of n rows, in order; by chance, as every so-many-th row of a table in order misses classes."""
    return np.sort(np.random.default_rng(1).choice(n, size=min(n, most), replace=False))


def yardstick(metric: Callable[..., Score], options: Mapping[str, Any], factors: Ints) -> Yardstick:
    """What a metric gives for known codes of factors (n, k); NaN, which no threshold is above or below, if it refuses.

    Factors of which the rows that are drawn have one class are left out.
    """
    factors = factors[drawn(len(factors), ROWS)]
    factors = factors[:, (factors != factors[0]).any(axis=0)]
    rng = np.random.default_rng(0)
    torn = np.column_stack([rng.permutation(column) for column in factors.T])
    near = _near(factors, rng)
    k = near.shape[1]
    mixtures = [near @ np.linalg.qr(rng.normal(size=(k, k)))[0] for _ in range(MIXTURES)]

    def value(latents: Floats, labels: Ints) -> float:
        try:
            return metric(latents, labels, **options).value
        except UnknotError:
            return np.nan

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Yardstick(
            value(near, factors),
            value(_near(torn, rng), torn),
            float(np.mean([value(mixture, factors) for mixture in mixtures])),
            value(rng.normal(size=near.shape), factors),
        )


def _near(factors: Ints, rng: np.random.Generator) -> Floats:
    spread = np.maximum(factors.std(axis=0), 1e-300)
    near: Floats = (factors - factors.mean(axis=0)) / spread + NEAR * rng.normal(size=factors.shape)
    return near
