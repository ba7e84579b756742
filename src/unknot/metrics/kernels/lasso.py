"""Lasso by coordinate descent on Gram matrices, one model against another, and the pair score of UDR.

Both regressions see the data only through products of columns, so a pair of models costs nothing that grows with
the number of rows once those products are there. Models share one matrix of products: model m has its columns
`offsets[m]:offsets[m + 1]`.
"""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints

TIGHT = 1e-9  # largest change of a coefficient in the last sweep, relative to the largest coefficient
PATH, NEAR = 1e-4, 1e-7  # the same along the path of penalties, and around the best one
NEARBY = 3  # how many penalties on either side of the best one
SWEEPS, PATH_SWEEPS = 10_000, 1_000
ALPHAS, EPS = 100, 1e-3  # length of the path of penalties, and the smallest over the largest


@njit(cache=True)
def lasso(gram: Floats, cross: Floats, alpha: float) -> Floats:
    """Coefficients (p, t) that minimise |y - X w|^2 / 2n + alpha |w|_1 for each target on its own.

    Args:
        gram: (p, p) X'X / n.
        cross: (p, t) X'Y / n.
        alpha: penalty.
    """
    p, t = cross.shape
    result = np.zeros((p, t))
    w, slack = np.zeros(p), np.zeros(p)
    for target in range(t):
        for j in range(p):
            w[j], slack[j] = 0.0, cross[j, target]
        for _ in range(SWEEPS):
            moved, largest = 0.0, 0.0
            for j in range(p):
                if gram[j, j] <= 0.0:
                    continue
                old = w[j]
                pull = slack[j] + gram[j, j] * old
                new = max(abs(pull) - alpha, 0.0) * np.sign(pull) / gram[j, j]
                if new != old:
                    for q in range(p):
                        slack[q] -= gram[j, q] * (new - old)
                    w[j] = new
                    moved = max(moved, abs(new - old))
                largest = max(largest, abs(new))
            if moved <= TIGHT * largest:
                break
        for j in range(p):
            result[j, target] = w[j]
    return result


@njit(cache=True, fastmath={"reassoc", "contract"})
def descend(gram: Floats, w: Floats, slack: Floats, alpha: float, tolerance: float, sweeps: int) -> None:
    """Minimise |y - X w|^2 / 2n + alpha |w|_1 from where w (p,) stands; see `multi_task_lasso`.

    Between two sweeps over all predictors only those that are not zero are moved, until they rest.
    """
    p = len(w)
    everyone, sweep = True, 0
    while sweep < sweeps:
        sweep += 1
        moved, largest = 0.0, 0.0
        for j in range(p):
            g = gram[j, j]
            if g <= 0.0 or (w[j] == 0.0 and not everyone):
                continue
            pull = slack[j] + g * w[j]
            change = max(abs(pull) - alpha, 0.0) * np.sign(pull) / g - w[j]
            if change != 0.0:
                w[j] += change
                row = gram[j]
                for q in range(p):
                    slack[q] -= row[q] * change
                moved = max(moved, abs(change))
            largest = max(largest, abs(w[j]))
        rests = moved <= tolerance * largest
        if rests and everyone:
            return
        everyone = rests


@njit(cache=True)
def multi_task_lasso(gram: Floats, w: Floats, slack: Floats, alpha: float, tolerance: float, sweeps: int) -> None:
    """Minimise |Y - X W|^2 / 2n + alpha sum_j |W_j|_2 from where w (p, t) stands.

    Args:
        gram: (p, p) X'X / n.
        w: (p, t) coefficients, changed in place.
        slack: (p, t) X'(Y - X w) / n, kept in step.
        alpha: penalty of a predictor's coefficients for all targets together.
        tolerance: when to stop.
        sweeps: when to give up.
    """
    p, t = w.shape
    pull = np.empty(t)
    for _ in range(sweeps):
        moved, largest = 0.0, 0.0
        for j in range(p):
            g = gram[j, j]
            if g <= 0.0:
                continue
            norm = 0.0
            for u in range(t):
                pull[u] = slack[j, u] + g * w[j, u]
                norm += pull[u] * pull[u]
            norm = np.sqrt(norm)
            shrink = (1.0 - alpha / norm) / g if norm > alpha else 0.0
            change = 0.0
            for u in range(t):
                new = pull[u] * shrink
                pull[u] = new - w[j, u]
                w[j, u] = new
                change = max(change, abs(pull[u]))
                largest = max(largest, abs(new))
            if change > 0.0:
                moved = max(moved, change)
                for q in range(p):
                    for u in range(t):
                        slack[q, u] -= gram[j, q] * pull[u]
        if moved <= tolerance * largest:
            return


