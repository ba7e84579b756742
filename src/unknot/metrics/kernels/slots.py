"""Compiled greedy matching of slots: four images at a time, and two."""

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints

ROUNDING = 1e-12  # residuals closer than this share of the largest are a tie


@njit(cache=True)
def match_four(a: Floats, b: Floats, c: Floats, d: Floats, order: Ints) -> None:
    """Fill order (n, k, 4): in each of k rounds the free slots of a, b, c, d with the least |b - a + c - d|^2.

    The residual of a quadruple is |b - a|^2 + |c - d|^2 + 2 (b - a).(c - d), and the last product is four inner
    products of slots, so that k^4 residuals cost k^2 products. Ties go to the first in index order.
    """
    n, k, width = a.shape
    before, after = np.empty((k, k)), np.empty((k, k))
    ac, ad, bc, bd = np.empty((k, k)), np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    free = np.empty((4, k), dtype=np.bool_)
    centre = np.empty(width)
    for t in range(n):
        centre[:] = 0.0
        for i in range(k):
            for s in range(width):
                centre[s] += a[t, i, s] + b[t, i, s] + c[t, i, s] + d[t, i, s]
        centre /= 4 * k
        largest = 0.0
        for i in range(k):
            for j in range(k):
                u_u, w_w, a_c, a_d, b_c, b_d = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for s in range(width):
                    u, w = b[t, j, s] - a[t, i, s], c[t, i, s] - d[t, j, s]
                    a_i, b_i = a[t, i, s] - centre[s], b[t, i, s] - centre[s]
                    c_j, d_j = c[t, j, s] - centre[s], d[t, j, s] - centre[s]
                    u_u += u * u
                    w_w += w * w
                    a_c += a_i * c_j
                    a_d += a_i * d_j
                    b_c += b_i * c_j
                    b_d += b_i * d_j
                before[i, j], after[i, j] = u_u, w_w
                ac[i, j], ad[i, j], bc[i, j], bd[i, j] = a_c, a_d, b_c, b_d
                largest = max(largest, u_u, w_w)
        free[:] = True
        for r in range(k):
            least = np.inf
            for i in range(k):
                if not free[0, i]:
                    continue
                for j in range(k):
                    if not free[1, j]:
                        continue
                    for p in range(k):
                        if not free[2, p]:
                            continue
                        known = before[i, j] + 2 * (bc[j, p] - ac[i, p])
                        for q in range(k):
                            if free[3, q]:
                                residual = known + after[p, q] + 2 * (ad[i, q] - bd[j, q])
                                if residual < least - ROUNDING * largest:
                                    least = residual
                                    order[t, r, 0], order[t, r, 1] = i, j
                                    order[t, r, 2], order[t, r, 3] = p, q
            for image in range(4):
                free[image, order[t, r, image]] = False


@njit(cache=True)
def match_two(distances: Floats, order: Ints) -> None:
    """Fill order (n, k): the column of each row of distances (n, k, k), the closest free pair first."""
    n, k, _ = distances.shape
    free = np.empty((2, k), dtype=np.bool_)
    for t in range(n):
        free[:] = True
        for _ in range(k):
            least, row, column = np.inf, -1, -1
            for i in range(k):
                if free[0, i]:
                    for j in range(k):
                        if free[1, j] and distances[t, i, j] < least:
                            least, row, column = distances[t, i, j], i, j
            order[t, row] = column
            free[0, row] = False
            free[1, column] = False
