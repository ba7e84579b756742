"""Compiled losses of tuples of long codes, without the copies that numpy would make of them."""

import math

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats


@njit(cache=True)
def residuals_and_angles(
    a: Floats, b: Floats, c: Floats, d: Floats, nothing: float, squares: Floats, angles: Floats, longest: Floats
) -> None:
    """Fill |b - a + c - d|^2, the angle between u = b - a and v = d - c, and the longest code of each row.

    The angle is 2 atan2(| |v| u - |u| v |, | |v| u + |u| v |), which is exact near 0, where the arc cosine of a product
    loses half the digits. It is NaN where u or v is shorter than `nothing` times the longest code.
    """
    n, width = a.shape
    for t in range(n):
        a_a, b_b, c_c, d_d, u_u, v_v, apart = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for s in range(width):
            u, v = b[t, s] - a[t, s], d[t, s] - c[t, s]
            rest = b[t, s] - a[t, s] + c[t, s] - d[t, s]
            a_a += a[t, s] * a[t, s]
            b_b += b[t, s] * b[t, s]
            c_c += c[t, s] * c[t, s]
            d_d += d[t, s] * d[t, s]
            u_u += u * u
            v_v += v * v
            apart += rest * rest
        squares[t] = apart
        longest[t] = math.sqrt(max(a_a, b_b, c_c, d_d))
        long, wide = math.sqrt(u_u), math.sqrt(v_v)
        if long <= nothing * longest[t] or wide <= nothing * longest[t]:
            angles[t] = np.nan
            continue
        minus, plus = 0.0, 0.0
        for s in range(width):
            u, v = (b[t, s] - a[t, s]) / long, (d[t, s] - c[t, s]) / wide
            minus += (u - v) * (u - v)
            plus += (u + v) * (u + v)
        angles[t] = 2 * math.atan2(math.sqrt(minus), math.sqrt(plus))