@njit(cache=True)
def part(matrix: Floats, r0: int, r1: int, c0: int, c1: int) -> Floats:
    """A contiguous copy of some rows and columns."""
    out = np.empty((r1 - r0, c1 - c0))
    for r in range(r1 - r0):
        for c in range(c1 - c0):
            out[r, c] = matrix[r0 + r, c0 + c]
    return out


@njit(cache=True)
def copy(source: Floats, target: Floats) -> None:
    """Copy a matrix."""
    for r in range(source.shape[0]):
        for c in range(source.shape[1]):
            target[r, c] = source[r, c]


@njit(cache=True)
def subtract_product(gram: Floats, w: Floats, cross: Floats) -> None:
    """Turn X'Y / n into X'(Y - X w) / n."""
    p, t = w.shape
    for j in range(p):
        for q in range(p):
            for u in range(t):
                cross[j, u] -= gram[j, q] * w[q, u]


@njit(cache=True)
def held_out_error(xx: Floats, xy: Floats, w: Floats) -> float:
    """tr(W' XX W) - 2 tr(W' XY): what coefficients add to the mean square of held-out targets."""
    p, t = w.shape
    total = 0.0
    for j in range(p):
        for u in range(t):
            if w[j, u] != 0.0:
                inner = -2.0 * xy[j, u]
                for q in range(p):
                    inner += xx[j, q] * w[q, u]
                total += inner * w[j, u]
    return total


@njit(cache=True)
def multi_task_lasso_cv(train: Floats, test: Floats, a0: int, a1: int, b0: int, b1: int) -> tuple[Floats, float]:
    """Coefficients and the penalty that predicts held-out rows best, as scikit-learn's MultiTaskLassoCV chooses it.

    The held-out error of a fold is a quadratic form in the coefficients, so its products of columns suffice.

    Args:
        train: (folds + 1, D, D) mean products of columns about their means, outside each fold; all rows last.
        test: (folds, D, D) mean products inside each fold, about the means outside it.
        a0: first column of the predictors.
        a1: the one after their last.
        b0: first column of the targets.
        b1: the one after their last.
    """
    p, folds = a1 - a0, len(test)
    slack = part(train[folds], a0, a1, b0, b1)
    top = 0.0
    for j in range(p):
        square = 0.0
        for u in range(b1 - b0):
            square += slack[j, u] * slack[j, u]
        top = max(top, np.sqrt(square))
    w = np.zeros((p, b1 - b0))
    if top <= 1e-15:
        return w, top
    alphas, rough = np.empty(ALPHAS), np.zeros(ALPHAS)
    for s in range(ALPHAS):
        alphas[s] = top * EPS ** (s / (ALPHAS - 1))
    paths = np.zeros((folds, ALPHAS, p, b1 - b0))
    for f in range(folds):
        gram, cross = part(train[f], a0, a1, a0, a1), part(train[f], a0, a1, b0, b1)
        xx, xy = part(test[f], a0, a1, a0, a1), part(test[f], a0, a1, b0, b1)
        path = np.zeros((p, b1 - b0))
        for s in range(ALPHAS):
            multi_task_lasso(gram, path, cross, alphas[s], PATH, PATH_SWEEPS)
            rough[s] += held_out_error(xx, xy, path)
            copy(path, paths[f, s])
    best, settled = int(np.argmin(rough)), -1
    exact = np.full(ALPHAS, np.inf)
    while best != settled:  # errors are flat around the best penalty: compare the ones nearby without haste
        settled = best
        for s in range(max(0, best - NEARBY), min(ALPHAS, best + NEARBY + 1)):
            if exact[s] == np.inf:
                exact[s] = 0.0
                for f in range(folds):
                    gram, cross = part(train[f], a0, a1, a0, a1), part(train[f], a0, a1, b0, b1)
                    subtract_product(gram, paths[f, s], cross)
                    multi_task_lasso(gram, paths[f, s], cross, alphas[s], NEAR, PATH_SWEEPS)
                    xx, xy = part(test[f], a0, a1, a0, a1), part(test[f], a0, a1, b0, b1)
                    exact[s] += held_out_error(xx, xy, paths[f, s])
        best = int(np.argmin(exact))
    multi_task_lasso(part(train[folds], a0, a1, a0, a1), w, slack, alphas[best], TIGHT, SWEEPS)
    return w, alphas[best]


