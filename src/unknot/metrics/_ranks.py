"""Ranks with ties averaged, without importing scipy.stats."""

import numpy as np
from numpy.typing import NDArray


def average_ranks(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank 1..n of each entry within its column (n, c); equal entries share the mean of their ranks.

    >>> average_ranks(np.array([[3.0], [1.0], [3.0], [2.0]])).ravel()
    array([3.5, 1. , 3.5, 2. ])
    """
    ranks = np.empty(columns.shape)
    for i, column in enumerate(columns.T):
        order = np.argsort(
            column,
        )
        ordered = column[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        ends = np.concatenate([starts[1:], [len(ordered)]])
        ranks[order, i] = np.repeat((starts + ends + 1) / 2, ends - starts)
    return ranks


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson correlation (p, q) of the columns of a (n, p) and b (n, q); 0 where a column does not vary."""
    first, second = _unit(a), _unit(b)
    result: NDArray[np.float64] = np.clip(first.T @ second, -1.0, 1.0)
    return result


def _unit(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    # Dividing by the largest entry first keeps squares of tiny or huge columns inside the range of floats.
    centred = columns - columns.mean(axis=0)
    largest = np.abs(centred).max(axis=0, initial=0.0)
    tolerance = 1e-12 * np.maximum(1.0, np.abs(columns).max(axis=0, initial=0.0))
    scaled = np.divide(centred, largest, out=np.zeros_like(centred), where=largest > tolerance)
    norm = np.sqrt((scaled**2).sum(axis=0))
    result: NDArray[np.float64] = np.divide(scaled, norm, out=scaled, where=norm > 0)
    return result
