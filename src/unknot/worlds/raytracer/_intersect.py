"""Where a ray meets a body, and the normal there; compiled.

Every shape is a unit shape in its own frame: a solid fills the cube [-1, 1]^3 (a capsule is longer along z), a flat
one lies in z = 0. Rays o + t d are moved into that frame by an affine map without being normalised, so the parameter
t is the same in both frames. All solids are convex and seen from outside.
"""

# To be raised as `_trace` says. Tracer 6.

# mypy: disable-error-code="no-any-return"

from typing import NamedTuple

from numba import njit

from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer._vectors import INLINE, LEAN, Table, Vector, dot, minus, plus, scaled, vector

MISS = 1e30  # a finite stand-in for infinity
NEAR = 1e-7  # a ray does not meet the surface it starts from
_PARALLEL = 1e-14  # keeps divisions finite for rays along a face or an axis


class Shape(NamedTuple):
    """A unit shape."""

    kind: int
    extra: float  # half the length of a capsule's segment, a disc's inner radius or the radius of rounded edges
    first: int  # of the rows of FACES that bound a polyhedron
    last: int


@njit(**INLINE)
def _away_from_zero(x: float) -> float:
    return _PARALLEL if abs(x) < _PARALLEL else x


@njit(**INLINE)
def _sphere(o: Vector, d: Vector) -> float:
    a, b = dot(d, d), dot(o, d)
    q = b * b - a * (dot(o, o) - 1.0)
    if q <= 0.0:
        return MISS
    t = (-b - q**0.5) / a
    return t if t > NEAR else MISS


@njit(**INLINE)
def _in_cube(o: Vector, d: Vector) -> tuple[float, float]:
    """Where a ray enters the cube and where it leaves it; the second is the smaller if it never does."""
    (ox, oy, oz), (dx, dy, dz) = o, d
    ix, iy, iz = 1.0 / _away_from_zero(dx), 1.0 / _away_from_zero(dy), 1.0 / _away_from_zero(dz)
    hx, hy, hz = abs(ix), abs(iy), abs(iz)
    enter = max(-ox * ix - hx, max(-oy * iy - hy, -oz * iz - hz))
    return enter, min(hx - ox * ix, min(hy - oy * iy, hz - oz * iz))


@njit(**INLINE)
def _box(o: Vector, d: Vector) -> float:
    enter, leave = _in_cube(o, d)
    return enter if enter < leave and enter > NEAR else MISS


@njit(**LEAN)
def _edge(ring: float, o: Vector, d: Vector, su: float, sv: float) -> float:
    """Where a ray meets the rounded edge of a box along its last axis, at the corner (su, sv), or the edge's end."""
    (u, v, w), (du, dv, dw) = o, d
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
def _rounded_box(ring: float, o: Vector, d: Vector) -> float:
    """All points within `ring` of the box of half side 1 - ring."""
    enter, leave = _in_cube(o, d)
    # A ray may start under an overhanging edge, that is within the sharp box.
    start = max(enter, 0.0)
    if start >= leave:
        return MISS
    x, y, z = plus(o, scaled(start, d))
    inner = 1.0 - ring
    if (abs(x) > inner) + (abs(y) > inner) + (abs(z) > inner) < 2:
        return enter if enter > NEAR else MISS
    sx, sy, sz = 1.0 if x > 0.0 else -1.0, 1.0 if y > 0.0 else -1.0, 1.0 if z > 0.0 else -1.0
    (ox, oy, oz), (dx, dy, dz) = o, d
    t = _edge(ring, (oy, oz, ox), (dy, dz, dx), sy, sz)
    t = min(t, _edge(ring, (oz, ox, oy), (dz, dx, dy), sz, sx))
    return min(t, _edge(ring, o, d, sx, sy))


@njit(**INLINE)
def _cylinder(o: Vector, d: Vector) -> float:
    """The interval inside the endless cylinder, cut by the interval between the caps."""
    (ox, oy, oz), (dx, dy, dz) = o, d
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
def _cone(o: Vector, d: Vector) -> float:
    """Apex at z = 1, base of radius 1 at z = -1: radius (1 - z) / 2."""
    (ox, oy, oz), (dx, dy, dz) = o, d
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
def _capsule(half: float, o: Vector, d: Vector) -> float:
    """All points within 1 of the segment from z = -half to z = half."""
    (ox, oy, oz), (dx, dy, dz) = o, d
    a = max(dx * dx + dy * dy, _PARALLEL)
    b = ox * dx + oy * dy
    q = b * b - a * (ox * ox + oy * oy - 1.0)
    if q <= 0.0:
        return MISS
    t = (-b - q**0.5) / a
    z = oz + t * dz
    if abs(z) <= half:
        return t if t > NEAR else MISS
    return _sphere((ox, oy, oz - half if z > 0.0 else oz + half), d)


