"""How a camera sees each body: the camera's rays in the body's frame, and the rectangle it projects to; compiled."""

# To be raised as `_trace` says. Tracer 6.

# mypy: disable-error-code="no-any-return"

import math
from typing import NamedTuple

from numba import njit

from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer._intersect import MISS, inwards, meet, shape_of
from unknot.worlds.raytracer._vectors import (
    INLINE,
    LEAN,
    Table,
    Vector,
    dot,
    minus,
    plus,
    put,
    scaled,
    spanned,
    vector,
)

CLIP = 1e-3  # nearest depth that is projected
THIN = 0.8  # bodies whose thinnest half is fewer pixels than this may hide between corners

# Columns of `views`, one row per body. The eye and the camera's axes in the body's frame:
EYE_HERE, FORWARD_HERE, RIGHT_HERE, UP_HERE = 0, 3, 6, 9
# The rectangle, in pixels from the top left, and whether the body is thin:
TOP, BOTTOM, LEFT, RIGHTMOST, IS_THIN = 12, 13, 14, 15, 16
VIEW_WIDTH = 17


class Camera(NamedTuple):
    """A pinhole camera, and the size of its picture in pixels."""

    eye: Vector
    right: Vector
    up: Vector
    forward: Vector
    tangent: float  # of half the vertical field of view
    pixel: float  # side of a pixel, in tangents
    height: int
    width: int


@njit(**INLINE)
def camera_of(cameras: Table, s: int, height: int, width: int) -> Camera:
    """The camera of scene s."""
    eye, forward = vector(cameras, s, at.EYE), vector(cameras, s, at.FORWARD)
    right, up, tangent = vector(cameras, s, at.RIGHT), vector(cameras, s, at.UP), cameras[s, at.TANGENT]
    return Camera(eye, right, up, forward, tangent, 2.0 * tangent / height, height, width)


@njit(**LEAN)
def _hide(views: Table, b: int) -> None:
    """Give body b an empty rectangle."""
    views[b, TOP], views[b, BOTTOM], views[b, LEFT], views[b, RIGHTMOST] = 1e6, -2.0, 1e6, -2.0
    views[b, IS_THIN] = 0.0


@njit(**LEAN)
def _rectangle(bodies: Table, b: int, camera: Camera, views: Table, corners: Table) -> None:
    """Write the rows and columns, in pixels from the top left, between which body b can be seen."""
    height, width = camera.height, camera.width
    views[b, TOP], views[b, LEFT] = 0.0, 0.0
    views[b, BOTTOM], views[b, RIGHTMOST] = height, width
    views[b, IS_THIN] = 0.0
    kind = int(bodies[b, at.KIND])
    if kind == at.PLANE:
        return
    focal = 0.5 * height / camera.tangent
    center = minus(vector(bodies, b, at.CENTER), camera.eye)
    depth = dot(center, camera.forward)
    thinnest = MISS
    for corner in range(8):
        p = (0.0, 0.0, 0.0)
        for axis in range(3):
            m = vector(bodies, b, at.MAP + 3 * axis)
            size = dot(m, m)
            thinnest = min(thinnest, 1.0 / math.sqrt(size))
            # The frame's axes are orthogonal, so the way back is the transposed map with rows rescaled.
            step = 1.0 / size if corner >> axis & 1 else -1.0 / size
            if axis == 2:
                if kind > at.PLANE:
                    step = 0.0
                elif kind == at.CAPSULE:
                    step *= 1.0 + bodies[b, at.EXTRA]
            p = plus(p, scaled(step, m))
        p = plus(p, center)
        put(corners, corner, 0, (dot(p, camera.right), dot(p, camera.up), dot(p, camera.forward)))
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
    if kind < at.PLANE and depth > CLIP and thinnest * focal / depth < THIN:
        views[b, IS_THIN] = 1.0


@njit(**LEAN)
def look(bodies: Table, camera: Camera, views: Table, corners: Table) -> None:
    """Fill `views`: how a camera sees each body; `corners` (8, 3) is room for those of one."""
    for b in range(len(bodies)):
        if bodies[b, at.KIND] == at.NOTHING or bodies[b, at.BEHIND] != 0.0:
            _hide(views, b)
            continue
        put(views, b, EYE_HERE, inwards(bodies, b, minus(camera.eye, vector(bodies, b, at.CENTER))))
        put(views, b, FORWARD_HERE, inwards(bodies, b, camera.forward))
        put(views, b, RIGHT_HERE, inwards(bodies, b, camera.right))
        put(views, b, UP_HERE, inwards(bodies, b, camera.up))
        _rectangle(bodies, b, camera, views, corners)


@njit(**INLINE)
def meet_view(bodies: Table, b: int, views: Table, u: float, v: float) -> float:
    """Depth at which the camera ray through (u, v), in tangents from the middle, meets body b."""
    d = spanned(vector(views, b, FORWARD_HERE), u, vector(views, b, RIGHT_HERE), v, vector(views, b, UP_HERE))
    return meet(shape_of(bodies, b), vector(views, b, EYE_HERE), d)
