"""Multinomial logistic regression of few parameters by Newton's method, to its optimum."""

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints

STEPS, TOLERANCE = 100, 1e-6  # of the largest entry of the mean gradient
SMALLEST = 1e-10  # step size at which rounding has the last word


def fit_multinomial(features: Floats, classes: Ints, n_classes: int) -> tuple[Floats, bool]:
    """Weights (n_classes, d + 1), intercepts last, and whether they are the optimum.

    min over w of   sum_r -log softmax(w x_r)[y_r] + |w without intercepts|^2 / 2

    All blocks of the Hessian are sums over rows of products of two features, weighted by products of two
    probabilities: one matrix product of (class pairs, n) and (n, feature pairs).

    Args:
        features: (n, d) with d and n small enough to hold (n, d^2 / 2) numbers.
        classes: (n,) codes 0..n_classes-1, three of them or more.
        n_classes: how many codes there are.
    """
    x = np.vstack([features.T, np.ones(len(features))])  # a row per feature: sums over long rows are fast
    p, n = x.shape
    first, second = np.triu_indices(p)
    products = x[first] * x[second]
    own = np.zeros((n_classes, n))
    own[classes, np.arange(n)] = 1.0
    penalty = np.ones(p)
    penalty[-1] = 0.0
    w = np.zeros((n_classes, p))
    loss, odds = _loss(w, x, own, penalty)
    for _ in range(STEPS):
        gradient = (odds - own) @ x.T + penalty * w
        if np.abs(gradient).max() <= TOLERANCE * n:
            return w, True
        try:
            step = np.linalg.solve(_hessian(odds, products, first, second, penalty), gradient.ravel())
        except np.linalg.LinAlgError:  # features so large that the penalty is lost in rounding
            return w, False
        step = step.reshape(w.shape)
        slope, size = float(np.sum(step * gradient)), 1.0
        new, odds = _loss(w - step, x, own, penalty)
        while new > loss - 1e-4 * size * slope and size > SMALLEST:
            size /= 2
            new, odds = _loss(w - size * step, x, own, penalty)
        w, loss = w - size * step, new
    return w, False


def _loss(w: Floats, x: Floats, own: Floats, penalty: Floats) -> tuple[float, Floats]:
    """The objective and the probabilities (classes, n)."""
    scores = w @ x
    scores -= scores.max(axis=0)
    odds = np.exp(scores)
    total = odds.sum(axis=0)
    odds /= total
    loss = float(np.log(total).sum() - np.einsum("ij,ij->", scores, own)) + 0.5 * float(np.sum(penalty * w**2))
    return loss, odds


def _hessian(
    odds: Floats, products: Floats, first: NDArray[np.intp], second: NDArray[np.intp], penalty: Floats
) -> Floats:
    k, p = len(odds), len(penalty)
    a, b = np.triu_indices(k)
    weights = -odds[a] * odds[b]
    weights[a == b] += odds
    sums = weights @ products.T
    blocks = np.empty((k, k, p, p))
    blocks[a[:, None], b[:, None], first, second] = sums
    blocks[a[:, None], b[:, None], second, first] = sums
    blocks[b, a] = blocks[a, b]
    hessian = blocks.transpose(0, 2, 1, 3).reshape(k * p, k * p)
    hessian += np.diag(np.tile(penalty, k))
    # Adding one number to all intercepts changes nothing; no gradient points there, and this makes it solvable.
    intercepts = np.tile(1.0 - penalty, k)
    hessian += np.outer(intercepts, intercepts)
    return hessian