@njit(**INLINE)
def _polyhedron(first: int, last: int, o: Vector, d: Vector) -> float:
    """The intersection of the half-spaces n . p <= offset, each row of FACES being (n, offset)."""
    enter, leave = -MISS, MISS
    for f in range(first, last):
        along = dot(vector(at.FACES, f, 0), d)
        gap = at.FACES[f, 3] - dot(vector(at.FACES, f, 0), o)
        t = gap / _away_from_zero(along)
        if along < 0.0:
            enter = max(enter, t)
        elif along > 0.0:
            leave = min(leave, t)
        elif gap < 0.0:
            return MISS
    return enter if enter < leave and enter > NEAR else MISS


@njit(**INLINE)
def _flat(kind: int, hole: float, o: Vector, d: Vector) -> float:
    (ox, oy, oz), (dx, dy, dz) = o, d
    t = -oz / _away_from_zero(dz)
    if t <= NEAR:
        return MISS
    if kind != at.PLANE:
        x, y = ox + t * dx, oy + t * dy
        if kind == at.RECTANGLE:
            if abs(x) > 1.0 or abs(y) > 1.0:
                return MISS
        else:
            r = x * x + y * y
            if r > 1.0 or r < hole * hole:
                return MISS
    return t


@njit(**INLINE)
def meet(shape: Shape, o: Vector, d: Vector) -> float:
    """The smallest t > 0 at which o + t d enters a shape, or MISS."""
    kind, extra, first, last = shape
    if kind == at.SPHERE:
        return _sphere(o, d)
    if kind == at.BOX:
        return _box(o, d)
    if kind == at.CYLINDER:
        return _cylinder(o, d)
    if kind == at.CONE:
        return _cone(o, d)
    if kind == at.CAPSULE:
        return _capsule(extra, o, d)
    if kind == at.ROUNDED_BOX:
        return _rounded_box(extra, o, d)
    if kind == at.POLYHEDRON:
        return _polyhedron(first, last, o, d)
    if kind >= at.PLANE:
        return _flat(kind, extra, o, d)
    return MISS


@njit(**INLINE)
def normal(shape: Shape, p: Vector) -> Vector:
    """The outward normal, not normalised, at a point of the surface.

    Which face the point is on follows from the point alone: each face is the zero set of a function that is
    negative inside, and the largest of these functions belongs to the face that was met.
    """
    (kind, extra, first, last), (x, y, z) = shape, p
    if kind == at.SPHERE:
        return p
    if kind == at.BOX:
        ax, ay, az = abs(x), abs(y), abs(z)
        if ax >= ay and ax >= az:
            return x, 0.0, 0.0
        if ay >= az:
            return 0.0, y, 0.0
        return 0.0, 0.0, z
    if kind == at.CYLINDER:
        if extra > 0.0:  # the rim is sharp, but shines like a round one
            r = (x * x + y * y) ** 0.5
            out, over = r - 1.0 + extra, abs(z) - 1.0 + extra
            if out > 0.0 and over > 0.0:
                return x * out / r, y * out / r, over if z > 0.0 else -over
        return (x, y, 0.0) if x * x + y * y > z * z else (0.0, 0.0, z)
    if kind == at.ROUNDED_BOX:
        inner = 1.0 - extra
        return (
            x - max(-inner, min(inner, x)),
            y - max(-inner, min(inner, y)),
            z - max(-inner, min(inner, z)),
        )
    if kind == at.CONE:
        r = (x * x + y * y) ** 0.5
        return (x, y, 0.5 * r) if r - 0.5 * (1.0 - z) > -1.0 - z else (0.0, 0.0, -1.0)
    if kind == at.CAPSULE:
        return x, y, z - max(-extra, min(extra, z))
    if kind == at.POLYHEDRON:
        best, face = -MISS, first
        for f in range(first, last):
            over = dot(vector(at.FACES, f, 0), p) - at.FACES[f, 3]
            if over > best:
                best, face = over, f
        return vector(at.FACES, face, 0)
    return 0.0, 0.0, 1.0


@njit(**INLINE)
def shape_of(bodies: Table, b: int) -> Shape:
    """The unit shape of body b."""
    return Shape(
        int(bodies[b, at.KIND]), bodies[b, at.EXTRA], int(bodies[b, at.FIRST_FACE]), int(bodies[b, at.LAST_FACE])
    )


@njit(**INLINE)
def inwards(bodies: Table, b: int, d: Vector) -> Vector:
    """A direction of the world in the frame of body b."""
    return (
        dot(vector(bodies, b, at.MAP), d),
        dot(vector(bodies, b, at.MAP + 3), d),
        dot(vector(bodies, b, at.MAP + 6), d),
    )


@njit(**INLINE)
def meet_body(bodies: Table, b: int, o: Vector, d: Vector) -> float:
    """The smallest t > 0 at which o + t d, given in the world, enters body b, or MISS."""
    o = minus(o, vector(bodies, b, at.CENTER))
    return meet(shape_of(bodies, b), inwards(bodies, b, o), inwards(bodies, b, d))
