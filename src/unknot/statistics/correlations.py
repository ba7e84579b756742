"""Pearson and Spearman correlations between the columns of a table of models, with p-values and intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from math import lgamma
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.ranks import average_ranks
from unknot.reading.arrays import as_array
from unknot.statistics.columns import chosen, columns_of
from unknot.statistics.resamples import (
    Bootstrap,
    Bootstraps,
    interval,
    ranks,
    resamples,
    seeded,
    weighted_correlation,
)

if TYPE_CHECKING:
    import pandas as pd

Method = Literal["pearson", "spearman"]
Correction = Literal["none", "holm"]

FEWEST = 3  # models a correlation may rest on
EXACT = 8  # up to so many models all orders are counted: 40,320


@dataclass(frozen=True)
class Correlation:
    """A correlation and how far to trust it.

    Attributes:
        r: the coefficient; NaN where `note` says why.
        p: two-sided p-value of no association.
        low: lower end of the bootstrap interval.
        high: upper end.
        n: how many models have both values.
        p_from: "t" (Student's t with n - 2 degrees of freedom) or "exact" (all orders counted).
        note: why something is NaN, else "".
    """

    r: float
    p: float
    low: float
    high: float
    n: int
    p_from: str = ""
    note: str = ""


def correlation(
    first: Any, second: Any, *, method: Method = "spearman", bootstraps: Bootstraps = 1000
) -> Correlation:
    """How closely two scores of the same models go together, over the models that have both.

    r = cov(x, y) / (sd(x) sd(y)), of the values (Pearson) or of their ranks, ties averaged (Spearman). In [-1, 1].
    p: t = r sqrt((n - 2) / (1 - r^2)) against Student's t with n - 2 degrees of freedom. It is exact for Pearson where
    the values are normal, an approximation for Spearman. For Spearman with at most 8 models, or in perfect order, it
    is instead the share of all n! pairings with |r| at least as large: where four models are in the same order t says
    p = 0, counting says 1/12.
    low, high: percentiles of r over resamples of the models. Narrow with fewer than about 20 models.

    Edge cases: fewer than 3 models, a score that is the same for all, an infinite score (Pearson): NaN and a note.
    Resamples in which a score does not vary are left out; no interval where they are the majority.
    Reference: Kendall & Gibbons 1990, Rank Correlation Methods; Efron & Tibshirani 1993, An Introduction to the
    Bootstrap, chapter 13.

    Args:
        first: (m,) scores; NaN where a model has none.
        second: (m,) scores of the same models.
        method: "pearson" or "spearman".
        bootstraps: resamples; 0 for no interval, or a `Bootstrap`.

    >>> outcome = correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], bootstraps=0)
    >>> round(outcome.r, 6), round(outcome.p, 4), outcome.n, outcome.p_from
    (0.8, 0.1333, 5, 'exact')
    """
    x, y = _pair(first, second)
    check_known("correlation", method, ("pearson", "spearman"))
    return _correlation(x, y, method, seeded(bootstraps))


def correlations(
    table: "pd.DataFrame | Mapping[str, Any]",
    columns: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    *,
    method: Method = "spearman",
    bootstraps: Bootstraps = 1000,
    correction: Correction = "none",
) -> "pd.DataFrame":
    """The correlation of every pair of columns, one row a pair.

    Each pair rests on the models that have both scores. With `correction="holm"`, `p_adjusted` allows for all
    tests of the table (Holm); otherwise it repeats p.

    Args:
        table: pandas table with one row a model, or column name -> scores; columns of words are left out.
        columns: whose correlations; all by default.
        against: with which other columns, tasks say; by default with each other.
        method: "pearson" or "spearman".
        bootstraps: resamples for the intervals; 0 for none, or a `Bootstrap`. None depends on the other columns.
        correction: "none" or "holm".

    Returns:
        Table with first, second, r, p, p_adjusted, low, high, n, method, p_from, note.

    >>> table = {"mig": [0.1, 0.2, 0.3, 0.4], "sap": [0.2, 0.1, 0.3, 0.5], "flat": [1.0, 1.0, 1.0, 1.0]}
    >>> pairs = correlations(table, bootstraps=0)
    >>> pairs[["first", "second", "r", "n"]]
      first second    r  n
    0   mig    sap  0.8  4
    1   mig   flat  NaN  4
    2   sap   flat  NaN  4
    >>> pairs["note"][1]
    'flat is the same for all models'
    """
    import pandas as pd

    scores = columns_of("correlations", table)
    names = chosen(scores, columns)
    if against is None:
        pairs = list(combinations(names, 2))
    else:
        others = chosen(scores, against)
        pairs = list({frozenset((a, b)): (a, b) for a in names for b in others if a != b}.values())
    if not pairs:
        raise UnknotError(f"correlations: the columns {', '.join(names)} make no pair; name at least two.")
    check_known("correction", correction, ("none", "holm"))
    bootstrap, rows = seeded(bootstraps), []
    for a, b in pairs:
        c = correlation(scores[a], scores[b], method=method, bootstraps=bootstrap)
        note = c.note.replace("the first score", a).replace("the second score", b)
        rows.append((a, b, c.r, c.p, c.p, c.low, c.high, c.n, method, c.p_from, note))
    names_of = ["first", "second", "r", "p", "p_adjusted", "low", "high", "n", "method", "p_from", "note"]
    frame = pd.DataFrame(rows, columns=names_of)
    if correction == "holm":
        frame["p_adjusted"] = holm(frame["p"])
    return frame


def matrix(table: "pd.DataFrame", value: str = "r") -> "pd.DataFrame":
    """A column of `correlations` as a square table, for a heat map; r is 1 on the diagonal, other values are NaN.

    >>> matrix(correlations({"a": [1, 2, 3], "b": [1, 3, 2]}, bootstraps=0))
         a    b
    a  1.0  0.5
    b  0.5  1.0
    """
    import pandas as pd

    names = list(dict.fromkeys([*table["first"], *table["second"]]))
    square = pd.DataFrame(np.nan, index=names, columns=names)
    for a, b, v in zip(table["first"], table["second"], table[value], strict=True):
        square.loc[a, b] = square.loc[b, a] = v
    if value == "r":
        for name in names:
            square.loc[name, name] = 1.0
    return square


def holm(p: Any) -> Floats:
    """p-values (k,) that allow for k tests: the chance of one false alarm among all stays below the level.

    p_(i) -> max over j <= i of min(1, (k - j + 1) p_(j)), in rising order. NaN stays NaN and is not counted.
    Reference: Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Statist. 6.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(6).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    values = np.array(as_array(p), dtype=np.float64)
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.argsort(values[present], kind="stable")]
    steps = np.arange(len(order), 0, -1)
    values[order] = np.minimum(1.0, np.maximum.accumulate(steps * values[order]))
    return values


