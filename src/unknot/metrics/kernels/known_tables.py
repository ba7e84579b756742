"""Compiled contingency tables of latents and factors whose labels are missing in rows of their own.

A factor's bins are those of the rows that have it. Factors whose rows have the same smallest and largest value of a
latent share its bins, so that the latent is cut a few times for all factors, and a missing label is one more class,
whose counts are dropped.
"""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats
from unknot.metrics.kernels.column_tables import Ints, bin_of, per_width_of


@njit(cache=True, nogil=True)
def known_extents(columns: Floats, labels: Ints, sizes: Ints, low: Floats, high: Floats) -> None:
    """Smallest and largest value (b, k) of latents (b, n) in the rows that have each factor.

    Args:
        columns: (b, n) latents.
        labels: (k, n) codes; sizes[j] where the label is missing.
        sizes: (k,) number of codes.
        low: infinity.
        high: minus infinity.
    """
    (b, n), k = columns.shape, len(sizes)
    for i in range(b):
        below, above = np.inf, -np.inf  # only values below or above these can be an extreme of a factor
        for r in range(n):
            value = columns[i, r]
            if value < below or value > above:
                for j in range(k):
                    if labels[j, r] < sizes[j]:
                        low[i, j], high[i, j] = min(low[i, j], value), max(high[i, j], value)
                below, above = low[i].max(), high[i].min()


@njit(cache=True, nogil=True)
def count_known(columns: Floats, edges: Floats, alike: Ints, labels: Ints, sizes: Ints, tables: Ints) -> None:
    """Fill tables (b, bins, values of all factors, one after the other) of the rows that have each factor.

    Args:
        columns: (b, n) latents.
        edges: (b, k, bins) left edges of the bins.
        alike: (b, k) the first factor with the same edges.
        labels: as of `known_extents`.
        sizes: (k,) number of codes.
        tables: zeros.
    """
    (b, n), (k, bins) = columns.shape, edges.shape[1:]
    codes = np.empty(n, dtype=np.uint16)
    counts = np.empty((bins, sizes.max() + 1), dtype=np.int32)
    for i in range(b):
        for leader in range(k):
            if alike[i, leader] != leader:
                continue
            edge = edges[i, leader]
            per_width = per_width_of(edge, False)
            for r in range(n):
                codes[r] = bin_of(columns[i, r], edge, per_width, bins - 1, False)
            first = 0
            for j in range(k):
                if alike[i, j] == leader:
                    counts[:] = 0
                    for r in range(n):
                        counts[codes[r], labels[j, r]] += 1
                    tables[i, :, first : first + sizes[j]] = counts[:, : sizes[j]]
                first += sizes[j]
