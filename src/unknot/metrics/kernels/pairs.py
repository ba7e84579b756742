"""Compiled mutual information of all pairs of latents in bins.

Two latents are one code, and rows are counted by the codes of two and two: one step for what four tables are sums of.
Of few rows three latents are counted at once, since adding up their counts would take longer than counting.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Bools, Floats
from unknot.metrics.kernels.column_tables import cut

FEW = 16  # cells of four latents to a row, above which three are counted at once


@njit(cache=True, nogil=True)
def cut_in_twos(columns: Floats, edges: Floats, steps: Floats, codes: NDArray[np.uint16], filled: Bools) -> None:
    """Fill in the joint bins of every two latents.

    Args:
        columns: (b, n) latents; the last one of an odd number has the second bin 0.
        edges: (b, bins) of equal width.
        steps: (b,) between them.
        codes: (b / 2, n) first bin * bins + second bin.
        filled: (b / 2, bins^2) which codes occur.
    """
    (b, n), bins = columns.shape, edges.shape[1]
    first, second = np.empty(n, dtype=np.uint16), np.zeros(n, dtype=np.uint16)
    for i in range(len(codes)):
        cut(columns[2 * i], edges[2 * i], steps[2 * i], first)
        second[:] = 0
        if 2 * i + 1 < b:
            cut(columns[2 * i + 1], edges[2 * i + 1], steps[2 * i + 1], second)
        for r in range(n):
            codes[i, r] = first[r] * bins + second[r]
        filled[i] = False
        for r in range(n):
            filled[i, codes[i, r]] = True


@njit(cache=True, nogil=True)
def entropy_terms(n: int) -> Floats:
    """The numbers c log c (n + 1,) of counts."""
    result = np.zeros(n + 1)
    for c in range(1, n + 1):
        result[c] = c * np.log(c)
    return result


@njit(cache=True, nogil=True)
def pair_information(
    codes: NDArray[np.uint16], filled: Bools, bins: int, logs: Floats, correct: bool, counts: Any, out: Floats
) -> None:
    """Mutual information (2, 2 p) in nats of the first two latents with all.

    Args:
        codes: (p, n) of `cut_in_twos`.
        filled: (p, bins^2) of `cut_in_twos`.
        bins: of a latent.
        logs: of `entropy_terms`.
        correct: subtract the bias (B - 1)(B' - 1) / (2 n), never below 0.
        counts: (bins^2, bins^2) zeros, of a type that holds n, and zeros again afterwards.
        out: is filled.
    """
    p, n = codes.shape
    own = codes[0]
    three = np.empty((2, bins, bins * bins), dtype=np.int32)  # counts of one latent and the first two
    table = np.empty((2, bins, bins), dtype=np.int32)
    first, second = np.arange(bins * bins) // bins, np.arange(bins * bins) % bins
    for i in range(p):
        row = codes[i]
        three[:] = 0
        if FEW * n < bins**4:
            for r in range(n):
                three[0, first[row[r]], own[r]] += 1
                three[1, second[row[r]], own[r]] += 1
        else:
            for r in range(n):
                counts[row[r], own[r]] += 1
            for code in np.flatnonzero(filled[i]):
                cells, one, two = counts[code], three[0, first[code]], three[1, second[code]]
                for c in range(bins * bins):
                    one[c] += cells[c]
                    two[c] += cells[c]
                cells[:] = 0
        for other in range(2):
            table[1] = 0
            for x in range(bins):
                for y in range(bins):
                    cells = three[other, x, y * bins : (y + 1) * bins]
                    table[0, x, y] = cells.sum()
                    for z in range(bins):
                        table[1, x, z] += cells[z]
            for mine in range(2):
                out[mine, 2 * i + other] = _information(table[mine], n, logs, correct)


@njit(cache=True, nogil=True)
def _information(table: NDArray[np.int32], n: int, logs: Floats, correct: bool) -> float:
    total, of_rows, of_columns = 0.0, 0, 0
    for x in range(len(table)):
        in_row, in_column = 0, 0
        for y in range(len(table)):
            in_row += table[x, y]
            in_column += table[y, x]
            total += logs[table[x, y]]
        total -= logs[in_row] + logs[in_column]
        of_rows += in_row > 0
        of_columns += in_column > 0
    mutual = (total + logs[n]) / n
    if correct:
        mutual -= (of_rows - 1) * (of_columns - 1) / (2 * n)
    return float(max(mutual, 0.0))