@njit(cache=True)
def pair_score(similarity: Floats, by_latent: bool) -> float:
    """How close a similarity matrix (p, t) is to one entry per row and column, weighted by the size of the entry.

    Args:
        similarity: of either sign; its size counts.
        by_latent: average over all latents of both models (the paper) instead of over the two models (public code).
    """
    p, t = similarity.shape
    columns, rows = 0.0, 0.0
    for b in range(t):
        largest, total = 0.0, 0.0
        for a in range(p):
            largest = max(largest, abs(similarity[a, b]))
            total += abs(similarity[a, b])
        if total > 0.0:
            columns += largest * largest / total
    for a in range(p):
        largest, total = 0.0, 0.0
        for b in range(t):
            largest = max(largest, abs(similarity[a, b]))
            total += abs(similarity[a, b])
        if total > 0.0:
            rows += largest * largest / total
    if by_latent:
        return float((columns + rows) / (p + t))
    return float((columns / t + rows / p) / 2.0)


@njit(cache=True)
def lasso_scores(products: Floats, offsets: Ints, pairs: Ints, alpha: float, by_latent: bool) -> Floats:
    """Pair scores of many (predictor, target) pairs of models; NaN where a model has no column.

    Args:
        products: (D, D) mean products of standardised columns.
        offsets: (models + 1,) where the columns of each model begin.
        pairs: (pairs, 2) predictor and target.
        alpha: penalty of the Lasso; negative: take the correlations themselves.
        by_latent: see `pair_score`.
    """
    scores = np.full(len(pairs), np.nan)
    for m in range(len(pairs)):
        a0, a1 = offsets[pairs[m, 0]], offsets[pairs[m, 0] + 1]
        b0, b1 = offsets[pairs[m, 1]], offsets[pairs[m, 1] + 1]
        if a0 < a1 and b0 < b1:
            similarity = part(products, a0, a1, b0, b1)
            if alpha >= 0.0:
                similarity = lasso(part(products, a0, a1, a0, a1), similarity, alpha)
            scores[m] = pair_score(similarity, by_latent)
    return scores


@njit(cache=True)
def multi_task_scores(train: Floats, test: Floats, offsets: Ints, pairs: Ints, by_latent: bool) -> Floats:
    """`lasso_scores` with the cross-validated multi-task Lasso; products as in `multi_task_lasso_cv`."""
    scores = np.full(len(pairs), np.nan)
    for m in range(len(pairs)):
        a0, a1 = offsets[pairs[m, 0]], offsets[pairs[m, 0] + 1]
        b0, b1 = offsets[pairs[m, 1]], offsets[pairs[m, 1] + 1]
        if a0 < a1 and b0 < b1:
            weights, _ = multi_task_lasso_cv(train, test, a0, a1, b0, b1)
            scores[m] = pair_score(weights, by_latent)
    return scores
