"""Ridge regression where labels are missing: every factor has rows of its own, and no rows are looked at for each.

Rows that serve the same ones of a few factors are multiplied with themselves together, whatever factors these are: of
seven factors there are 128 such sets of rows, and each row is in one of them.
"""

from collections.abc import Sequence

import numpy as np

from unknot.metrics.arrays import WIDE, Bools, Floats, Ints
from unknot.metrics.inputs import MissingLabelsError
from unknot.metrics.known_rows import KnownRows
from unknot.metrics.latents import dead
from unknot.metrics.ridge import Gram, LeftOut, generalised, leave_one_out, left_out
from unknot.processes.threads import one_thread, side_by_side

TOGETHER = 8  # factors at most
ROOM = 5e8  # bytes that products of latents take on each core, unless one factor takes more
CHUNK = 4_096  # rows looked at at a time
NARROWEST = 1e-6  # deviation in a factor's rows, of that in all, below which a latent is looked at closely


def known_ridge(latents: Floats, targets: Floats, known: Sequence[KnownRows]) -> tuple[list[Floats], Floats]:
    """Predictions of each factor's held-out rows, and its penalty: what `ridge` gives of its rows alone.

    Args:
        latents: (n, d), more rows of each factor than latents.
        targets: (n, k), NaN where unknown.
        known: rows of each factor.
    """
    d = latents.shape[1]
    if min(len(part.train) for part in known) <= d:
        raise MissingLabelsError("ridge: labels are missing, and few rows are known; fit each factor alone.")
    used = np.zeros(targets.shape, dtype=np.bool_)
    for j, part in enumerate(known):
        used[part.train, j] = True
    if d > WIDE and _some_rare(latents, used):
        raise MissingLabelsError("ridge: labels are missing, and some latents are rare; fit each factor alone.")
    x, deviation = _standardised(latents)
    means = np.array([targets[part.train, j].mean() for j, part in enumerate(known)])
    y = np.where(used, targets - means, 0.0)
    weights, penalties = np.empty((d, len(known))), np.empty(len(known))

    def fit(some: Ints) -> None:
        grams = _grams(x, used[:, some])
        for gram, j in zip(grams, some, strict=True):
            train = known[j].train
            scale, mean = _standardiser(gram, sums[:, j], latents, train, deviation), sums[:, j] / len(train)
            gram -= np.outer(sums[:, j], mean)
            gram /= np.outer(scale, scale)
            judges = train[left_out(len(train))]
            parts = Gram.of_products(gram, x[:0], x[:0])
            projected = parts.turn(products[:, [j]] / scale[:, None])
            near = generalised(parts, projected, (y[:, [j]] ** 2).sum(axis=0), len(train))
            own = LeftOut(x, judges, y[judges, j, None], mean, scale)
            (penalties[j],) = leave_one_out(parts, own, len(train), projected, near)
            solved = parts.turn(parts.solve(projected, penalties[j]), back=True)[:, 0]
            weights[:, j] = solved / scale
            means[j] -= mean @ weights[:, j]

    together = int(np.clip(min(np.log2(len(x) / d), _most(d)), 1, TOGETHER))
    with one_thread():
        sums, products = side_by_side(lambda columns: x.T @ columns, (used.astype(np.float64), y))
        groups = -(-len(known) // together)
        groups += groups > 1 and groups % 2  # so that two cores have as many
        side_by_side(fit, np.array_split(np.arange(len(known)), groups))
        blocks = [slice(first, first + CHUNK) for first in range(0, len(x), CHUNK)]
        guesses = np.concatenate(side_by_side(lambda block: x[block] @ weights + means, blocks))
    return [guesses[part.test, j] for j, part in enumerate(known)], penalties


def _some_rare(latents: Floats, used: Bools) -> bool:
    """Whether a latent is rare (`unknot.metrics.units`) in the rows (n, k) that any factor uses."""
    rows = used.sum(axis=0)
    often_silent = np.flatnonzero(2 * (len(latents) - np.count_nonzero(latents, axis=0)) > rows.min())
    fired = (latents[:, often_silent] != 0).T.astype(np.float32) @ used.astype(np.float32)
    return bool(np.any((fired > 0) & (2 * fired < rows)))


def _most(d: int) -> float:
    """How many factors may be fitted together: `_grams` has two products for each, and three more."""
    return (ROOM / (8 * d**2) - 3) / 2


def _standardised(latents: Floats) -> tuple[Floats, Floats]:
    """Latents less their means and over their deviations in all rows, and those; infinite of latents without any."""
    x, mean = np.empty(latents.shape), latents.mean(axis=0)
    blocks = [slice(first, first + CHUNK) for first in range(0, len(x), CHUNK)]

    def centre(block: slice) -> Floats:
        np.subtract(latents[block], mean, out=x[block])
        return np.asarray(np.einsum("ni,ni->i", x[block], x[block]))

    deviation = np.sqrt(np.sum(side_by_side(centre, blocks), axis=0) / len(x))
    deviation[dead(latents)] = np.inf
    side_by_side(lambda block: np.divide(x[block], deviation, out=x[block]), blocks)
    return x, deviation


def _grams(x: Floats, used: Bools) -> Floats:
    """X'X (k, d, d) over the rows (n, k) that each of a few factors uses.

    Sets of rows are numbered by the factors that use them, and their products added up as a tree: what stands on the
    right of two at a level belongs to the factor of that level, and their sum goes one level up.
    """
    k, d = used.shape[1], x.shape[1]
    sets = used @ (1 << np.arange(k))
    order = np.argsort(sets, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(sets, minlength=1 << k)))
    result, left = np.zeros((k, d, d)), np.zeros((k + 1, d, d))
    room, product = np.empty((min(CHUNK, int(np.diff(ends).max())), d)), np.empty((d, d))
    for number in range(1, 1 << k):
        total = np.zeros((d, d))
        for first in range(ends[number], ends[number + 1], CHUNK):
            which = order[first : min(first + CHUNK, ends[number + 1])]
            rows = np.take(x, which, axis=0, out=room[: len(which)], mode="clip")
            total += np.matmul(rows.T, rows, out=product)
        level = 0
        while number >> level & 1:
            result[level] += total
            total += left[level]
            level += 1
        left[level] = total
    return result


def _standardiser(gram: Floats, total: Floats, latents: Floats, rows: Ints, deviation: Floats) -> Floats:
    """Standard deviation of each latent in some rows, relative to that in all; infinite where it has none."""
    scale = np.sqrt(np.maximum(np.diagonal(gram) / len(rows) - (total / len(rows)) ** 2, 0.0))
    for i in np.flatnonzero((scale < NARROWEST) & np.isfinite(deviation)):
        if not dead(latents[rows, i, None])[0]:
            raise MissingLabelsError(
                "ridge: a latent hardly varies where labels are known; fit each factor alone."
            )
        scale[i] = np.inf
    scale[~np.isfinite(deviation)] = np.inf
    return scale
