"""The covariance of latents, made once for all metrics that look at nothing else of them."""

from typing import Any, NamedTuple

import numpy as np

from unknot.metrics.arrays import WIDE, Bools, Floats
from unknot.metrics.latents import Checked, dead
from unknot.processes.threads import one_thread, side_by_side

CHUNK = 16_384  # rows that the cache holds
SUMS = 2  # of rows, each by a thread of its own; as many on every machine, so that rounding is the same


class Covariance(NamedTuple):
    """Second moments of the latents that vary."""

    matrix: Floats  # (d', d') with ddof 1
    mean: Floats  # (d',)
    gone: Bools  # (d,) which latents do not vary


def covariance(latents: Any, array: Floats) -> Covariance:
    """That of latents as a metric was given them, and as the array it made of them."""
    return latents.once(_covariance) if isinstance(latents, Checked) else _covariance(array)


def _covariance(z: Floats) -> Covariance:
    gone = dead(z)
    z = z[:, ~gone] if gone.any() else z
    mean = z.mean(axis=0)
    starts = range(0, len(z), CHUNK)

    def products(own: range) -> Floats:
        total = np.zeros((z.shape[1], z.shape[1]))
        for start in own:
            centred = z[start : start + CHUNK] - mean
            total += centred.T @ centred
        return total

    with one_thread():
        wide = z.shape[1] > WIDE
        sums = side_by_side(products, [starts[i::SUMS] for i in range(SUMS)]) if wide else [products(starts)]
    return Covariance(sum(sums[1:], start=sums[0]) / (len(z) - 1), mean, gone)
