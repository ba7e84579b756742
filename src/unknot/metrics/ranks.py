"""The order of latents, and ranks with ties averaged, without importing scipy.stats."""

import numpy as np

from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.latents import extent
from unknot.metrics.rows import Rows

CHUNK = 16_384  # rows that the cache holds


def sorted_columns(rows: Rows) -> tuple[Floats, Ints]:
    """Latents (d, n) and what sorts each of them, made once for all metrics with these rows."""

    def make() -> tuple[Floats, Ints]:
        columns = np.ascontiguousarray(rows.latents.T)
        return columns, np.argsort(columns, axis=1)

    return rows.kept_once(sorted_columns, make, rows.latents)


def average_ranks(columns: Floats) -> Floats:
    """Rank 1..n of each entry within its column (n, c); equal entries share the mean of their ranks.

    >>> average_ranks(np.array([[3.0], [1.0], [3.0], [2.0]])).ravel()
    array([3.5, 1. , 3.5, 2. ])
    """
    ranks = np.empty(columns.shape)
    for i, column in enumerate(columns.T):
        order = np.argsort(column)
        ordered = column[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        ends = np.concatenate([starts[1:], [len(ordered)]])
        ranks[order, i] = np.repeat((starts + ends + 1) / 2, ends - starts)
    return ranks


def correlation(a: Floats, b: Floats) -> Floats:
    """Pearson correlation (p, q) of the columns of a (n, p) and b (n, q); 0 where a column does not vary."""
    (mean_a, scale_a), (mean_b, scale_b) = _scale(a), _scale(b)
    products = np.zeros((a.shape[1], b.shape[1]))
    squares_a, squares_b = np.zeros(a.shape[1]), np.zeros(b.shape[1])
    for start in range(0, len(a), CHUNK):
        first = (a[start : start + CHUNK] - mean_a) / scale_a
        second = (b[start : start + CHUNK] - mean_b) / scale_b
        products += first.T @ second
        squares_a += (first**2).sum(axis=0)
        squares_b += (second**2).sum(axis=0)
    norms = np.sqrt(np.outer(squares_a, squares_b))
    return np.clip(np.divide(products, norms, out=np.zeros_like(products), where=norms > 0), -1.0, 1.0)


def _scale(columns: Floats) -> tuple[Floats, Floats]:
    """Mean and largest deviation from it, infinite where a column does not vary.

    Dividing by it keeps squares of tiny or huge columns inside the range of floats.
    """
    mean = columns.mean(axis=0)
    low, high = extent(columns) if len(columns) else (np.full(columns.shape[1], end) for end in (np.inf, -np.inf))
    largest = np.maximum(high - mean, mean - low)
    varies = largest > 1e-12 * np.maximum(1.0, np.maximum(abs(low), abs(high)))
    return mean, np.where(varies, largest, np.inf)
