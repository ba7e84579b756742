"""Compiled mutual information of all pairs of latents in bins."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats


@njit(cache=True, nogil=True)
def pair_information(
    codes: NDArray[np.uint8], bins: int, others: NDArray[np.uint8], correct: bool, out: Floats
) -> None:
    """Mutual information (a, b) in nats of latents (a, n) and others (b, n), two of the others at a time.

    Rows are counted by the joint code of two others, which halves the steps; the tables of both are sums of that.

    Args:
        codes: bin numbers below `bins`.
        bins: at most 32.
        others: the same of other latents.
        correct: subtract the bias (B - 1)(B' - 1) / (2 n), never below 0.
        out: is filled.
    """
    a, n = codes.shape
    b = len(others)
    logs = np.zeros(n + 1)  # c log c
    for c in range(1, n + 1):
        logs[c] = c * np.log(c)
    joint = np.empty(n, dtype=np.uint16)
    counts = np.empty((bins, 32 * 32), dtype=np.int32)
    table = np.empty((2, bins, bins), dtype=np.int32)
    for second in range(0, b, 2):
        both = min(2, b - second)
        for r in range(n):
            joint[r] = (others[second, r] << 5) + others[second + both - 1, r]
        for i in range(a):
            counts[:] = 0
            row = codes[i]
            for r in range(n):
                counts[row[r], joint[r]] += 1
            table[:] = 0
            for x in range(bins):
                for y in range(bins):
                    for z in range(bins):
                        c = counts[x, (y << 5) + z]
                        table[0, x, y] += c
                        table[1, x, z] += c
            for other in range(both):
                out[i, second + other] = _information(table[other], n, logs, correct)


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
