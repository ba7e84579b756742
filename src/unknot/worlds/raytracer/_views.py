"""How a camera sees each body: the camera's rays in the body's frame, and the rectangle it projects to; compiled."""

# To be raised as `_trace` says. Tracer 3.

# mypy: disable-error-code="no-any-return"

import math

from numba import njit

from unknot.worlds.raytracer._intersect import INLINE, LEAN, MISS, meet
from unknot.worlds.raytracer._shade import Scenes, Table
from unknot.worlds.raytracer.layout import (
    CAPSULE,
    CENTER,
    EXTRA,
    EYE,
    FIRST_FACE,
    FORWARD,
    KIND,
    LAST_FACE,
    MAP,
    NOTHING,
    PLANE,
    RIGHT,
    TANGENT,
    UP,
)

CLIP = 1e-3  # nearest depth that is projected
THIN = 0.8  # bodies whose thinnest half is fewer pixels than this may hide between corners

# Columns of `views`, one row per body. The eye and the camera's axes in the body's frame:
EYE_HERE, FORWARD_HERE, RIGHT_HERE, UP_HERE = 0, 3, 6, 9
# The rectangle, in pixels from the top left, and whether the body is thin:
TOP, BOTTOM, LEFT, RIGHTMOST, IS_THIN = 12, 13, 14, 15, 16
VIEW_WIDTH = 17


@njit(**LEAN)
def _hide(views: Table, b: int) -> None:
    """Give body b an empty rectangle."""
    views[b, TOP], views[b, BOTTOM], views[b, LEFT], views[b, RIGHTMOST] = 1e6, -2.0, 1e6, -2.0
    views[b, IS_THIN] = 0.0


@njit(**LEAN)
def _rectangle(
    bodies: Scenes, s: int, b: int, cameras: Table, height: int, width: int, views: Table, corners: Table
) -> None:
    """Write the rows and columns, in pixels from the top left, between which body b can be seen."""
    views[b, TOP], views[b, LEFT] = 0.0, 0.0
    views[b, BOTTOM], views[b, RIGHTMOST] = height, width
    views[b, IS_THIN] = 0.0
    kind = int(bodies[s, b, KIND])
    if kind == PLANE:
        return
    focal = 0.5 * height / cameras[s, TANGENT]
    depth = 0.0
    for k in range(3):
        depth += (bodies[s, b, CENTER + k] - cameras[s, EYE + k]) * cameras[s, FORWARD + k]
    thinnest = MISS
    for corner in range(8):
        x, y, z = 0.0, 0.0, 0.0
        for axis in range(3):
            row = MAP + 3 * axis
            m0, m1, m2 = bodies[s, b, row], bodies[s, b, row + 1], bodies[s, b, row + 2]
            size = m0 * m0 + m1 * m1 + m2 * m2
            thinnest = min(thinnest, 1.0 / math.sqrt(size))
            # The frame's axes are orthogonal, so the way back is the transposed map with rows rescaled.
            step = 1.0 / size if corner >> axis & 1 else -1.0 / size
            if axis == 2:
                if kind > PLANE:
                    step = 0.0
                elif kind == CAPSULE:
                    step *= 1.0 + bodies[s, b, EXTRA]
            x, y, z = x + step * m0, y + step * m1, z + step * m2
        x += bodies[s, b, CENTER] - cameras[s, EYE]
        y += bodies[s, b, CENTER + 1] - cameras[s, EYE + 1]
        z += bodies[s, b, CENTER + 2] - cameras[s, EYE + 2]
        corners[corner, 0] = x * cameras[s, RIGHT] + y * cameras[s, RIGHT + 1] + z * cameras[s, RIGHT + 2]
        corners[corner, 1] = x * cameras[s, UP] + y * cameras[s, UP + 1] + z * cameras[s, UP + 2]
        corners[corner, 2] = x * cameras[s, FORWARD] + y * cameras[s, FORWARD + 1] + z * cameras[s, FORWARD + 2]
    left, right, low, high = MISS, -MISS, MISS, -MISS
    for corner in range(8):
        z = corners[corner, 2]
        if z >= CLIP:
            x, y = corners[corner, 0] / z, corners[corner, 1] / z
            left, right, low, high = min(left, x), max(right, x), min(low, y), max(high, y)
        for axis in range(3):  # edges that pass through the plane of nearest depth
            other = corner ^ (1 << axis)
            if other > corner and (z >= CLIP) != (corners[other, 2] >= CLIP):
                share = (CLIP - z) / (corners[other, 2] - z)
                x = (corners[corner, 0] + share * (corners[other, 0] - corners[corner, 0])) / CLIP
                y = (corners[corner, 1] + share * (corners[other, 1] - corners[corner, 1])) / CLIP
                left, right, low, high = min(left, x), max(right, x), min(low, y), max(high, y)
    if left > right:  # all of it is behind the camera
        _hide(views, b)
        return
    slack = 1e-6 * width
    views[b, LEFT] = max(0.0, 0.5 * width + focal * left - slack)
    views[b, RIGHTMOST] = min(float(width), 0.5 * width + focal * right + slack)
    views[b, TOP] = max(0.0, 0.5 * height - focal * high - slack)
    views[b, BOTTOM] = min(float(height), 0.5 * height - focal * low + slack)
    if kind < PLANE and depth > CLIP and thinnest * focal / depth < THIN:
        views[b, IS_THIN] = 1.0


@njit(**LEAN)
def look(bodies: Scenes, s: int, cameras: Table, height: int, width: int, views: Table, corners: Table) -> None:
    """Fill `views`: how the camera of scene s sees each body."""
    for b in range(bodies.shape[1]):
        if bodies[s, b, KIND] == NOTHING:
            _hide(views, b)
            continue
        for axis in range(3):
            eye, forward, right, up = 0.0, 0.0, 0.0, 0.0
            for k in range(3):
                m = bodies[s, b, MAP + 3 * axis + k]
                eye += m * (cameras[s, EYE + k] - bodies[s, b, CENTER + k])
                forward += m * cameras[s, FORWARD + k]
                right += m * cameras[s, RIGHT + k]
                up += m * cameras[s, UP + k]
            views[b, EYE_HERE + axis], views[b, FORWARD_HERE + axis] = eye, forward
            views[b, RIGHT_HERE + axis], views[b, UP_HERE + axis] = right, up
        _rectangle(bodies, s, b, cameras, height, width, views, corners)


@njit(**INLINE)
def meet_view(bodies: Scenes, s: int, b: int, faces: Table, views: Table, u: float, v: float) -> float:
    """Depth at which the camera ray through (u, v), in tangents from the middle, meets body b."""
    return meet(
        int(bodies[s, b, KIND]),
        bodies[s, b, EXTRA],
        faces,
        int(bodies[s, b, FIRST_FACE]),
        int(bodies[s, b, LAST_FACE]),
        views[b, EYE_HERE],
        views[b, EYE_HERE + 1],
        views[b, EYE_HERE + 2],
        views[b, FORWARD_HERE] + u * views[b, RIGHT_HERE] + v * views[b, UP_HERE],
        views[b, FORWARD_HERE + 1] + u * views[b, RIGHT_HERE + 1] + v * views[b, UP_HERE + 1],
        views[b, FORWARD_HERE + 2] + u * views[b, RIGHT_HERE + 2] + v * views[b, UP_HERE + 2],
    )
