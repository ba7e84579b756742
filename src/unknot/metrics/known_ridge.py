"""Ridge regression where labels are missing: every factor has rows of its own, and no rows are looked at for each.

Rows that serve the same ones of a few factors are multiplied with themselves together, whatever factors these are: of
seven factors there are 128 such sets of rows, and each row is in one of them.
"""

from collections.abc import Sequence

import numpy as np

from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import MissingLabelsError
from unknot.metrics.known_rows import KnownRows
from unknot.metrics.latents import dead
from unknot.metrics.ridge import Gram, generalised, leave_one_out, left_out
from unknot.processes.threads import one_thread, side_by_side

TOGETHER = 8  # factors at most
CHUNK = 8_192  # rows multiplied with themselves at a time
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
    deviation = np.where(dead(latents), np.inf, latents.std(axis=0))
    x = latents - latents.mean(axis=0)
    x /= deviation
    used = np.zeros(targets.shape, dtype=np.bool_)
    for j, part in enumerate(known):
        used[part.train, j] = True
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
            judges = left_out(len(train))
            rows = (x[train[judges]] - mean) / scale
            parts = Gram.of_products(gram, rows, rows[:0])
            projected = parts.turn(products[:, [j]] / scale[:, None])
            near = generalised(parts, projected, (y[:, [j]] ** 2).sum(axis=0), len(train))
            own = y[train[judges], j, None]
            (penalties[j],) = leave_one_out(parts, rows, own, len(train), projected, near)
            solved = parts.turn(parts.solve(projected, penalties[j]), back=True)[:, 0]
            weights[:, j] = solved / scale
            means[j] -= mean @ weights[:, j]

    together = int(np.clip(np.log2(len(x) / (2 * d)), 1, TOGETHER))
    with one_thread():
        sums, products = x.T @ used, x.T @ y
        side_by_side(fit, np.array_split(np.arange(len(known)), -(-len(known) // together)))
        guesses = x @ weights + means
    return [guesses[part.test, j] for j, part in enumerate(known)], penalties


def _grams(x: Floats, used: Bools) -> Floats:
    """X'X (k, d, d) over the rows (n, k) that each of a few factors uses."""
    sets = used @ (1 << np.arange(used.shape[1]))
    order = np.argsort(sets, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(sets, minlength=1 << used.shape[1])))
    result = np.zeros((used.shape[1], x.shape[1], x.shape[1]))
    for number in range(1, len(ends) - 1):
        for first in range(ends[number], ends[number + 1], CHUNK):
            rows = x[order[first : min(first + CHUNK, ends[number + 1])]]
            product = rows.T @ rows
            for j in np.flatnonzero(number >> np.arange(len(result)) & 1):
                result[j] += product
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
