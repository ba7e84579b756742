"""The linear softmax head at its optimum: multinomial logistic regression by L-BFGS on single-precision sums."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.heads import Head, standardiser

ITERATIONS = 1000  # at most
CHUNK = 4096  # rows whose class scores stay in the cache


def fit_linear(
    latents: Floats, classes: Ints, n_classes: int, *, penalty: float, whiten: bool = False
) -> tuple[Head, bool]:
    """The head that minimises  sum_i -log softmax(z_i)[y_i] + penalty |w|^2 / 2  on standardised latents.

    Args:
        latents: (n, d) numbers.
        classes: (n,) codes 0..n_classes-1.
        n_classes: how many codes there are.
        penalty: of the weights, not of the biases; 1 / C in scikit-learn's terms.
        whiten: measure |w| in whitened latents, where the problem is better conditioned and takes a fraction of
            the iterations; for penalties so small that it does not matter.

    Returns:
        The head, and whether the gradient of the mean loss fell below 1e-5 (the precision of single floats).
    """
    from scipy.optimize import minimize

    mean, scale = standardiser(latents)
    x = (latents - mean) / scale
    n, d = x.shape
    basis = _whitener(x) if whiten else np.eye(d)
    inputs = np.ones((n, d + 1), dtype=np.float32)
    inputs[:, :-1] = x @ basis
    columns = np.ascontiguousarray(inputs.T)

    def objective(theta: Floats) -> tuple[float, Floats]:
        w = theta.reshape(n_classes, d + 1)
        loss, gradient = _cross_entropy(w.astype(np.float32), inputs, columns, classes)
        gradient[:, :-1] += penalty / n * w[:, :-1]
        return loss + penalty / n * 0.5 * float(np.sum(w[:, :-1] ** 2)), gradient.ravel()

    options = {"maxiter": ITERATIONS, "maxfun": 10 * ITERATIONS, "gtol": 1e-5, "ftol": 1e-9, "maxcor": 20}
    result: Any = minimize(objective, np.zeros(n_classes * (d + 1)), jac=True, method="L-BFGS-B", options=options)
    w = result.x.reshape(n_classes, d + 1)
    return Head(mean, scale, (np.hstack([w[:, :-1] @ basis.T, w[:, -1:]]),)), bool(result.status == 0)


def _cross_entropy(
    w: NDArray[np.float32], rows: NDArray[np.float32], columns: NDArray[np.float32], y: Ints
) -> tuple[float, Floats]:
    """Mean cross-entropy and its gradient (n_classes, d + 1), summed over chunks in double precision."""
    n = len(rows)
    loss, gradient = 0.0, np.zeros(w.shape)
    for start in range(0, n, CHUNK):
        part = slice(start, start + CHUNK)
        p = w @ columns[:, part]  # classes first: reductions over a long last axis are fast
        at = np.arange(p.shape[1])
        p -= p.max(axis=0)
        own = p[y[part], at].astype(np.float64)
        np.exp(p, out=p)
        total = p.sum(axis=0)
        loss += float(np.sum(np.log(total.astype(np.float64)) - own))
        p /= total
        p[y[part], at] -= 1
        gradient += p @ rows[part]
    return loss / n, gradient / n


def _whitener(x: Floats) -> Floats:
    """The map (d, d) to latents of unit covariance; directions without variance are left where they are."""
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    floor = 1e-6 * max(float(values.max()), 1e-300)
    result: Floats = vectors / np.sqrt(np.where(values > floor, values, 1.0))
    return result
