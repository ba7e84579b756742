"""Differences between candidates, each measured with one or several seeds and on parts of its rows."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.score import Scattering
from unknot.statistics.correlations import holm
from unknot.statistics.scatter import on_scale, scatter, steepness, usable

LEVEL = 0.05  # of errors that are accepted
SEEN = 2.8  # standard errors: a difference that 80 % of such comparisons would call one
ROUNDING = 1e-12  # share of a number within which seeds that scatter count as tied


@dataclass(frozen=True)
class Difference:
    """One measure of two candidates, such as a metric of two representations.

    Attributes:
        metric: its full name.
        first: name of one of them.
        second: name of the other.
        values: of both; means over seeds.
        difference: the second's value less the first's.
        low: end of the 95 % interval of the difference; NaN where nothing tells how it scatters, or seeds tie.
        high: its other end.
        p: that a difference as large comes about where there is none, by Student's t.
        p_holm: the same, corrected for all measures and pairs that were compared.
        smallest: the difference that would have been noticed in four of five cases.
        verdict: "better" or "worse" of the second, "equal" within the margin, or "undecided".
    """

    metric: str
    first: str
    second: str
    values: tuple[float, float]
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    smallest: float
    verdict: str

    def loses(self, least: float) -> bool:
        """Whether the second is surely worse, nearer to a loss of `least` than to none, and that may be the loss."""
        loss, error = abs(self.difference), self.smallest / SEEN
        return self.verdict == "worse" and loss > least / 2 and loss + 3 * error >= least


@dataclass(frozen=True)
class Measured:
    """One measure of one candidate.

    Attributes:
        values: (s,) with each seed.
        draws: (s, n) on n parts of the rows as in `scatter`, the same for all that are paired; n may be 0.
        seeds: what tells the seeds apart: candidates of the same are compared seed by seed; their places if left out.
        units: how many rows, or groups of rows, the parts are made of.
        scatters: how the measure does over rows, as in `scatter`.
    """

    values: Floats
    draws: Floats
    seeds: tuple[Hashable, ...] | None = None
    units: float = np.inf
    scatters: Scattering = "rows"

    @property
    def pairing(self) -> tuple[Hashable, ...]:
        """What is equal of candidates that are compared seed by seed."""
        return tuple(range(len(self.values))) if self.seeds is None else self.seeds


@dataclass(frozen=True)
class Error:
    """How far a difference scatters: its standard error, and the degrees of freedom that this was estimated with."""

    size: float
    freedom: float

    @classmethod
    def of(cls, first: Measured, second: Measured) -> "Error":
        """That of the means over seeds: what other rows would change, and what other seeds would."""
        of_rows = _of_rows(first, second)
        if first.draws.size and not of_rows[1]:
            return cls(np.nan, np.nan)  # seeds alone would pass over what other rows change
        parts = [of_rows, *_of_seeds(first, second)]
        known = [(variance, freedom) for variance, freedom in parts if freedom >= 1]
        total = sum(variance for variance, _ in known)
        if not known:
            return cls(np.nan, np.nan)
        # Welch and Satterthwaite
        weighted = sum(variance**2 / freedom for variance, freedom in known)
        return cls(float(np.sqrt(total)), total**2 / weighted if weighted > 0 else known[0][1])


def _of_rows(first: Measured, second: Measured) -> tuple[float, float]:
    """Variance of the difference over other rows, with its degrees of freedom.

    How far a sum of squares, or a share, scatters grows with its value, and does so by luck too. That of its root, or
    of its logarithm, does not: what is between these is judged, and a difference is that times how steep the scale is.
    """
    means = [each.draws.mean(axis=0) for each in (first, second)]
    scatters = usable(first.scatters, *means, first.values.mean(), second.values.mean())
    draws = [on_scale(each, scatters) for each in means]
    times = steepness(float(first.values.mean()), float(second.values.mean()), scatters)
    variance, freedom = scatter(draws[1] - draws[0], min(first.units, second.units), scatters, values=2)
    return times**2 * variance, freedom


def _of_seeds(first: Measured, second: Measured) -> Iterator[tuple[float, float]]:
    """Variances of the difference that seeds show, with their degrees of freedom; of one seed alone, nothing."""
    a, b = first.values, second.values
    if first.pairing == second.pairing and len(a) > 1:
        yield float((b - a).var(ddof=1)) / len(a), len(a) - 1.0
        return
    if (
        min(len(a), len(b)) == 1 < max(len(a), len(b))
    ):  # one seed scatters as the other's do: one estimate, used once
        many = max(a, b, key=len)
        yield float(many.var(ddof=1)) * (1 / len(a) + 1 / len(b)), len(many) - 1.0
        return
    for each in (a, b):
        if len(each) > 1:
            yield float(each.var(ddof=1)) / len(each), len(each) - 1.0


def differences(
    measured: Mapping[str, Mapping[str, Measured]],
    names: Sequence[str],
    higher_is_better: Mapping[str, bool],
    margin: float = 0.0,
) -> Iterator[Difference]:
    """All pairs of candidates by each measure that all of them have.

    Args:
        measured: measure -> candidate -> its numbers.
        names: of the candidates, in their order.
        higher_is_better: of each measure.
        margin: differences within it count as none.

    >>> none = np.empty((4, 0))
    >>> old, new = (Measured(np.array(values), none) for values in ([0.5, 0.6, 0.4, 0.5], [0.7, 0.8, 0.7, 0.7]))
    >>> (only,) = differences({"accuracy": {"old": old, "new": new}}, ["old", "new"], {"accuracy": True})
    >>> only.verdict, round(only.difference, 3)
    ('better', 0.225)
    """
    from scipy.stats import t

    rows = []
    for measure, of_each in measured.items():
        for first, second in combinations(names, 2):
            pair = of_each[first], of_each[second]
            means = float(pair[0].values.mean()), float(pair[1].values.mean())
            difference, error = means[1] - means[0], Error.of(*pair)
            if difference and not pair[0].draws.size and error.size <= ROUNDING * max(1.0, *map(abs, means)):
                error = Error(np.nan, np.nan)  # few seeds tie by chance, which is no proof of a difference
            p = 2 * t.sf(abs(difference) / error.size, error.freedom) if error.size > 0 else float(difference == 0)
            rows.append((measure, first, second, means, difference, error, np.nan if np.isnan(error.size) else p))
    corrected = holm([row[-1] for row in rows]) if rows else np.empty(0)
    for (measure, first, second, means, difference, error, p), p_holm in zip(rows, corrected, strict=True):
        half, narrow = (error.size * t.ppf(share, error.freedom) for share in (1 - LEVEL / 2, 1 - LEVEL))
        half, narrow = (half, narrow) if error.size > 0 else (error.size, error.size)
        verdict = "undecided"
        if margin and abs(difference) + narrow < margin:
            verdict = "equal"
        elif p_holm < LEVEL and abs(difference) > margin:
            verdict = "better" if (difference > 0) == higher_is_better[measure] else "worse"
        yield Difference(
            measure,
            first,
            second,
            means,
            difference,
            low=float(difference - half),
            high=float(difference + half),
            p=float(p),
            p_holm=float(p_holm),
            smallest=SEEN * error.size,
            verdict=verdict,
        )
