"""Several coloured sprites in one small picture, with smooth edges and masks; compiled."""

# mypy: disable-error-code="no-any-return"

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.rendered.sprites import ELLIPSE_U, ELLIPSE_V, HEART_U, SIDE, SQUARE, heart_edges

SQUARE_SHAPE, ELLIPSE_SHAPE = 0, 1
FINE = 4  # samples along each side of a pixel


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _inside(shape: int, u: float, v: float) -> bool:
    """Whether a point, in pixels of a 64 x 64 image from the sprite's middle, lies in the sprite of scale 1."""
    if shape == SQUARE_SHAPE:
        return max(abs(u), abs(v)) < SQUARE
    if shape == ELLIPSE_SHAPE:
        return (u / ELLIPSE_U) ** 2 + (v / ELLIPSE_V) ** 2 < 1.0
    if abs(u) >= HEART_U:
        return False
    top, bottom = heart_edges(abs(u) / HEART_U)
    return top < v < bottom


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def paint(
    shapes: NDArray[np.int64],
    poses: NDArray[np.float64],
    colors: NDArray[np.float64],
    image: NDArray[np.float64],
    mask: NDArray[np.uint8],
) -> None:
    """Paint sprites over each other, the last on top: poses (k, 4) are x, y in [0, 1], scale, orientation."""
    size = len(image)
    unit = SIDE / size  # pixels of the original size in one of ours
    for k in range(len(shapes)):
        x, y, scale = poses[k, 0] * SIDE, poses[k, 1] * SIDE, poses[k, 2]
        cosine, sine = math.cos(poses[k, 3]), math.sin(poses[k, 3])
        reach = 14.0 * scale
        for i in range(max(0, int((y - reach) / unit)), min(size, int((y + reach) / unit) + 1)):
            for j in range(max(0, int((x - reach) / unit)), min(size, int((x + reach) / unit) + 1)):
                covered = 0
                for a in range(FINE):
                    for b in range(FINE):
                        dx, dy = unit * (j + (b + 0.5) / FINE) - x, unit * (i + (a + 0.5) / FINE) - y
                        u, v = (dx * cosine - dy * sine) / scale, (dx * sine + dy * cosine) / scale
                        covered += _inside(shapes[k], u, v)
                if covered:
                    share = covered / FINE**2
                    for c in range(3):
                        image[i, j, c] += share * (colors[k, c] - image[i, j, c])
                    if 2 * covered >= FINE**2:
                        mask[i, j] = k + 1


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def topmost(shapes: NDArray[np.int64], poses: NDArray[np.float64], x: float, y: float) -> int:
    """The sprite on top at a place in [0, 1] x [0, 1]; -1 where there is none."""
    for k in range(len(shapes) - 1, -1, -1):
        dx, dy, scale = SIDE * (x - poses[k, 0]), SIDE * (y - poses[k, 1]), poses[k, 2]
        cosine, sine = math.cos(poses[k, 3]), math.sin(poses[k, 3])
        if _inside(shapes[k], (dx * cosine - dy * sine) / scale, (dx * sine + dy * cosine) / scale):
            return k
    return -1
