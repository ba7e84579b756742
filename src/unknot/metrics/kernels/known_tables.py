"""Compiled contingency tables of latents and factors whose labels are missing in rows of their own.

A factor's bins are those of the rows that have it. Factors whose rows have the same smallest and largest value of a
latent share its bins, so that the latent is cut a few times for all factors, and a missing label is one more class,
whose counts are dropped.
"""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats
from unknot.metrics.kernels.column_tables import Ints, cut

CELLS = 2**14  # of two factors counted as one


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
def count_known(
    columns: Floats, edges: Floats, steps: Floats, alike: Ints, labels: Ints, sizes: Ints, tables: Ints
) -> None:
    """Fill tables (b, bins, values of all factors, one after the other) of the rows that have each factor.

    Rows are counted by the joint label of two factors, which halves the steps; the tables of both are sums of that.

    Args:
        columns: (b, n) latents.
        edges: (b, k, bins) left edges of the bins.
        steps: (b, k) between them.
        alike: (b, k) the first factor with the same edges.
        labels: as of `known_extents`.
        sizes: (k,) number of codes.
        tables: zeros.
    """
    (b, n), (k, bins) = columns.shape, edges.shape[1:]
    codes, cells = np.empty(n, dtype=np.uint16), np.empty(n, dtype=np.uint32)
    counts = np.empty(max(CELLS, bins * (sizes.max() + 1)), dtype=np.int32)
    alone, offsets = np.zeros(n, dtype=labels.dtype), np.cumsum(sizes) - sizes
    for i in range(b):
        for leader in range(k):
            if alike[i, leader] != leader:
                continue
            cut(columns[i], edges[i, leader], steps[i, leader], codes)
            same = np.flatnonzero(alike[i] == leader)
            at = 0
            while at < len(same):
                j, other = same[at], same[min(at + 1, len(same) - 1)]
                both = other > j and bins * (sizes[j] + 1) * (sizes[other] + 1) <= CELLS
                wide = sizes[other] + 1 if both else 1
                span = (sizes[j] + 1) * wide
                own, others = labels[j], labels[other] if both else alone
                for r in range(n):
                    cells[r] = codes[r] * span + own[r] * wide + others[r]
                counts[: bins * span] = 0
                for r in range(n):
                    counts[cells[r]] += 1
                joint = counts[: bins * span].reshape((bins, sizes[j] + 1, wide))
                for x in range(bins):
                    table = tables[i, x]
                    for v in range(sizes[j]):
                        table[offsets[j] + v] = joint[x, v].sum()
                    for v in range(sizes[j] + 1):
                        for w in range(wide - 1):
                            table[offsets[other] + w] += joint[x, v, w]
                at += 1 + both
