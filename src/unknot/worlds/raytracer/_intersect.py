"""Where a ray meets a unit shape, and the normal there; compiled.

Every shape is a unit shape in its own frame: a solid fills the cube [-1, 1]^3 (a capsule is longer along z), a flat
one lies in z = 0. Rays are moved into that frame by an affine map without being normalised, so the parameter t
is the same in both frames. All solids are convex and seen from outside.
"""

# mypy: disable-error-code="no-any-return"

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer.layout import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    PLANE,
    POLYHEDRON,
    RECTANGLE,
    ROUNDED_BOX,
    SPHERE,
)

MISS = 1e30  # a finite stand-in for infinity
NEAR = 1e-7  # a ray does not meet the surface it starts from
_PARALLEL = 1e-14  # keeps divisions finite for rays along a face or an axis

# No "nnan" and "ninf": a grazing ray may divide by zero, and the comparisons after it must stay right.
FAST: Any = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz", "reassoc", "afn"}}
# Functions that make no arrays need not count references to them; the counting took more than half of the time.
LEAN: Any = {**FAST, "_nrt": False}
INLINE: Any = {**LEAN, "forceinline": True}


@njit(**INLINE)
def _away_from_zero(x: float) -> float:
    return _PARALLEL if abs(x) < _PARALLEL else x


