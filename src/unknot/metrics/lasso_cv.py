"""The lasso of wide codes: its penalty by cross-validation, on the products of columns."""

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.processes.threads import one_thread

PATH, TIGHT = (
    1e-5,
    1e-7,
)  # largest last change of a coefficient, relative to the largest one: on the way, and at last
SWEEPS = 10_000


def lasso_cv(x: Floats, y: Floats, alphas: tuple[float, ...], folds: int) -> tuple[Floats, Floats]:
    """Coefficients (d, k) and penalties (k,) that scikit-learn's LassoCV would choose.

    |y - b - X w|^2 / 2n + alpha |w|_1 is minimised for each target; the penalty has the smallest mean square error on
    held-out stretches of rows. The rows are read once: outside a fold, products are those of all rows less its own.

    Args:
        x: (n, d) predictors, centred.
        y: (n, k) targets, centred.
        alphas: penalties to choose from.
        folds: how many stretches the rows are cut into.
    """
    from unknot.metrics.kernels.lasso import descend

    n = len(x)
    path = np.sort(alphas)[::-1]
    stretches = np.array_split(np.arange(n), folds)
    errors = np.zeros((len(path), y.shape[1]))
    with one_thread():
        gram, cross = x.T @ x, x.T @ y
        for rows in stretches:
            x_out, y_out, m = x[rows], y[rows], n - len(rows)
            mean, level = -x_out.sum(axis=0) / m, -y_out.sum(axis=0) / m
            inner = (gram - x_out.T @ x_out) / m - np.outer(mean, mean)
            slack = ((cross - x_out.T @ y_out) / m - np.outer(mean, level)).T.copy()
            w = np.zeros(slack.shape)
            for a, alpha in enumerate(path):
                for j in range(len(w)):
                    descend(inner, w[j], slack[j], float(alpha), PATH, SWEEPS)
                residuals = y_out - level - (x_out - mean) @ w.T
                errors[a] += (residuals**2).mean(axis=0)
        chosen = path[errors.argmin(axis=0)]
        gram /= n
        weights = np.zeros(cross.T.shape)
        slack = cross.T / n
        for j, best in enumerate(chosen):
            for alpha in path[path >= best]:
                descend(gram, weights[j], slack[j], float(alpha), TIGHT if alpha == best else PATH, SWEEPS)
    return weights.T, chosen
