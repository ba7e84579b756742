"""One-sample test of a proportion against one half, and the interval of a proportion."""

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Proportion:
    """How often something happened, and whether it happened more often than by tossing a coin.

    Attributes:
        p_hat: share of successes.
        n: trials.
        z: (p_hat - 1/2) / sqrt(1 / (4 n)).
        p_value: one-sided, of a share as large under one half.
        passed: whether p_value < alpha.
        interval: Wilson's, 95 %, which keeps a width at shares of 0 and 1.
    """

    p_hat: float
    n: int
    z: float
    p_value: float
    passed: bool
    interval: tuple[float, float]


def proportion_test(successes: int, n: int, *, alpha: float = 0.005) -> Proportion:
    """Test whether successes are more frequent than one in two.

    Counts of several seeds can be added first, which pools them.

    >>> proportion_test(852, 1600).passed, proportion_test(851, 1600).passed  # the threshold lies at 0.5322
    (True, False)
    """
    p = successes / n
    z = (p - 0.5) / math.sqrt(0.25 / n)
    normal = NormalDist()
    return Proportion(
        p, n, z, 0.5 * math.erfc(z / math.sqrt(2)), z > normal.inv_cdf(1 - alpha), _wilson(p, n, normal)
    )


def _wilson(p: float, n: int, normal: NormalDist) -> tuple[float, float]:
    q = normal.inv_cdf(0.975)
    middle = (p + q * q / (2 * n)) / (1 + q * q / n)
    half = q * math.sqrt(p * (1 - p) / n + q * q / (4 * n * n)) / (1 + q * q / n)
    return max(0.0, middle - half), min(1.0, middle + half)