@njit(**INLINE)
def _sphere(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    a = dx * dx + dy * dy + dz * dz
    b = ox * dx + oy * dy + oz * dz
    c = ox * ox + oy * oy + oz * oz - 1.0
    q = b * b - a * c
    if q <= 0.0:
        return MISS
    t = (-b - q**0.5) / a
    return t if t > NEAR else MISS


@njit(**INLINE)
def _box(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    ix, iy, iz = 1.0 / _away_from_zero(dx), 1.0 / _away_from_zero(dy), 1.0 / _away_from_zero(dz)
    hx, hy, hz = abs(ix), abs(iy), abs(iz)
    enter = max(-ox * ix - hx, max(-oy * iy - hy, -oz * iz - hz))
    leave = min(hx - ox * ix, min(hy - oy * iy, hz - oz * iz))
    return enter if enter < leave and enter > NEAR else MISS


@njit(**LEAN)
def _edge(
    ring: float, u: float, v: float, w: float, du: float, dv: float, dw: float, su: float, sv: float
) -> float:
    """Where a ray meets the rounded edge of a box along w, at the corner (su, sv) of its uv square, or its end."""
    inner = 1.0 - ring
    u, v = u - su * inner, v - sv * inner
    a = max(du * du + dv * dv, _PARALLEL)
    b, q = u * du + v * dv, u * u + v * v - ring * ring
    q = b * b - a * q
    if q <= 0.0:
        return MISS
    t = (-b - q**0.5) / a
    end = w + t * dw
    if abs(end) > inner:  # beyond the edge: the ball in the corner
        w -= inner if end > 0.0 else -inner
        a = du * du + dv * dv + dw * dw
        b += w * dw
        q = b * b - a * (u * u + v * v + w * w - ring * ring)
        if q <= 0.0:
            return MISS
        t = (-b - q**0.5) / a
    return t if t > NEAR else MISS


@njit(**LEAN)
def _rounded_box(ring: float, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    """All points within `ring` of the box of half side 1 - ring."""
    ix, iy, iz = 1.0 / _away_from_zero(dx), 1.0 / _away_from_zero(dy), 1.0 / _away_from_zero(dz)
    hx, hy, hz = abs(ix), abs(iy), abs(iz)
    enter = max(-ox * ix - hx, max(-oy * iy - hy, -oz * iz - hz))
    leave = min(hx - ox * ix, min(hy - oy * iy, hz - oz * iz))
    # A ray may start under an overhanging edge, that is within the sharp box.
    start = max(enter, 0.0)
    if start >= leave:
        return MISS
    x, y, z = ox + start * dx, oy + start * dy, oz + start * dz
    inner = 1.0 - ring
    if (abs(x) > inner) + (abs(y) > inner) + (abs(z) > inner) < 2:
        return enter if enter > NEAR else MISS
    sx, sy, sz = 1.0 if x > 0.0 else -1.0, 1.0 if y > 0.0 else -1.0, 1.0 if z > 0.0 else -1.0
    t = _edge(ring, oy, oz, ox, dy, dz, dx, sy, sz)
    t = min(t, _edge(ring, oz, ox, oy, dz, dx, dy, sz, sx))
    return min(t, _edge(ring, ox, oy, oz, dx, dy, dz, sx, sy))


@njit(**INLINE)
def _cylinder(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    """The interval inside the endless cylinder, cut by the interval between the caps."""
    a = max(dx * dx + dy * dy, _PARALLEL)
    b = ox * dx + oy * dy
    q = b * b - a * (ox * ox + oy * oy - 1.0)
    if q <= 0.0:
        return MISS
    root = q**0.5
    iz = 1.0 / _away_from_zero(dz)
    enter = max((-b - root) / a, -oz * iz - abs(iz))
    leave = min((root - b) / a, abs(iz) - oz * iz)
    return enter if enter < leave and enter > NEAR else MISS


@njit(**INLINE)
def _cone(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    """Apex at z = 1, base of radius 1 at z = -1: radius (1 - z) / 2."""
    best = MISS
    rise, slope = 0.5 * (1.0 - oz), -0.5 * dz  # the radius along the ray is rise + t * slope
    a = _away_from_zero(dx * dx + dy * dy - slope * slope)
    b = ox * dx + oy * dy - rise * slope
    q = b * b - a * (ox * ox + oy * oy - rise * rise)
    if q > 0.0:
        root = q**0.5
        t = (-b - root) / a
        if t > NEAR and abs(oz + t * dz) <= 1.0:
            best = t
        t = (root - b) / a
        if NEAR < t < best and abs(oz + t * dz) <= 1.0:
            best = t
    t = (-1.0 - oz) / _away_from_zero(dz)
    if NEAR < t < best:
        x, y = ox + t * dx, oy + t * dy
        if x * x + y * y <= 1.0:
            best = t
    return best


@njit(**INLINE)
def _capsule(half: float, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    """All points within 1 of the segment from z = -half to z = half."""
    a = max(dx * dx + dy * dy, _PARALLEL)
    b = ox * dx + oy * dy
    q = b * b - a * (ox * ox + oy * oy - 1.0)
    if q <= 0.0:
        return MISS
    t = (-b - q**0.5) / a
    z = oz + t * dz
    if abs(z) <= half:
        return t if t > NEAR else MISS
    return _sphere(ox, oy, oz - half if z > 0.0 else oz + half, dx, dy, dz)


@njit(**INLINE)
def _polyhedron(
    faces: NDArray[np.float64],
    first: int,
    last: int,
    ox: float,
    oy: float,
    oz: float,
    dx: float,
    dy: float,
    dz: float,
) -> float:
    """The intersection of the half-spaces n . p <= offset, each row of `faces` being (n, offset)."""
    enter, leave = -MISS, MISS
    for f in range(first, last):
        along = faces[f, 0] * dx + faces[f, 1] * dy + faces[f, 2] * dz
        gap = faces[f, 3] - (faces[f, 0] * ox + faces[f, 1] * oy + faces[f, 2] * oz)
        t = gap / _away_from_zero(along)
        if along < 0.0:
            enter = max(enter, t)
        elif along > 0.0:
            leave = min(leave, t)
        elif gap < 0.0:
            return MISS
    return enter if enter < leave and enter > NEAR else MISS


@njit(**INLINE)
def _flat(kind: int, hole: float, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float) -> float:
    t = -oz / _away_from_zero(dz)
    if t <= NEAR:
        return MISS
    if kind != PLANE:
        x, y = ox + t * dx, oy + t * dy
        if kind == RECTANGLE:
            if abs(x) > 1.0 or abs(y) > 1.0:
                return MISS
        else:
            r = x * x + y * y
            if r > 1.0 or r < hole * hole:
                return MISS
    return t


@njit(**INLINE)
def meet(
    kind: int,
    extra: float,
    faces: NDArray[np.float64],
    first: int,
    last: int,
    ox: float,
    oy: float,
    oz: float,
    dx: float,
    dy: float,
    dz: float,
) -> float:
    """The smallest t > 0 at which o + t d enters the shape, or MISS.

    `extra` is the half length of a capsule's segment, the inner radius of a disc or the radius of rounded edges;
    `first` and `last` say which rows of `faces` bound a polyhedron.
    """
    if kind == SPHERE:
        return _sphere(ox, oy, oz, dx, dy, dz)
    if kind == BOX:
        return _box(ox, oy, oz, dx, dy, dz)
    if kind == CYLINDER:
        return _cylinder(ox, oy, oz, dx, dy, dz)
    if kind == CONE:
        return _cone(ox, oy, oz, dx, dy, dz)
    if kind == CAPSULE:
        return _capsule(extra, ox, oy, oz, dx, dy, dz)
    if kind == ROUNDED_BOX:
        return _rounded_box(extra, ox, oy, oz, dx, dy, dz)
    if kind == POLYHEDRON:
        return _polyhedron(faces, first, last, ox, oy, oz, dx, dy, dz)
    if kind >= PLANE:
        return _flat(kind, extra, ox, oy, oz, dx, dy, dz)
    return MISS


@njit(**INLINE)
def normal(
    kind: int, extra: float, faces: NDArray[np.float64], first: int, last: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """The outward normal, not normalised, at a point of the surface.

    Which face the point is on follows from the point alone: each face is the zero set of a function that is
    negative inside, and the largest of these functions belongs to the face that was met.
    """
    if kind == SPHERE:
        return x, y, z
    if kind == BOX:
        ax, ay, az = abs(x), abs(y), abs(z)
        if ax >= ay and ax >= az:
            return x, 0.0, 0.0
        if ay >= az:
            return 0.0, y, 0.0
        return 0.0, 0.0, z
    if kind == CYLINDER:
        if extra > 0.0:  # the rim is sharp, but shines like a round one
            r = (x * x + y * y) ** 0.5
            out, over = r - 1.0 + extra, abs(z) - 1.0 + extra
            if out > 0.0 and over > 0.0:
                return x * out / r, y * out / r, over if z > 0.0 else -over
        return (x, y, 0.0) if x * x + y * y > z * z else (0.0, 0.0, z)
    if kind == ROUNDED_BOX:
        inner = 1.0 - extra
        return (
            x - max(-inner, min(inner, x)),
            y - max(-inner, min(inner, y)),
            z - max(-inner, min(inner, z)),
        )
    if kind == CONE:
        r = (x * x + y * y) ** 0.5
        return (x, y, 0.5 * r) if r - 0.5 * (1.0 - z) > -1.0 - z else (0.0, 0.0, -1.0)
    if kind == CAPSULE:
        return x, y, z - max(-extra, min(extra, z))
    if kind == POLYHEDRON:
        best, face = -MISS, first
        for f in range(first, last):
            over = faces[f, 0] * x + faces[f, 1] * y + faces[f, 2] * z - faces[f, 3]
            if over > best:
                best, face = over, f
        return faces[face, 0], faces[face, 1], faces[face, 2]
    return 0.0, 0.0, 1.0
