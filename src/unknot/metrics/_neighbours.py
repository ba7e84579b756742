"""Mutual information of continuous latents with classes and with measurements, from distances to nearest neighbours."""

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.inputs import Rows
from unknot.metrics.kernels.information import factor_entropy, share
from unknot.metrics.latents import dead

HUGE = float(np.finfo(np.float64).max) / 4


def rows_information(who: str, rows: Rows, neighbours: int) -> tuple[Floats, Floats]:
    """MI (d, k) in nats of latents and factors, and the same as a share of all there is to know, in [0, 1].

    Of classes that is I / H. A measurement has no entropy to divide by, and its share is 1 - exp(-2 I), which is the
    R^2 of a pair that is jointly normal (Linfoot 1957, An Informational Measure of Correlation).

    Args:
        who: the metric's name, for messages.
        rows: prepared with continuous factors kept.
        neighbours: which nearest neighbour sets the scale.
    """
    if neighbours < 1:
        raise UnknotError(f"{who}: neighbours is {neighbours}; expected at least 1, such as 3.")
    rows.note_continuous("its information is that of nearest neighbours, its share 1 - exp(-2 I)")
    real, classes = np.flatnonzero(rows.continuous), np.flatnonzero(~rows.continuous)
    information, shares = (np.zeros((rows.latents.shape[1], rows.n_factors)) for _ in range(2))
    information[:, real] = measured_information(rows.latents, rows.numbers[:, real], neighbours)
    factors, sizes = rows.factors[:, classes], rows.sizes[classes]
    information[:, classes] = neighbour_information(rows.latents, factors, sizes, neighbours)
    shares[:, real] = 1 - np.exp(-2 * information[:, real])
    shares[:, classes] = share(information[:, classes], factor_entropy(factors, sizes))
    return information, shares


def measured_information(latents: Floats, numbers: Floats, neighbours: int) -> Floats:
    """MI (d, k) in nats between latents (n, d) and measurements (n, k), one pair at a time, never negative.

    I = psi(n) + mean[ psi(q) - psi(m) - psi(m') ]

    For each row, r is the distance to its nearest neighbour number `neighbours`, the larger of those along both, each
    at standard deviation 1; q, m and m' count the rows nearer than r, itself included, in both, in the latent and in
    the measurement. Without ties q is `neighbours`. Where r is 0 because values repeat, rows of equal value count.
    Reference: Kraskov et al. 2004, Estimating Mutual Information, Phys. Rev. E 69, 066138, eq. 8; ties as for classes.
    """
    from scipy.special import digamma

    from unknot.metrics.kernels.neighbours import measured_information as of_pair

    result = np.zeros((latents.shape[1], numbers.shape[1]))
    psi = np.append(0.0, digamma(np.arange(1.0, len(latents) + 1)))
    scaled = numbers / np.maximum(numbers.std(axis=0), np.finfo(float).tiny)
    ordered = np.sort(scaled, axis=0)
    for i in np.flatnonzero(~dead(latents)):
        column = latents[:, i] / latents[:, i].std()
        for j in range(numbers.shape[1]):
            order = np.lexsort((scaled[:, j], column))
            y, rising = scaled[order, j], np.ascontiguousarray(ordered[:, j])
            result[i, j] = of_pair(column[order], y, rising, neighbours, psi)
    return result


def neighbour_information(latents: Floats, factors: Ints, sizes: Ints, neighbours: int) -> Floats:
    """MI (d, k) in nats between latents (n, d) and classes (n, k), one pair at a time, never negative.

    I = psi(n) + mean[ psi(q) - psi(n_c) - psi(m) ]

    For each row, r is the distance to its nearest neighbour number `neighbours` of the same class (fewer in a small
    class); q and m count the rows nearer than r, itself included, of its class and of any class; n_c is the size of
    its class. Classes of one row are left out. Without ties q is `neighbours`. Where r is 0 because values repeat,
    q and m count the rows of equal value, which makes the estimate right for discrete latents too.
    Reference: Ross 2014, Mutual Information between Discrete and Continuous Data Sets, PLoS ONE 9(2); ties: Gao et
    al. 2017, Estimating Mutual Information for Discrete-Continuous Mixtures, arXiv:1709.06212.
    """
    result = np.zeros((latents.shape[1], len(sizes)))
    if latents.shape[1] > WIDE:
        _fill(latents, factors, sizes, neighbours, result)
        return result
    groups = [[np.flatnonzero(y == c) for c in range(size)] for y, size in zip(factors.T, sizes, strict=True)]
    for i, column in enumerate(latents.T):
        for j, members in enumerate(groups):
            result[i, j] = _pair(column, [m for m in members if len(m) > 1], neighbours)
    return result


def _fill(latents: Floats, factors: Ints, sizes: Ints, neighbours: int, result: Floats) -> None:
    """The same by compiled code, which wide codes are worth waiting for."""
    from scipy.special import digamma

    from unknot.metrics.kernels.neighbours import class_information

    psi = np.append(0.0, digamma(np.arange(1.0, len(latents) + 1)))
    classes = np.ascontiguousarray(factors.T)
    for i in range(len(result)):
        column = latents[:, i]
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        for j, size in enumerate(sizes):
            result[i, j] = class_information(ordered, classes[j][order], int(size), neighbours, psi)


def _pair(column: Floats, members: list[Ints], neighbours: int) -> float:
    from scipy.special import digamma

    if not members:
        return 0.0
    if np.abs(column).max() > HUGE:
        column = column / 4  # exactly, so that no distance overflows
    values = [np.sort(column[m]) for m in members]
    everything = np.sort(np.concatenate(values))
    total = 0.0
    for value in values:
        low, high = _ball(value, min(neighbours, len(value) - 1))
        own, m = _inside(value, value, low, high), _inside(everything, value, low, high)
        own, m = np.maximum(own, 1), np.maximum(m, 1)  # itself, where a side of the ball rounds to nothing
        total += float((digamma(own) - digamma(m) - digamma(len(value))).sum())
    return max(0.0, float(digamma(len(everything))) + total / len(everything))


def _ball(ordered: Floats, q: int) -> tuple[Floats, Floats]:
    """Ends of the open interval around each sorted value that reaches to its q-th nearest neighbour.

    The neighbours are the tightest window of q + 1 values that holds the value; the end at the q-th neighbour is
    that neighbour itself, since centre + distance could round past it.
    """
    n = len(ordered)
    radius, low, high = np.full(n, np.inf), np.empty(n), np.empty(n)
    for before in range(q + 1):
        at = np.arange(before, n - (q - before))
        left, right, centre = ordered[at - before], ordered[at + (q - before)], ordered[at]
        reach = np.maximum(centre - left, right - centre)
        better = reach < radius[at]
        at, left, right, centre, reach = at[better], left[better], right[better], centre[better], reach[better]
        radius[at] = reach
        low[at] = np.where(centre - left == reach, left, centre - reach)
        high[at] = np.where(right - centre == reach, right, centre + reach)
    return low, high


def _inside(ordered: Floats, centres: Floats, low: Floats, high: Floats) -> Ints:
    """How many sorted values lie in each open interval; those equal to the centre if the interval is a point."""
    first = np.searchsorted(ordered, low, side="right")
    last = np.searchsorted(ordered, high, side="left")
    point = np.flatnonzero(low == high)
    first[point] = np.searchsorted(ordered, centres[point], side="left")
    last[point] = np.searchsorted(ordered, centres[point], side="right")
    result: Ints = last - first
    return result
