"""Who covers which pixels, counted and not drawn; compiled."""

# To be raised as `_trace` says. Tracer 4.

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer._intersect import MISS
from unknot.worlds.raytracer._vectors import FAST, Table
from unknot.worlds.raytracer._views import BOTTOM, LEFT, RIGHTMOST, TOP, VIEW_WIDTH, camera_of, look, meet_view
from unknot.worlds.raytracer.layout import KIND, NOTHING


@njit(**FAST)
def count(
    cameras: Table,
    packed: NDArray[np.float64],
    height: int,
    width: int,
    visible: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> None:
    """Add up pixels: visible (n, k) of each body, histogram (n, 2^k) by the set of bodies that cover them alone."""
    k = packed.shape[1]
    views, corners = np.empty((k, VIEW_WIDTH)), np.empty((8, 3))
    depths = np.empty((height, width))
    codes = np.empty((height, width), dtype=np.int64)
    first = np.empty((height, width), dtype=np.int64)
    for s in range(len(packed)):
        bodies, camera = packed[s], camera_of(cameras, s, height, width)
        look(bodies, camera, views, corners)
        top, bottom, left, right = height, 0, width, 0  # of all bodies together
        for b in range(k):
            if bodies[b, KIND] != NOTHING and views[b, BOTTOM] >= 0.0 and views[b, RIGHTMOST] >= 0.0:
                top, bottom = min(top, int(views[b, TOP])), max(bottom, min(height, int(views[b, BOTTOM]) + 1))
                left, right = min(left, int(views[b, LEFT])), max(right, min(width, int(views[b, RIGHTMOST]) + 1))
        depths[top:bottom, left:right] = MISS
        codes[top:bottom, left:right] = 0
        for b in range(k):
            if bodies[b, KIND] == NOTHING:
                continue
            for i in range(max(0, int(views[b, TOP] - 0.5)), min(bottom, int(views[b, BOTTOM] + 0.5) + 1)):
                v = camera.pixel * (0.5 * height - i - 0.5)
                for j in range(max(0, int(views[b, LEFT] - 0.5)), min(right, int(views[b, RIGHTMOST] + 0.5) + 1)):
                    t = meet_view(bodies, b, views, camera.pixel * (j + 0.5 - 0.5 * width), v)
                    if t < MISS:
                        codes[i, j] |= 1 << b
                        if t < depths[i, j]:
                            depths[i, j] = t
                            first[i, j] = b
        for i in range(top, bottom):
            for j in range(left, right):
                if codes[i, j]:
                    histogram[s, codes[i, j]] += 1
                    visible[s, first[i, j]] += 1
        histogram[s, 0] = height * width - histogram[s, 1:].sum()
