"""Several coloured sprites in one small picture, with smooth edges and masks; compiled."""

# mypy: disable-error-code="no-any-return"

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.rendered.sprites import ELLIPSE_U, ELLIPSE_V, HEART_U, SIDE, SQUARE, heart_edges

SQUARE_SHAPE, ELLIPSE_SHAPE = 0, 1
FINE = 4  # samples along each side of a pixel
REACH = 14.0  # pixels of the original size from the middle of a sprite of scale 1, which it does not leave


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
def _box(place: float, reach: float, unit: float, size: int) -> tuple[int, int]:
    """The first pixel along a side that a sprite may touch, and the one after the last."""
    return max(0, int((place - reach) / unit)), min(size, int((place + reach) / unit) + 1)


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _covered(shape: int, pose: NDArray[np.float64], unit: float, i: int, j: int) -> int:
    """How many samples of a pixel lie in a sprite."""
    x, y, scale = pose[0] * SIDE, pose[1] * SIDE, pose[2]
    cosine, sine = math.cos(pose[3]), math.sin(pose[3])
    covered = 0
    for a in range(FINE):
        for b in range(FINE):
            dx, dy = unit * (j + (b + 0.5) / FINE) - x, unit * (i + (a + 0.5) / FINE) - y
            covered += _inside(shape, (dx * cosine - dy * sine) / scale, (dx * sine + dy * cosine) / scale)
    return covered


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
        reach = REACH * poses[k, 2]
        top, bottom = _box(poses[k, 1] * SIDE, reach, unit, size)
        left, right = _box(poses[k, 0] * SIDE, reach, unit, size)
        for i in range(top, bottom):
            for j in range(left, right):
                covered = _covered(shapes[k], poses[k], unit, i, j)
                if covered:
                    share = covered / FINE**2
                    for c in range(3):
                        image[i, j, c] += share * (colors[k, c] - image[i, j, c])
                    if 2 * covered >= FINE**2:
                        mask[i, j] = k + 1


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def paint_alone(
    shapes: NDArray[np.int64], poses: NDArray[np.float64], colors: NDArray[np.float64], images: NDArray[np.uint8]
) -> None:
    """Paint each sprite into a picture of its own, (n, size, size, 3), which is black before."""
    size = images.shape[1]
    unit = SIDE / size
    for k in range(len(shapes)):
        reach = REACH * poses[k, 2]
        top, bottom = _box(poses[k, 1] * SIDE, reach, unit, size)
        left, right = _box(poses[k, 0] * SIDE, reach, unit, size)
        for i in range(top, bottom):
            for j in range(left, right):
                share = _covered(shapes[k], poses[k], unit, i, j) / FINE**2
                for c in range(3):
                    images[k, i, j, c] = np.uint8(np.rint(255 * (share * colors[k, c])))


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def topmost(shapes: NDArray[np.int64], poses: NDArray[np.float64], x: float, y: float) -> int:
    """The sprite on top at a place in [0, 1] x [0, 1]; -1 where there is none."""
    for k in range(len(shapes) - 1, -1, -1):
        dx, dy, scale = SIDE * (x - poses[k, 0]), SIDE * (y - poses[k, 1]), poses[k, 2]
        cosine, sine = math.cos(poses[k, 3]), math.sin(poses[k, 3])
        if _inside(shapes[k], (dx * cosine - dy * sine) / scale, (dx * sine + dy * cosine) / scale):
            return k
    return -1
