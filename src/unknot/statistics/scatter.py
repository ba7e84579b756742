"""How far a number would scatter on other rows, told from its values on parts of these."""

from typing import Any

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.score import Scattering

LEAST_UNITS = 4  # rows, or groups of rows, below which nothing is told of others
ORDERS = np.geomspace(1, 16, 61)  # of what a value is made of: 1 adds up over rows, 2 is made of pairs of them
OF_THIRD, OF_OTHERS = 1 - 3**-ORDERS, 1 - 1.5**-ORDERS  # shares of its variance that a whole leaves to its parts
TINY = 1e-9  # the least share that is told from none
STEP = 1e-3  # share by which variances are moved to see what a law makes of it
LEAST = 1e-12  # share of V2 that a covariance has at least
OF_V1 = 1 / 26  # share of V1 that a variance has at least: that of a value of order 3, the highest there may be
OF_EXTREMES = {1: 4.0, 2: 12.0}  # degrees of freedom that few rows tell, of one value and of a difference of two


def scatter(
    draws: Floats, units: float = np.inf, scatters: Scattering = "rows", values: int = 1
) -> tuple[float, float]:
    """Variance of a value of all rows over other rows like these, and the degrees of freedom it was estimated with.

    Rows are split into a third and the other two, again and again. Over splits, values of a third vary by V1, those of
    the others by V2, and their covariance is -C. Two things are not known of a value: how its variance g falls with
    the number of rows, as n to the power of -f, and its order k: a mean has 1, the square of a mean that is nearly 0
    has 2, and what hangs on bins and extremes lies between or above. A value of order k shares p^k of the variance of
    a part of p n rows with that part, so that

        V1 = 3^f (1 - 3^-k) g,    V2 = 1.5^f (1 - 1.5^-k) g,    C = 4.5^(f / 2) (2 / 9)^(k / 2) g

    and three numbers tell f, k and g. None is taken to grow with the number of rows (f >= 0), nor to have an order
    below 1. What is made of several such parts comes out nearly right (docs/validity.md has how nearly).

    Luck with held-out rows would have an endless order. Beside a mean it seems to have one of 2, so that metrics that
    hold out rows say so: with s of order 1, v of order 2 and w that no two sets of rows share, V1 = 2s + 8v + 3w,
    V2 = s/2 + 5v/4 + 3w/2 and C = s + v, and s + v + w is (8 V2 + 7 C - V1) / 9; of few splits at least 4/7 V2.
    A value that divides by the largest of n rows varies on others by e, whatever n. V2 is 0.376e and C is 0.414e (by
    Gumbel's law: gaps between the largest are independent, and which of them a part holds is geometric). V2 + 3/2 C is
    e, and twice s: the law is nearer on average, but so few rows tell it that it is often far too small. For the same
    reason splits know more degrees of freedom than there are: as many are taken as made simulated intervals right.

    Args:
        draws: (2 n,) values of n splits in turn: of a third of the rows, of the others, of the next third; splits of
            which one is NaN are left out.
        units: how many rows there are, or groups of rows that are drawn together: they know one degree of freedom
            less, however often they are split.
        scatters: as in the facts of a metric; the draws are on the scale of such values (`on_scale`).
        values: whether the draws are of one value, or of a difference of 2.

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
    products = np.stack([third**2, others**2, -third * others])
    terms = _weights(products.sum(axis=1) / (n - 1), scatters) @ products
    variance, error = float(terms.sum()) / (n - 1), float(terms.var(ddof=1)) / n
    freedom = 2 * variance**2 / error if error > 0 else n - 1.0
    most = OF_EXTREMES[values] if scatters == "extremes" else np.inf
    return variance, float(np.clip(freedom, 1.0, min(n - 1.0, units - 1.0, most)))


def _weights(seen: Floats, scatters: Scattering) -> Floats:
    """What V1, V2 and C are multiplied by to give the variance, which is their sum then."""
    known = {"held out": ((-1 / 9, 8 / 9, 7 / 9), (0, 4 / 7, 0)), "extremes": ((0, 1, 3 / 2), (0, 1, 0))}
    alone = (0, 1, 0)  # where one of the parts never varies
    ways = known.get(scatters) or ((alone if min(seen[:2]) <= 0 else _by_law(seen)),)
    return max((np.array(way) for way in (*ways, (OF_V1, 0, 0))), key=lambda weights: float(weights @ seen))


def _by_law(seen: Floats) -> Floats:
    """What V1, V2 and C, the first two above 0, are multiplied by to give the variance of `law`."""
    seen = np.maximum(seen, LEAST * seen[1])
    up, down = (np.log([law(*(seen * factor)) for factor in 1 + step * np.eye(3)]) for step in (STEP, -STEP))
    shares = (up - down) / (np.log1p(STEP) - np.log1p(-STEP))  # by which g grows with each
    shares[1] = 1 - shares[0] - shares[2]  # it grows as all of them do
    return np.asarray(shares * law(*seen) / seen)


def law(v1: float, v2: float, c: float) -> float:
    """The variance g of `scatter`, from V1, V2 and C, all above 0.

    >>> of_a_mean, of_a_square, of_a_ratio_of_squares = (2, 1 / 2, 1), (8, 5 / 4, 1), (8 / 9, 5 / 9, 2 / 9)
    >>> [round(law(*seen), 3) for seen in (of_a_mean, of_a_square, of_a_ratio_of_squares)]
    [1.0, 1.0, 1.0]
    """
    falls = np.maximum(np.log2(v1 / v2 * OF_OTHERS / OF_THIRD), 0)  # f of each order
    together = falls / 2 * np.log(2) + ORDERS / 2 * np.log(2 / 9) - np.log(OF_OTHERS)  # log of C / V2, ever less
    variance = -falls * np.log(1.5) - np.log(OF_OTHERS)  # log of g / V2
    return v2 * float(np.exp(np.interp(-np.log(c / v2), -together, variance)))


def on_scale(values: Any, scatters: Scattering) -> Any:
    """Values on a scale on which large ones scatter as small ones do: roots of "squares", logarithms of "shares".

    Some may be just below 0 by rounding.
    """
    if scatters == "squares":
        return np.sqrt(np.maximum(values, 0.0))
    return np.log(np.maximum(values, TINY)) if scatters == "shares" else values


def off_scale(values: Any, scatters: Scattering) -> Any:
    """What is on that scale, as it was."""
    if scatters == "squares":
        return np.maximum(values, 0.0) ** 2
    return np.exp(values) if scatters == "shares" else values


def steepness(first: float, second: float, scatters: Scattering) -> float:
    """A difference between two values, for one of 1 on their scale."""
    if scatters == "squares":
        return float(on_scale(first, scatters) + on_scale(second, scatters))
    if scatters == "shares":
        return (second - first) / float(np.log(second / first)) if first != second else first
    return 1.0


def usable(scatters: Scattering, *values: Any) -> Scattering:
    """What is said of a metric's values, but for shares some of which are 0: these have no logarithm."""
    zero = scatters == "shares" and any(np.any(np.asarray(each) <= TINY) for each in values)
    return "rows" if zero else scatters


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
