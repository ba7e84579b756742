"""How far a number would scatter on other rows, told from its values on parts of these."""

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.score import Scattering

LEAST_UNITS = 4  # rows, or groups of rows, below which nothing is told of others


def scatter(draws: Floats, units: float = np.inf, scatters: Scattering = "rows") -> tuple[float, float]:
    """Variance of a value of all rows over other rows like these, and the degrees of freedom it was estimated with.

    Rows are split into a third and the other two, again and again. A value of n rows has a linear part, whose variance
    falls as 1 / n, here s; one of second order, whose variance falls as 1 / n², here v; and one that no two sets of
    rows share, w: that of bins that follow extremes, of votes, of a lattice. Over splits, values of a third vary by
    V1 = 2s + 8v + w and those of two thirds by V2 = s/2 + 5v/4 + w; their covariance is -C = -(s + v). What is
    wanted, s + v + w, is therefore (8 V2 + 5 C - V1) / 7. Where s comes out below v, it is taken for none, and v + w is
    (20 V2 - 12 C + V1) / 21: the estimate of s grows with the value itself there, and a ratio of value and error
    would stay small however large the value. No mixture is below 4/5 V2, nor 2/3 V2 of held-out
    rows; estimates from few splits may be, by luck, and at least 4/7 V2 is taken.

    Of a mean over held-out rows, what no two sets share falls as 1 / n too: it is 3w in V1 and 3w/2 in V2, so that
    s + v + w is (8 V2 + 7 C - V1) / 9 and v + w is (4 V2 - 4 C + V1) / 9. A value that follows the largest of n rows
    varies on others by e, whatever n, and shares that largest one with most parts of these: over splits, V2 is
    0.376e and C is 0.414e (by Gumbel's law: gaps between the largest are independent, and which of them a part holds
    is geometric). V2 + 3/2 C is e + w, and twice s.

    Args:
        draws: (2 n,) values of n splits in turn: of a third of the rows, of the others, of the next third; splits of
            which one is NaN are left out.
        units: how many rows there are, or groups of rows that are drawn together: they know one degree of freedom
            less, however often they are split.
        scatters: as in the facts of a metric: "rows", "held out" or "extremes".

    Returns:
        Both; 0 degrees of freedom where fewer than two splits, or fewer than half of them, have values, or units are
        fewer than four (`untold` says which).

    >>> from itertools import permutations
    >>> rows = np.array([1.0, 2.0, 6.0])
    >>> means = [part for first, *others in permutations(rows) for part in (first, np.mean(others))]
    >>> f"{scatter(np.array(means))[0] * 5 / 6:.9f} {rows.var(ddof=1) / 3:.9f}"  # of all six splits there are
    '2.333333333 2.333333333'
    """
    splits = _splits(draws)
    n = len(splits)
    if n < 2 or n < len(draws) // 2 / 2 or units < LEAST_UNITS:
        return 0.0, 0.0
    third, others = (splits - splits.mean(axis=0)).T
    terms = _terms(third**2, others**2, -third * others, scatters)
    variance, error = float(terms.sum()) / (n - 1), float(terms.var(ddof=1)) / n
    freedom = 2 * variance**2 / error if error > 0 else n - 1.0
    return variance, float(np.clip(freedom, 1.0, min(n, units) - 1.0))


def _terms(v1: Floats, v2: Floats, c: Floats, scatters: Scattering) -> Floats:
    """What each split adds to the variance, of what it adds to V1, V2 and C."""
    if scatters == "extremes":
        return max(v2 + 1.5 * c, v2, key=np.sum)
    if scatters == "held out":
        every, second = (8 * v2 + 7 * c - v1) / 9, (4 * v2 - 4 * c + v1) / 9
    else:
        every, second = (8 * v2 + 5 * c - v1) / 7, (20 * v2 - 12 * c + v1) / 21
    first, both = (every - second).sum(), c.sum()  # s, and s + v
    return max(second if first < both / 2 else every, 4 / 7 * v2, key=np.sum)


def untold(units: float) -> str:
    """Why `scatter` knows no degrees of freedom, as a clause."""
    if units < LEAST_UNITS:
        return f"{units:g} groups or rows, training and held-out ones apart, are too few: {LEAST_UNITS} are needed"
    return "fewer than half of the splits of the rows have a value"


def of_half(draws: Floats) -> float:
    """The value of half of the rows, from those of splits as in `scatter`; NaN where there are none.

    In the mean of a third and twice the others, what rows add one by one falls out; a bias that falls as 1 / rows is
    there what it is of half of the rows.
    """
    splits = _splits(draws)
    return float(np.mean(splits @ [1 / 3, 2 / 3])) if len(splits) else np.nan


def _splits(draws: Floats) -> Floats:
    """Values (n, 2) of the splits of which both parts have one."""
    splits = draws[: len(draws) // 2 * 2].reshape(-1, 2)
    return splits[np.isfinite(splits).all(axis=1)]
