"""Is one metric more closely related to a task than another? Two correlations on the same models are not independent.

All three tests take the correlations r1 and r2 of two metrics with the task, the correlation r12 of the two metrics
with each other, and the number n of models; the hypothesis is that r1 = r2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Floats
from unknot.statistics.columns import chosen, columns_of
from unknot.statistics.correlations import Correction, Method, comparable, holm, no_value, student_p
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

FEWEST = 4  # models: three degrees of freedom go to the correlations


@dataclass(frozen=True)
class DifferenceTest:
    """The outcome of a test that two correlations are equal.

    Attributes:
        statistic: t or z; positive where the first correlation is the larger.
        p: two-sided p-value.
        df: degrees of freedom of t; None for z.
    """

    statistic: float
    p: float
    df: int | None = None


def williams_t(r1: float, r2: float, r12: float, n: int) -> DifferenceTest:
    """Williams' t, the usual choice with few models.

    t = (r1 - r2) sqrt( (n - 1)(1 + r12) / (2 |R| (n - 1) / (n - 3) + m^2 (1 - r12)^3) ),  n - 3 degrees of freedom,
    |R| = 1 - r1^2 - r2^2 - r12^2 + 2 r1 r2 r12, the determinant of the three correlations, and m = (r1 + r2) / 2.

    Edge cases: metrics that are copies of each other (r12 = 1) cannot differ: an error.
    Reference: Williams 1959, The Comparison of Regression Variables, J. R. Statist. Soc. B 21; Steiger 1980, Tests
    for Comparing Elements of a Correlation Matrix, Psychological Bulletin 87, eq. 7, who recommends it.

    >>> outcome = williams_t(0.5, 0.4, 0.1, 103)
    >>> round(outcome.statistic, 4), round(outcome.p, 4), outcome.df
    (0.8913, 0.3749, 100)
    """
    determinant = _checked("williams_t", r1, r2, r12, n)
    mean = (r1 + r2) / 2
    below = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r12) ** 3
    if below <= 0:
        raise UnknotError(
            f"williams_t: correlations {r1}, {r2} and {r12} leave nothing to chance; the test does not exist for them."
        )
    t = (r1 - r2) * np.sqrt((n - 1) * (1 + r12) / below)
    return DifferenceTest(float(t), student_p(t, n - 3), n - 3)


def steiger_z(r1: float, r2: float, r12: float, n: int) -> DifferenceTest:
    """Steiger's z, on Fisher-transformed correlations with their covariance taken at the mean of the two.

    z = (atanh r1 - atanh r2) sqrt(n - 3) / sqrt(2 - 2 s),  s = psi / (1 - m^2)^2,  m = (r1 + r2) / 2,
    psi = r12 (1 - 2 m^2) - m^2 (1 - 2 m^2 - r12^2) / 2.

    Edge cases: a correlation of 1 or -1 has no Fisher transform: an error.
    Reference: Steiger 1980, Psychological Bulletin 87, eqs. 10 and 14 (a change to Dunn & Clark 1969).
    """
    _checked("steiger_z", r1, r2, r12, n)
    squared = ((r1 + r2) / 2) ** 2
    psi = r12 * (1 - 2 * squared) - squared * (1 - 2 * squared - r12**2) / 2
    return _z("steiger_z", r1, r2, n, 2 - 2 * psi / (1 - squared) ** 2 if squared < 1 else 0.0)


def meng_z(r1: float, r2: float, r12: float, n: int) -> DifferenceTest:
    """Meng, Rosenthal & Rubin's z, on Fisher-transformed correlations.

    z = (atanh r1 - atanh r2) sqrt( (n - 3) / (2 (1 - r12) h) ),  h = (1 - f q) / (1 - q),
    q = (r1^2 + r2^2) / 2,  f = min(1, (1 - r12) / (2 (1 - q))).

    Edge cases: a correlation of 1 or -1 has no Fisher transform: an error.
    Reference: Meng, Rosenthal & Rubin 1992, Comparing Correlated Correlation Coefficients, Psychological Bulletin 111,
    eqs. 1-3.
    """
    _checked("meng_z", r1, r2, r12, n)
    q = (r1**2 + r2**2) / 2
    f = min(1.0, (1 - r12) / (2 * (1 - q))) if q < 1 else 1.0
    return _z("meng_z", r1, r2, n, 2 * (1 - r12) * (1 - f * q) / (1 - q) if q < 1 else 0.0)


TESTS = {"williams": williams_t, "steiger": steiger_z, "meng": meng_z}
Test = Literal["williams", "steiger", "meng"]


def compare_correlations(
    table: "pd.DataFrame | Mapping[str, Any]",
    task: str,
    metrics: Sequence[str] | None = None,
    *,
    method: Method = "spearman",
    test: Test = "williams",
    flip: Sequence[str] = (),
    bootstraps: Bootstraps = 1000,
    correction: Correction = "none",
) -> "pd.DataFrame":
    """For every two metrics, whether the first is more closely related to the task than the second.

    Each row rests on the models that have the task and both metrics. The tests assume normal values; on rank
    correlations they are an approximation. The bootstrap interval of the difference resamples models and assumes
    neither.

    Args:
        table: pandas table with one row a model, or column name -> scores.
        task: the column that metrics should predict.
        metrics: the columns compared; all others by default.
        method: "pearson" or "spearman".
        test: "williams", "steiger" or "meng".
        flip: columns in which lower is better; their sign is turned first, so that metrics compete on equal terms.
        bootstraps: resamples for the interval of r1 - r2; 0 for none, or a `Bootstrap`.
        correction: "none" or "holm", over all rows.

    Returns:
        Table with first, second, r1, r2, r12, difference, statistic, p, p_adjusted, low, high, n, test, method, note.
    """
    import pandas as pd

    bootstrap = seeded(bootstraps)
    check_known("test", test, TESTS)
    check_known("correlation", method, get_args(Method))
    check_known("correction", correction, get_args(Correction))
    scores = columns_of("compare_correlations", table)
    chosen(scores, [task, *flip])
    names = [name for name in chosen(scores, metrics) if name != task]
    if len(names) < 2:
        raise UnknotError(
            f"compare_correlations: {len(names)} metric(s) beside '{task}'; it takes two to compare."
        )
    signed = {name: -column if name in flip else column for name, column in scores.items()}
    rows = []
    for a, b in combinations(names, 2):
        triple = np.stack([signed[task], signed[a], signed[b]])
        triple = triple[:, ~np.isnan(triple).any(axis=0)]
        row = _compare(triple, (task, a, b), method, test, bootstrap)
        note = row.pop("note")
        rows.append({"first": a, "second": b, **row, "test": test, "method": method, "note": note})
    frame = pd.DataFrame(rows)
    frame.insert(8, "p_adjusted", holm(frame["p"]) if correction == "holm" else frame["p"])
    return frame


def _compare(
    triple: Floats, names: tuple[str, str, str], method: Method, test: Test, bootstrap: Bootstrap
) -> dict[str, Any]:
    nan, n = float("nan"), triple.shape[1]
    row: dict[str, Any] = dict.fromkeys(("r1", "r2", "r12", "difference", "statistic", "p", "low", "high"), nan)
    row |= {"n": n, "note": ""}
    if n < FEWEST:
        return row | {"note": f"{n} model(s) have all three scores; {FEWEST} are needed"}
    for name, column in zip(names, triple, strict=True):
        reason = no_value(column, column, method)
        if reason:
            return row | {"note": reason.replace("the first score", name)}
    y, a, b = (comparable(column, method) for column in triple)
    r1, r2, r12 = (float(weighted_correlation(u, v, np.ones((1, n)))[0]) for u, v in ((y, a), (y, b), (a, b)))
    row |= {"r1": r1, "r2": r2, "r12": r12, "difference": r1 - r2}
    try:
        outcome = TESTS[test](r1, r2, r12, n)
        row |= {"statistic": outcome.statistic, "p": outcome.p}
    except UnknotError as error:
        row["note"] = str(error)
    if bootstrap.times:
        differences = []
        for counts in resamples(n, bootstrap):
            u, v, w = (ranks(c, counts) for c in (y, a, b)) if method == "spearman" else (y, a, b)
            differences.append(weighted_correlation(u, v, counts) - weighted_correlation(u, w, counts))
        row["low"], row["high"] = interval(np.concatenate(differences), bootstrap.level)
    return row


def _checked(who: str, r1: float, r2: float, r12: float, n: int) -> float:
    """The determinant of the three correlations."""
    if n < FEWEST:
        raise UnknotError(f"{who}: n is {n}; {FEWEST} models are the least.")
    if max(abs(r1), abs(r2), abs(r12)) > 1:
        raise UnknotError(f"{who}: correlations are {r1}, {r2} and {r12}; expected numbers from -1 to 1.")
    determinant = 1 - r1**2 - r2**2 - r12**2 + 2 * r1 * r2 * r12
    if determinant < -1e-9:
        raise UnknotError(f"{who}: no three variables have the correlations {r1}, {r2} and {r12} with each other.")
    if r12 > 1 - 1e-12:
        raise UnknotError(
            f"{who}: the two metrics are copies of each other (r12 is 1); there is nothing to compare."
        )
    return max(determinant, 0.0)


def _z(who: str, r1: float, r2: float, n: int, variance: float) -> DifferenceTest:
    from scipy.special import ndtr

    if max(abs(r1), abs(r2)) > 1 - 1e-12 or variance <= 0:
        raise UnknotError(f"{who}: correlations are {r1} and {r2}; the test does not exist for a perfect one.")
    z = (np.arctanh(r1) - np.arctanh(r2)) * np.sqrt((n - 3) / variance)
    return DifferenceTest(float(z), float(2 * ndtr(-abs(z))))