def student_p(t: float, df: int) -> float:
    """Two-sided p-value of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def _pair(first: Any, second: Any) -> tuple[Floats, Floats]:
    x, y = (np.asarray(as_array(v), dtype=np.float64) for v in (first, second))
    if x.ndim != 1 or x.shape != y.shape:
        raise UnknotError(
            f"correlation: scores have shapes {x.shape} and {y.shape}; each needs one score a model."
        )
    both = ~(np.isnan(x) | np.isnan(y))
    return x[both], y[both]


def _correlation(x: Floats, y: Floats, method: Method, bootstrap: Bootstrap) -> Correlation:
    nan, n = float("nan"), len(x)
    note = no_value(x, y, method)
    if note:
        return Correlation(nan, nan, nan, nan, n, note=note)
    x, y = comparable(x, method), comparable(y, method)
    r = float(weighted_correlation(x, y, np.ones((1, n)))[0])
    if method == "spearman" and n <= EXACT:
        p, p_from = _exact_p(x, y, r), "exact"
    elif method == "spearman" and abs(r) > 1 - 1e-12:
        p, p_from = _perfect_p(x), "exact"
    else:
        p, p_from = (student_p(r * np.sqrt((n - 2) / (1 - r * r)), n - 2) if abs(r) < 1 else 0.0), "t"
    if bootstrap.times == 0:
        return Correlation(r, p, nan, nan, n, p_from)
    low, high = interval(resampled(x, y, method, bootstrap), bootstrap.level)
    note = "no interval: a score does not vary in most resamples" if np.isnan(low) else ""
    return Correlation(r, p, low, high, n, p_from, note)


def no_value(x: Floats, y: Floats, method: Method) -> str:
    """Why these scores have no correlation, else ""."""
    if len(x) < FEWEST:
        return f"{len(x)} model(s) have both scores; {FEWEST} are needed"
    for which, column in (("first", x), ("second", y)):
        if method == "pearson" and np.isinf(column).any():
            return f"the {which} score is infinite for a model; rank correlation allows that"
        tolerance = 1e-12 * np.abs(column).max() if method == "pearson" else 0.0
        if column.min() == column.max() or np.ptp(column) <= tolerance:
            return f"the {which} score is the same for all models"
    return ""


def comparable(column: Floats, method: Method) -> Floats:
    """Ranks for Spearman; for Pearson values brought to mean 0 and size 1, which keeps squares within range."""
    if method == "spearman":
        return average_ranks(column[:, None])[:, 0]
    centred = column - column.mean()
    result: Floats = centred / np.abs(centred).max()
    return result


def resampled(x: Floats, y: Floats, method: Method, bootstrap: Bootstrap) -> Floats:
    """The correlation in each resample."""
    blocks = []
    for counts in resamples(len(x), bootstrap):
        pair = (ranks(x, counts), ranks(y, counts)) if method == "spearman" else (x, y)
        blocks.append(weighted_correlation(*pair, counts))
    return np.concatenate(blocks)


def _exact_p(x: Floats, y: Floats, r: float) -> float:
    unit_x, unit_y = ((v - v.mean()) / np.linalg.norm(v - v.mean()) for v in (x, y))
    all_r = unit_x[_orders(len(x))] @ unit_y
    return float(np.mean(np.abs(all_r) >= abs(r) - 1e-9))


def _perfect_p(x: Floats) -> float:
    """Share of orders that leave the ranks as they are or turn them round: 2 / n! without ties."""
    ties = np.unique(x, return_counts=True)[1]
    return float(2 * np.exp(sum(lgamma(t + 1) for t in ties) - lgamma(len(x) + 1)))


@lru_cache(maxsize=EXACT)
def _orders(n: int) -> Ints:
    return np.array(list(permutations(range(n))), dtype=np.int64)
