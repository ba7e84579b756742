"""Disentanglement and completeness of a matrix that says how important each latent is for each factor.

DCI and MED differ only in where the matrix comes from.
"""

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.kernels.information import entropy

Matrix = Floats  # (d, k), not negative


def disentanglement(importance: Matrix) -> tuple[float, Floats]:
    """D = sum_i rho_i D_i and D_i = 1 - H(R_i.) / log k, with rho_i the latent's share of all importance.

    A latent of no importance has D_i = 0 and no weight; with one factor D is undefined (NaN).

    >>> disentanglement(np.array([[3.0, 0.0], [1.0, 1.0]]))
    (0.6, array([1., 0.]))
    """
    of_latent = importance.sum(axis=1)
    if importance.shape[1] == 1:
        return float("nan"), np.full(len(importance), np.nan)
    per_latent = np.where(of_latent > 0, _concentration(importance), 0.0)
    total = of_latent.sum()
    return float(of_latent @ per_latent / total) if total > 0 else 0.0, per_latent


def completeness(importance: Matrix, *, weighted: bool = False) -> tuple[float, Floats]:
    """C = mean_j C_j and C_j = 1 - H(R_.j) / log d; `weighted` weighs factors by their share of all importance.

    A factor for which no latent is important has C_j = 0; with one latent C is undefined (NaN).

    >>> completeness(np.array([[3.0, 1.0], [0.0, 1.0]]))
    (0.5, array([1., 0.]))
    """
    of_factor = importance.sum(axis=0)
    if len(importance) == 1:
        return float("nan"), np.full(importance.shape[1], np.nan)
    per_factor = np.where(of_factor > 0, _concentration(importance.T), 0.0)
    if not weighted:
        return float(per_factor.mean()), per_factor
    total = of_factor.sum()
    return float(of_factor @ per_factor / total) if total > 0 else 0.0, per_factor


def _concentration(rows: Matrix) -> Floats:
    """The concentration 1 - H / log(columns) of each row, 0 for a uniform one and 1 for a single non-zero entry."""
    result: Floats = np.maximum(1.0 - entropy(rows) / np.log(rows.shape[1]), 0.0)
    return result
