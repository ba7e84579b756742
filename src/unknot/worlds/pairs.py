"""Pairs of points that differ in few factors, or by small steps: what weakly supervised models learn from.

The first point of a pair is uniform over a whole grid, over the training part of a split, or over the rows of an
incomplete world; the second never leaves that part either.

    one_factor   one factor changes                      (Ada-GVAE)
    k_factors    k factors change, or a random number    (Ada-GVAE with unknown k)
    laplace      every factor moves, mostly by little    (SlowVAE, PCL)
"""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning, unknown
from unknot.factors import Classes, FactorSpace
from unknot.worlds.splits.regions import Listed, Mask, Region, whole
from unknot.worlds.splits.split import Split

Where = FactorSpace | Split | Listed
Compat = Literal["locatello"]
_ENTRIES = 2**21  # of the largest working array; batches are cut so that it stays in the cache's reach


class Pairs(NamedTuple):
    """Pairs of points.

    Attributes:
        first: (n, n_factors) classes.
        second: (n, n_factors) classes.
        changed: (n, n_factors) where the two differ.
    """

    first: Classes
    second: Classes
    changed: Mask


def one_factor(where: Where, n: int, rng: np.random.Generator, *, compat: Compat | None = None) -> Pairs:
    """Pairs that differ in exactly one factor.

    The factor is uniform over those that can change at the first point, its new class uniform over the others it
    may take there. A point that has no neighbour in `where` is paired with itself, with a warning.

    Args:
        where: a grid, a split (its training part) or listed rows.
        n: how many pairs.
        rng: decides everything.
        compat: "locatello" draws as the reference library does: the factor from all, the class from all *including
            the old one*, so that a share of mean_i 1/n_i of the pairs are identical (dSprites 11.8 %).

    Reference: Locatello et al. 2020, Weakly-Supervised Disentanglement Without Compromises, arXiv:2002.02886; the
    default is the reading of Schott et al. 2022, arXiv:2107.08221.

    >>> from unknot.factors import space
    >>> pairs = one_factor(space({"shape": 3, "x": 32, "y": 32}), 1000, np.random.default_rng(0))
    >>> set(pairs.changed.sum(axis=1).tolist())
    {1}
    """
    return k_factors(where, n, rng, k=1, compat=compat)


def k_factors(
    where: Where, n: int, rng: np.random.Generator, *, k: int | None = None, compat: Compat | None = None
) -> Pairs:
    """Pairs that differ in k factors.

    Factors are visited in random order, and each that can take another class at the point as changed so far takes
    one of them, uniformly, until k have. Where fewer than k can, fewer do; where none can, with a warning.

    Args:
        where: a grid, a split (its training part) or listed rows.
        n: how many pairs.
        rng: decides everything.
        k: how many factors change; None draws it for each pair, uniform on 1..F-1.
        compat: "locatello" draws new classes from all including the old one, and for k=None changes either one
            factor or the number drawn, by a fair coin.

    Reference: Locatello et al. 2020, arXiv:2002.02886, section 5; public code of Klindt et al. 2021,
    arXiv:2007.10930, for the uniform number.
    """
    if compat not in (None, "locatello"):
        raise unknown("compatibility mode", str(compat), ("locatello",))
    region = _region(where)
    movable = len(region.space) if compat else sum(size > 1 for size in region.space.shape)
    if not movable:
        raise UnknotError(f"k_factors: no factor can change; {', '.join(region.space.names)} have one class each.")
    if k is not None and not 1 <= k <= movable:
        raise UnknotError(
            f"k_factors: k is {k}, but {movable} factor(s) of {', '.join(region.space.names)} can change; give a k "
            f"from 1 to {movable}, or None for a random one."
        )
    first = region.sample(n, rng)
    left = np.full(n, k) if k is not None else rng.integers(1, max(movable - 1, 1), size=n, endpoint=True)
    if k is None and compat:
        left = np.where(rng.random(n) < 0.5, left, 1)
    second = first.copy()
    order = rng.permuted(np.tile(np.arange(len(region.space)), (n, 1)), axis=1)
    for turn in order.T:
        for column in range(len(region.space)):
            rows = np.flatnonzero((turn == column) & (left > 0))
            moved = _redraw(region, second, rows, column, rng, old_too=compat is not None)
            left[moved] -= 1
    changed = first != second
    stuck = 0 if compat else int(np.count_nonzero(~changed.any(axis=1)))
    if stuck:
        text = f"{stuck} of {n} points have no neighbour that differs in one factor; each is paired with itself."
        warnings.warn(text, UnknotWarning, stacklevel=2)
    return Pairs(first, second, changed)


