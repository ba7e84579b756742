"""Bootstrap resamples as counts: how often each row was drawn, and what ranks and correlations follow from it.

Working on counts instead of drawn rows makes ranks of a resample a cumulative sum: no sorting per resample.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.metrics.inputs import Rng

BLOCK = 2**20  # counts held at a time: 8 MB an array


@dataclass(frozen=True)
class Bootstrap:
    """Resamples of models, from which an interval is taken.

    Attributes:
        times: how many; 0 for no interval.
        level: share of them inside the interval.
        rng: their seed or generator.
    """

    times: int = 1000
    level: float = 0.95
    rng: Rng = 0

    def __post_init__(self) -> None:
        if self.times < 0:
            raise UnknotError(f"bootstraps: {self.times} resamples; expected 0 (no intervals) or more, 1,000 say.")
        if not 0 < self.level < 1:
            raise UnknotError(
                f"bootstraps: level is {self.level}; expected a share between 0 and 1, such as 0.95."
            )

    @property
    def seed(self) -> int:
        """The seed itself, or one drawn from the generator."""
        return int(self.rng.integers(2**62)) if isinstance(self.rng, np.random.Generator) else int(self.rng)


Bootstraps = int | Bootstrap  # or as many resamples with the usual level and seed


def seeded(bootstraps: Bootstraps) -> Bootstrap:
    """A bootstrap whose seed is a number, so that all who use it see the same resamples."""
    bootstrap = bootstraps if isinstance(bootstraps, Bootstrap) else Bootstrap(bootstraps)
    return replace(bootstrap, rng=bootstrap.seed)


def resamples(n: int, bootstrap: Bootstrap) -> Iterator[Floats]:
    """Blocks (b, n) of how often each of n rows is drawn in a resample of n, as many resamples as asked for in all.

    They depend on the seed and on n alone, so that an interval does not move when a column is added to the table.
    """
    rng = np.random.default_rng([bootstrap.seed, n])
    for start in range(0, bootstrap.times, size := max(1, BLOCK // n)):
        b = min(size, bootstrap.times - start)
        drawn = rng.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(np.float64)


def spans(column: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """For each row, how many drawn rows have a smaller value, and how many a smaller or equal one: two (b, n).

    >>> start, end = spans(np.array([5.0, 7.0, 5.0]), np.array([[1.0, 1.0, 1.0]]))
    >>> start.tolist(), end.tolist()
    ([[0.0, 2.0, 0.0]], [[2.0, 3.0, 2.0]])
    """
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    first = np.searchsorted(ordered, column, side="left")
    last = np.searchsorted(ordered, column, side="right")
    upto = np.zeros((len(counts), len(column) + 1))
    np.cumsum(counts[:, order], axis=1, out=upto[:, 1:])
    return upto[:, first], upto[:, last]


def ranks(column: Floats, counts: Floats) -> Floats:
    """(b, n) rank of each row's value within each resample, ties averaged."""
    start, end = spans(column, counts)
    result: Floats = (start + end + 1) / 2
    return result


def weighted_correlation(x: Floats, y: Floats, counts: Floats) -> Floats:
    """(b,) Pearson correlation within each resample of x and y, (n,) or (b, n); NaN where one does not vary."""
    total = counts.sum(axis=1, keepdims=True)
    dx = x - (counts * x).sum(axis=1, keepdims=True) / total
    dy = y - (counts * y).sum(axis=1, keepdims=True) / total
    weighted = counts * dx
    covariance = np.einsum("bn,bn->b", weighted, dy)
    spread_x = np.einsum("bn,bn->b", weighted, dx)
    spread_y = np.einsum("bn,bn,bn->b", counts, dy, dy)
    # Resamples of one repeated row have a spread of rounding size.
    flat_x = spread_x <= 1e-12 * (x**2).max(axis=-1) * total[:, 0]
    flat_y = spread_y <= 1e-12 * (y**2).max(axis=-1) * total[:, 0]
    product = np.where(flat_x | flat_y, np.nan, spread_x * spread_y)
    result: Floats = np.clip(covariance / np.sqrt(product), -1.0, 1.0)
    return result


def interval(samples: Floats, level: float) -> tuple[float, float]:
    """Percentile interval of the resampled values; NaN where fewer than half of them are defined.

    >>> [round(end, 6) for end in interval(np.arange(101.0), 0.9)]
    [5.0, 95.0]
    """
    defined = samples[~np.isnan(samples)]
    if 2 * len(defined) <= len(samples):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
