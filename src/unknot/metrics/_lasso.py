"""Lasso by coordinate descent on Gram matrices, one model against another, and the pair score of UDR.

Both regressions see the data only through products of columns, so a pair of models costs nothing that grows with
the number of rows once those products are there. Models share one matrix of products: model m has its columns
`offsets[m]:offsets[m + 1]`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

TIGHT = 1e-9  # largest change of a coefficient in the last sweep, relative to the largest coefficient
PATH = 1e-4  # the same while penalties are compared
SWEEPS, PATH_SWEEPS = 10_000, 1_000


@njit(cache=True)
def lasso(gram: NDArray[np.float64], cross: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
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
        w[:] = 0.0
        for j in range(p):
            slack[j] = cross[j, target]
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
        result[:, target] = w
    return result


@njit(cache=True)
def multi_task_lasso(
    gram: NDArray[np.float64],
    w: NDArray[np.float64],
    slack: NDArray[np.float64],
    alpha: float,
    tolerance: float,
    sweeps: int,
) -> None:
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
def _moments(
    products: NDArray[np.float64], sums_a: NDArray[np.float64], sums_b: NDArray[np.float64], n: float
) -> NDArray[np.float64]:
    """Mean products of two sets of columns about their means."""
    return products / n - np.outer(sums_a / n, sums_b / n)


@njit(cache=True)
def multi_task_lasso_cv(
    products: NDArray[np.float64],
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    a: tuple[int, int],
    b: tuple[int, int],
    n_alphas: int,
    eps: float,
) -> tuple[NDArray[np.float64], float]:
    """Coefficients and the penalty that predicts held-out rows best, as scikit-learn's MultiTaskLassoCV chooses it.

    The held-out error of a fold is a quadratic form in the coefficients, so its products of columns suffice.

    Args:
        products: (folds + 1, D, D) products of columns in each fold, and over all rows last.
        sums: (folds + 1, D) sums of columns.
        counts: (folds + 1,) rows.
        a: first and last column (exclusive) of the predictors.
        b: the same of the targets.
        n_alphas: length of the path of penalties.
        eps: smallest penalty over the largest.
    """
    (a0, a1), (b0, b1) = a, b
    p, t, folds = a1 - a0, b1 - b0, len(counts) - 1
    n = counts[folds]
    all_x, all_y = sums[folds, a0:a1], sums[folds, b0:b1]
    gram = _moments(products[folds, a0:a1, a0:a1], all_x, all_x, n)
    cross = _moments(products[folds, a0:a1, b0:b1], all_x, all_y, n)
    top = 0.0
    for j in range(p):
        top = max(top, np.sqrt((cross[j] ** 2).sum()))
    if top <= 1e-15:
        return np.zeros((p, t)), top
    alphas = top * eps ** (np.arange(n_alphas) / (n_alphas - 1))
    error = np.zeros(n_alphas)
    for f in range(folds):
        m, rest = counts[f], n - counts[f]
        mean_x, mean_y = (all_x - sums[f, a0:a1]) / rest, (all_y - sums[f, b0:b1]) / rest
        train = (products[folds, a0:a1, a0:a1] - products[f, a0:a1, a0:a1]) / rest - np.outer(mean_x, mean_x)
        slack = (products[folds, a0:a1, b0:b1] - products[f, a0:a1, b0:b1]) / rest - np.outer(mean_x, mean_y)
        # Second moments of the held-out rows about the training means.
        off_x, off_y = sums[f, a0:a1] / m - mean_x, sums[f, b0:b1] / m - mean_y
        xx = _moments(products[f, a0:a1, a0:a1], sums[f, a0:a1], sums[f, a0:a1], m) + np.outer(off_x, off_x)
        xy = _moments(products[f, a0:a1, b0:b1], sums[f, a0:a1], sums[f, b0:b1], m) + np.outer(off_x, off_y)
        yy = 0.0
        for u in range(t):
            yy += products[f, b0 + u, b0 + u] / m - (sums[f, b0 + u] / m) ** 2 + off_y[u] ** 2
        w = np.zeros((p, t))
        for s in range(n_alphas):
            multi_task_lasso(train, w, slack, alphas[s], PATH, PATH_SWEEPS)
            total = yy
            for j in range(p):
                for u in range(t):
                    if w[j, u] != 0.0:
                        inner = -2.0 * xy[j, u]
                        for q in range(p):
                            inner += xx[j, q] * w[q, u]
                        total += inner * w[j, u]
            error[s] += total / (t * folds)
    best = alphas[np.argmin(error)]
    w = np.zeros((p, t))
    multi_task_lasso(gram, w, cross, best, TIGHT, SWEEPS)
    return w, best


@njit(cache=True)
def pair_score(similarity: NDArray[np.float64], by_latent: bool) -> float:
    """How close a similarity matrix (p, t) is to one entry per row and column, weighted by the size of the entry.

    Args:
        similarity: non-negative.
        by_latent: average over all latents of both models (the paper) instead of over the two models (public code).
    """
    p, t = similarity.shape
    columns, rows = 0.0, 0.0
    for b in range(t):
        largest, total = 0.0, 0.0
        for a in range(p):
            largest = max(largest, similarity[a, b])
            total += similarity[a, b]
        if total > 0.0:
            columns += largest * largest / total
    for a in range(p):
        largest, total = 0.0, 0.0
        for b in range(t):
            largest = max(largest, similarity[a, b])
            total += similarity[a, b]
        if total > 0.0:
            rows += largest * largest / total
    if by_latent:
        return float((columns + rows) / (p + t))
    return float((columns / t + rows / p) / 2.0)


@njit(cache=True)
def pair_scores(
    products: NDArray[np.float64],
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    offsets: NDArray[np.int64],
    pairs: NDArray[np.int64],
    method: int,
    alpha: float,
    by_latent: bool,
) -> NDArray[np.float64]:
    """Pair scores of many (predictor, target) pairs of models; NaN where a model has no column.

    Args:
        products: as in `multi_task_lasso_cv`; only the last is used unless `method` is 2.
        sums: the same.
        counts: the same.
        offsets: (models + 1,) where the columns of each model begin.
        pairs: (pairs, 2) predictor and target.
        method: 0 correlation of the columns, 1 lasso, 2 cross-validated multi-task lasso.
        alpha: penalty of method 1.
        by_latent: see `pair_score`.
    """
    scores = np.full(len(pairs), np.nan)
    last = len(counts) - 1
    for q in range(len(pairs)):
        a = (offsets[pairs[q, 0]], offsets[pairs[q, 0] + 1])
        b = (offsets[pairs[q, 1]], offsets[pairs[q, 1] + 1])
        if a[0] == a[1] or b[0] == b[1]:
            continue
        if method == 2:
            similarity, _ = multi_task_lasso_cv(products, sums, counts, a, b, 100, 1e-3)
        else:
            similarity = products[last, a[0] : a[1], b[0] : b[1]] / counts[last]
            if method == 1:
                similarity = lasso(products[last, a[0] : a[1], a[0] : a[1]] / counts[last], similarity, alpha)
        scores[q] = pair_score(np.abs(similarity), by_latent)
    return scores