def laplace(
    where: Where,
    n: int,
    rng: np.random.Generator,
    *,
    rate: float | tuple[float, float] = 1.0,
    still: Sequence[str] | None = None,
    forced: bool | None = None,
) -> Pairs:
    """Pairs in which every factor moves on its own, far moves being exponentially rare.

    P(v | s) proportional to exp(-|v - s| rate / ln n)        over the n classes of a factor, v = s included

    Factors are visited in storage order; those classes count that keep the point, as changed so far, in `where`.
    The distance does not wrap around, not even for circular factors. "Sparse" means small steps and not few
    changes: at rate 1 a dSprites pair differs in 3.14 of 4 factors on average.

    Args:
        where: a grid, a split (its training part) or listed rows.
        n: how many pairs.
        rng: decides everything.
        rate: lambda; two numbers draw it for each pair, uniform between them (published: 1 to 10).
        still: names of the factors that never move; the categorical ones if left out. Published pairs of MPI3D move
            its colours, although they have no order: pass `conventions(world.key).still`.
        forced: where nothing moved, choose a factor that can and draw it again without its old class. Published
            for whole grids (the default there) and not for splits, where some pairs are therefore identical: on
            dSprites 0.2 % (extrapolation) to 0.5 % (interpolation), 4 % in a random split.

    Reference: Klindt et al. 2021, Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding,
    arXiv:2007.10930; within a split as in Schott et al. 2022, arXiv:2107.08221.
    """
    region = _region(where)
    low, high = rate if isinstance(rate, tuple) else (rate, rate)
    if not 0 < low <= high < np.inf:
        raise UnknotError(f"laplace: rate is {rate}; give a positive number, or two rising ones.")
    columns = _moving(region.space, still)
    first = region.sample(n, rng)
    rates = np.full(n, low) if low == high else rng.uniform(low, high, size=n)
    second = first.copy()
    everyone = np.arange(n)
    for column in columns:
        _redraw(region, second, everyone, column, rng, old_too=True, rates=rates)
    if forced if forced is not None else isinstance(where, FactorSpace):
        idle = np.flatnonzero((first == second).all(axis=1))
        order = rng.permuted(np.tile(columns, (len(idle), 1)), axis=1)
        for turn in order.T:
            for column in columns:
                moved = _redraw(region, second, idle[turn == column], column, rng, old_too=False, rates=rates)
                order[np.isin(idle, moved)] = -1  # done: no later turn is theirs
    return Pairs(first, second, first != second)


def _region(where: Where) -> Region:
    if isinstance(where, FactorSpace):
        return whole(where)
    if isinstance(where, Split):
        return where.train_region
    if isinstance(where, Listed):
        return where
    raise UnknotError(
        f"pairs: cannot draw from a {type(where).__name__}; give a FactorSpace, a Split (for its training part) or "
        "Listed(space, rows)."
    )


def _moving(space: FactorSpace, still: Sequence[str] | None) -> NDArray[np.int64]:
    if still is None:
        still = [f.name for f in space if f.kind == "categorical"]
    fixed = {space.position(name) for name in still}
    columns = [i for i, size in enumerate(space.shape) if size > 1 and i not in fixed]  # ln 1 = 0
    if not columns:
        raise UnknotError(
            f"laplace: no factor of {', '.join(space.names)} is left to move; categorical factors stay unless "
            "`still` names others, and constant ones always do."
        )
    return np.array(columns, dtype=np.int64)


def _redraw(
    region: Region,
    points: Classes,
    rows: NDArray[np.int64],
    column: int,
    rng: np.random.Generator,
    *,
    old_too: bool,
    rates: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Draw one factor of some points anew, in place, inside the region; returns the rows that could be drawn.

    With rates the law is Laplace's, without it is uniform; without `old_too` the new class differs.
    """
    size = region.space.shape[column]
    drawn = []
    step = max(_ENTRIES // size, 1)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        old = points[part, column]
        possible = region.along(points[part], column)
        if rates is None and len(possible) == 1:
            new, could = _uniform(np.flatnonzero(possible), old, rng, old_too)
        else:
            weights = np.broadcast_to(possible, (len(part), size)).astype(np.float64)
            if rates is not None:
                weights *= _laplace_weights(old, rates[part], size, nearest=0 if old_too else 1)
            if not old_too:
                weights[np.arange(len(part)), old] = 0
            new, could = _pick(weights, rng)
        points[part[could], column] = new[could]
        drawn.append(part[could])
    return np.concatenate(drawn) if drawn else rows


def _uniform(
    values: NDArray[np.int64], old: NDArray[np.int64], rng: np.random.Generator, old_too: bool
) -> tuple[NDArray[np.int64], Mask]:
    """One of the values for each row, the old one left out by skipping its rank."""
    count = len(values) - (not old_too)
    if count < 1:
        return old, np.zeros(len(old), dtype=np.bool_)
    rank = rng.integers(0, count, size=len(old))
    if not old_too:
        rank += rank >= np.searchsorted(values, old)
    return values[rank], np.ones(len(old), dtype=np.bool_)


def _laplace_weights(
    old: NDArray[np.int64], rates: NDArray[np.float64], size: int, nearest: int
) -> NDArray[np.float64]:
    # Distances count from the nearest class that matters: the same law, and no underflow at great rates.
    classes = np.arange(size)
    distance = np.maximum(np.abs(classes - classes[:, None]) - nearest, 0) / np.log(size)
    if len(rates) and (rates == rates[0]).all():
        table: NDArray[np.float64] = np.exp(-rates[0] * distance)
        return table[old]
    weights: NDArray[np.float64] = np.exp(-rates[:, None] * distance[old])
    return weights


def _pick(weights: NDArray[np.float64], rng: np.random.Generator) -> tuple[NDArray[np.int64], Mask]:
    """For each row a column in proportion to its weights, and whether the row had any weight at all."""
    cumulative = np.cumsum(weights, axis=1)
    total = cumulative[:, -1]
    # The largest draw must stay below the total, or rounding could pick a column past the last with weight.
    draw = np.minimum(rng.random(len(weights)) * total, np.nextafter(total, 0))
    return np.count_nonzero(cumulative <= draw[:, None], axis=1).astype(np.int64), total > 0
