"""The sprites of dSprites, pixel by pixel, compiled.

A pixel is white when its centre lies strictly inside the turned, scaled and moved shape: no anti-aliasing. Only
pixels within the shape's radius of its centre are looked at.
"""

import math
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

SIDE = 64
# Unit-scale geometry in pixels, fitted to frames published with the dataset.
SQUARE = 9.6  # half a side
ELLIPSE_U = 12.76  # half the long axis
ELLIPSE_V = 7.215  # half the short axis
# The heart is u = HEART_U sin^3 t, v = -(HEART_K (13 cos t - 5 cos 2t - 2 cos 3t - cos 4t) + HEART_SHIFT).
HEART_U = 0.5997 * 16
HEART_K = 19.2 / 29
HEART_SHIFT = 1.435
# Square, ellipse, heart: the units that u and v are measured in, and the distance, rounded up, from the point the
# shape turns about to its farthest point.
UNITS = np.array([[SQUARE, SQUARE, 13.58], [ELLIPSE_U, ELLIPSE_V, 12.77], [HEART_U, 1.0, 11.26]])

COLUMNS = 512  # of the table of the heart's edges


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def heart_edges(u: float) -> tuple[float, float]:
    """Upper and lower v of the heart at 0 <= u <= 1, with u in units of HEART_U.

    With c = cos t the multiple-angle terms sum to 4 + 19 c - 2 c^2 - 8 c^3 - 8 c^4. Every u belongs to two t, of
    opposite c, and sin^3 t = u gives c^2; so the heart is the stretch between two v above each u.
    """
    q = np.cbrt(u)
    cc = max(0.0, 1.0 - q * q)
    c = math.sqrt(cc)
    even = 4.0 - 2.0 * cc - 8.0 * cc * cc
    odd = c * (19.0 - 8.0 * cc)
    return -(HEART_K * (even + odd) + HEART_SHIFT), -(HEART_K * (even - odd) + HEART_SHIFT)


@cache
def heart_columns() -> NDArray[np.float64]:
    """For each of COLUMNS equal steps of u: the v that may be inside (two bounds), and those that surely are.

    Cube roots cost more than all the rest of a heart, so the kernel computes them only in rows with a pixel that
    falls between the two pairs of bounds. Both edges are monotone in u but for the top of a lobe.
    """
    # Top of a lobe: where 19 - 4 c - 24 c^2 - 32 c^3, the slope of the upper edge in c, is zero.
    roots = np.roots([-32.0, -24.0, -4.0, 19.0])
    c = float(roots[np.isreal(roots)].real[0])
    lobe = (1.0 - c * c) ** 1.5
    edges = np.array([heart_edges(u) for u in np.linspace(0.0, 1.0, COLUMNS + 1)])
    low, high = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
    j = int(lobe * COLUMNS)
    low[j, 0] = min(low[j, 0], heart_edges(lobe)[0])
    margin = 1e-6  # far above rounding at a column's border, far below a pixel
    bounds = [low[:, 0] - margin, high[:, 1] + margin, high[:, 0] + margin, low[:, 1] - margin]
    nowhere = np.zeros((1, 4))  # beyond the last column nothing is inside
    return np.concatenate([np.stack(bounds, axis=1), nowhere])


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def draw(
    shape: NDArray[np.int64],
    scale: NDArray[np.float64],
    orientation: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    units: NDArray[np.float64],
    columns: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> None:
    """Draw sprite i into out[i], an image of SIDE x SIDE: 255 inside, 0 outside."""
    for i in range(len(shape)):
        image = out[i]
        image[:, :] = 0
        kind = shape[i]
        cos, sin = math.cos(orientation[i]) / scale[i], math.sin(orientation[i]) / scale[i]
        # Steps of (u, v) for one pixel to the right and one down, in units of the shape's own half-axes.
        right_u, right_v = cos / units[kind, 0], sin / units[kind, 1]
        down_u, down_v = -sin / units[kind, 0], cos / units[kind, 1]
        cx, cy = 16.0 + 32.0 * x[i], 16.0 + 32.0 * y[i]
        radius = units[kind, 2] * scale[i]
        for row in range(max(0, math.floor(cy - radius)), min(SIDE, math.ceil(cy + radius))):
            dy = row + 0.5 - cy
            half = math.sqrt(max(0.0, radius * radius - dy * dy))
            first, last = max(0, math.floor(cx - half)), min(SIDE, math.ceil(cx + half))
            line = image[row, first : max(first, last)]
            left, u0, v0 = first + 0.5 - cx, dy * down_u, dy * down_v
            if kind == 0:
                for k in range(len(line)):
                    u, v = (left + k) * right_u + u0, (left + k) * right_v + v0
                    line[k] = 255 * ((abs(u) < 1.0) & (abs(v) < 1.0))
            elif kind == 1:
                for k in range(len(line)):
                    u, v = (left + k) * right_u + u0, (left + k) * right_v + v0
                    line[k] = 255 * (u * u + v * v < 1.0)
            else:
                doubts = 0
                for k in range(len(line)):
                    u, v = abs((left + k) * right_u + u0), (left + k) * right_v + v0
                    column = columns[np.uint64(min(u, 1.0) * COLUMNS)]
                    inside = (column[2] < v) & (v < column[3])
                    doubts += (column[0] < v) & (v < column[1]) & (not inside)
                    line[k] = 255 * inside
                if doubts:
                    for k in range(len(line)):
                        u, v = abs((left + k) * right_u + u0), (left + k) * right_v + v0
                        if u < 1.0:
                            top, bottom = heart_edges(u)
                            line[k] = 255 * ((top < v) & (v < bottom))
