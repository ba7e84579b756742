"""Losses of COAT and what they are by chance, for one minibatch of tuples, of flat codes and of slots."""

from typing import Literal, NamedTuple

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.slots import align, nearest_sums

Norm = Literal["squared", "l2"]
Chance = Literal["shuffle_ab", "shuffle_d"]
NOTHING = 1e-12  # a difference shorter than this share of the codes' length has no direction

Tuple4 = tuple[Floats, Floats, Floats, Floats]


def aligned(codes: Tuple4) -> Tuple4:
    """The codes of A, B, C, D as (b, d) vectors that can be compared entry by entry; slots stay (b, k, d)."""
    return codes if codes[0].ndim == 2 else align(*codes)


class Losses(NamedTuple):
    """Of each tuple of a minibatch, (b,) each."""

    distance: Floats  # |z_B - z_A + z_C - z_D|^2, or without the square
    angle: Floats  # between z_B - z_A and z_D - z_C; NaN where one of them has no direction
    longest: Floats  # length of the longest of the four codes


def losses(codes: Tuple4, norm: Norm) -> Losses:
    """The two losses of aligned codes."""
    from unknot.metrics.kernels.angles import residuals_and_angles

    square, angle, longest = np.empty((3, len(codes[0])))
    residuals_and_angles(*(flat(code) for code in codes), NOTHING, square, angle, longest)
    return Losses(square if norm == "squared" else np.sqrt(square), angle, longest)


def by_chance(
    codes: Tuple4, actual: Losses, norm: Norm, chance: Chance, include_self: bool
) -> tuple[Floats, Floats, Floats]:
    """What the two losses of each aligned tuple are with an image of a random tuple of the minibatch, (b,) each.

    The third array is the root mean square of the distance, which is about 0 where codes of all tuples are alike.
    """
    shortest = NOTHING * actual.longest
    square, angle = (_slot_chance if codes[0].ndim == 3 else _flat_chance)(codes, shortest, chance)
    if codes[0].ndim == 2:
        np.fill_diagonal(angle, actual.angle)
    if not include_self:
        np.fill_diagonal(square, np.nan)
        np.fill_diagonal(angle, np.nan)
    return _mean(square if norm == "squared" else np.sqrt(square)), _mean(angle), np.sqrt(_mean(square))


def flat(code: Floats) -> Floats:
    """Slots (b, k, d) laid side by side; vectors as they are."""
    return code.reshape(len(code), -1)


def _flat_chance(codes: Tuple4, shortest: Floats, chance: Chance) -> tuple[Floats, Floats]:
    """Squared losses [i, j] with the D of tuple j, and angles [i, j] with what `chance` takes from tuple j."""
    a, b, c, d = codes
    middle = d.mean(axis=0)  # distances by products of matrices lose digits far from the origin
    expected, d_, c_ = b - a + c - middle, d - middle, c - middle
    square = _squares(expected, d_)
    u = b - a
    long = np.linalg.norm(u, axis=1)
    if chance == "shuffle_ab":
        v = d - c
        wide = np.linalg.norm(v, axis=1)
        cosine = _ratio(v @ u.T, wide[:, None] * long[None, :])
        known = (wide > shortest)[:, None] & (long > shortest)[None, :]
    else:
        between = np.sqrt(_squares(c_, d_))
        cosine = _ratio(u @ d_.T - (u * c_).sum(axis=1)[:, None], long[:, None] * between)
        known = (long > shortest)[:, None] & (between > shortest[:, None])
    return square, np.where(known, np.arccos(np.clip(cosine, -1, 1)), np.nan)


def _slot_chance(codes: Tuple4, shortest: Floats, chance: Chance) -> tuple[Floats, Floats]:
    """The same for aligned slots, which are matched anew, two sets at a time, with those of tuple j."""
    a, b, c, d = codes
    square, between = nearest_sums(b - a + c, d, c)
    u = np.linalg.norm(flat(b - a), axis=1)
    if chance == "shuffle_d":
        return square, _law_of_cosines(square, u[:, None], np.sqrt(between), shortest[:, None])
    v = np.linalg.norm(flat(d - c), axis=1)
    apart, _ = nearest_sums(d - c, b - a)
    return square, _law_of_cosines(apart, v[:, None], u[None, :], shortest[:, None])


def _law_of_cosines(square: Floats, long: Floats, wide: Floats, shortest: Floats) -> Floats:
    """Angle between two sides of a triangle whose third side has that square."""
    known = (long > shortest) & (wide > shortest)
    # |u' - v'|^2 of the unit vectors, without the cancellation of 2 - 2 cos
    chord = np.clip(_ratio(square - (long - wide) ** 2, long * wide), 0.0, 4.0)
    angle: Floats = np.where(known, 2 * np.arctan2(np.sqrt(chord), np.sqrt(4 - chord)), np.nan)
    return angle


def _squares(x: Floats, y: Floats) -> Floats:
    squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None, :] - 2 * x @ y.T
    exact = ((x - y) ** 2).sum(axis=1)
    np.fill_diagonal(squares, exact)
    apart: Floats = np.maximum(squares, 0.0)
    return apart


def _ratio(top: Floats, bottom: Floats) -> Floats:
    top, bottom = np.broadcast_arrays(top, bottom)
    ratio: Floats = np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0)
    return ratio


def _mean(matrix: Floats) -> Floats:
    """Row means over the entries that are defined; NaN for a row without any."""
    known = np.isfinite(matrix)
    count = known.sum(axis=1)
    total = np.where(known, matrix, 0.0).sum(axis=1)
    means: Floats = np.divide(total, count, out=np.full(len(matrix), np.nan), where=count > 0)
    return means
