"""How a surface answers light: Phong shading and soft shadows; compiled.

Bodies are convex, so none shadows or mirrors itself: the body a secondary ray starts from is left out, and no
small offset is needed. Tables are passed whole with an index, which compiles to faster code than views of rows.
"""

# To be raised as `_trace` says. Tracer 6.

# mypy: disable-error-code="no-any-return"

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer._intersect import MISS, inwards, meet_body, normal, shape_of
from unknot.worlds.raytracer._vectors import (
    INLINE,
    LEAN,
    Table,
    Vector,
    cross,
    dot,
    minus,
    plus,
    scaled,
    spanned,
    times,
    unit,
    vector,
)

TOGETHER = 8  # bodies looked at in one step
BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
# A sunflower covers a disc evenly: its first n points, divided by sqrt(n), lie in the unit disc.
_SPIRAL = np.arange(at.MOST_RAYS) * math.pi * (3.0 - math.sqrt(5.0))
SUNFLOWER = np.sqrt(np.arange(at.MOST_RAYS) + 0.5)[:, None] * np.stack([np.cos(_SPIRAL), np.sin(_SPIRAL)], axis=1)


class Scene(NamedTuple):
    """One scene, without its camera."""

    bodies: Table
    lights: Table
    sky: Vector  # its colour
    near: NDArray[np.int64]  # room for the bodies that may be in the way
    casters: Table  # (4, n) x, y, z and reach of each body, below 0 where it throws no shadow


class Lamp(NamedTuple):
    """A light as it is seen from a point: a disc."""

    towards: Vector  # unit direction to its middle
    far: float  # distance of its middle
    spread: float  # radius over distance
    rays: int  # to be sent there


@njit(**INLINE)
def lamp_at(lights: Table, i: int, p: Vector, most: int) -> Lamp:
    """Light i as it is seen from p; at most so many rays."""
    towards, far, spread = vector(lights, i, at.TOWARDS), MISS, lights[i, at.RADIUS]
    if lights[i, at.IS_DIRECTION] == 0.0:
        x, y, z = minus(towards, p)
        far = math.sqrt(x * x + y * y + z * z)
        towards = (x / far, y / far, z / far)
        spread /= far
    return Lamp(towards, far, spread, min(most, int(lights[i, at.RAYS])))


@njit(**INLINE)
def strength(lights: Table, i: int, lamp: Lamp) -> float:
    """How much of its power light i sends to where it is seen like this, if nothing is in the way."""
    light = 1.0
    if lights[i, at.IS_FADING] != 0.0:
        light /= lamp.far * lamp.far
    if lights[i, at.IS_AIMED] != 0.0:
        light *= max(0.0, -dot(lamp.towards, vector(lights, i, at.AIM)))
    return light


@njit(cache=True)
def room_for_casters(n_bodies: int) -> Table:
    """Casters of a scene, none yet; as many as are looked at together."""
    return np.full((4, -(-n_bodies // TOGETHER) * TOGETHER), -1.0)


@njit(**LEAN)
def note_casters(bodies: Table, casters: Table) -> None:
    """Fill `casters`."""
    for b in range(len(bodies)):
        x, y, z = vector(bodies, b, at.CENTER)
        casters[0, b], casters[1, b], casters[2, b], casters[3, b] = x, y, z, -1.0
        if bodies[b, at.CASTS] != 0.0:
            casters[3, b] = bodies[b, at.REACH] if bodies[b, at.REACH] > 0.0 else MISS


@njit(**INLINE)
def _is_clear(casters: Table, start: int, p: Vector, lamp: Lamp) -> bool:
    """Whether no body is so near to the way from p to a lamp that it could block it; without branches, so fast."""
    (px, py, pz), (tx, ty, tz), far, spread = p, lamp.towards, lamp.far, lamp.spread
    count = 0
    for b in range(casters.shape[1]):
        x, y, z, reach = casters[0, b] - px, casters[1, b] - py, casters[2, b] - pz, casters[3, b]
        along = x * tx + y * ty + z * tz
        wide = reach + spread * (along + reach)
        beside = x * x + y * y + z * z - along * along <= wide * wide
        count += beside & (reach > 0.0) & (along >= -reach) & (along <= far + reach) & (b != start)
    return count == 0


@njit(**INLINE)
def unblocked(scene: Scene, start: int, p: Vector, lamp: Lamp) -> float:
    """The share of a lamp that is seen from p, a point of body `start`."""
    if _is_clear(scene.casters, start, p, lamp):
        return 1.0
    bodies, near = scene.bodies, scene.near
    towards, far, spread, rays = lamp
    n_near = 0
    for b in range(len(bodies)):
        if bodies[b, at.CASTS] == 0.0 or b == start:
            continue
        reach = bodies[b, at.REACH]
        if reach > 0.0:
            c = minus(vector(bodies, b, at.CENTER), p)
            along = dot(c, towards)
            wide = reach + spread * (along + reach)
            if along < -reach or along > far + reach or dot(c, c) - along * along > wide * wide:
                continue
        near[n_near] = b
        n_near += 1
    if n_near == 0:
        return 1.0
    if spread <= 0.0 or rays <= 1:
        spread, rays = 0.0, 1
    x, y, z = towards
    u = unit((-y, x, 0.0) if abs(z) < 0.9 else (0.0, -z, y))  # two directions across the lamp
    v = cross(towards, u)
    # From the rim inwards, the same rays for every point: no noise. What one convex body blocks of a disc is convex,
    # so when it blocks the outer half of the rays it blocks the inner half too.
    scale = spread / math.sqrt(rays)
    free, rim, only = 0, rays - rays // 2, near[0]
    for k in range(rays - 1, -1, -1):
        d = spanned(towards, scale * SUNFLOWER[k, 0], u, scale * SUNFLOWER[k, 1], v)
        blocker = -1
        for i in range(n_near):
            if meet_body(bodies, near[i], p, d) < far:
                blocker = near[i]
                break
        if blocker < 0:
            free += 1
        if blocker != only:
            rim = -1
        elif rim == rays - k:
            return 0.0
    return free / rays


@njit(**INLINE)
def lit(scene: Scene, b: int, p: Vector, n: Vector, d: Vector, shade: float, most: int) -> Vector:
    """Ambient, diffuse and specular light that body b, of normal n, sends from p against the unit direction d.

    A checkerboard leaves the share `shade` of its colour; at most `most` shadow rays go to each lamp.
    """
    bodies, lights = scene.bodies, scene.lights
    specular, ambient, color = bodies[b, at.SPECULAR], bodies[b, at.AMBIENT], vector(bodies, b, at.COLOR)
    matt, gloss = (ambient, ambient, ambient), BLACK
    for i in range(len(lights)):
        lamp = lamp_at(lights, i, p, most)
        facing = dot(n, lamp.towards)
        if facing <= 0.0:
            continue
        light = strength(lights, i, lamp)
        if light <= 0.0:
            continue
        if lights[i, at.IS_SHADOWING] != 0.0:
            light *= unblocked(scene, b, p, lamp)
            if light <= 0.0:
                continue
        shine = 0.0
        if specular > 0.0:
            h = minus(lamp.towards, d)
            cosine = dot(n, h) / math.sqrt(dot(h, h))
            if cosine > 0.0:
                shine = light * specular * cosine ** bodies[b, at.SHININESS]
        light *= bodies[b, at.DIFFUSE] * facing
        matt = plus(matt, scaled(light, vector(lights, i, at.POWER)))
        gloss = plus(gloss, scaled(shine, vector(lights, i, at.POWER)))
    return plus(times(scaled(shade, matt), color), gloss)


@njit(**LEAN)
def mirrored(bodies: Table, start: int, o: Vector, d: Vector) -> tuple[int, float]:
    """The first body met by a ray of unit direction that leaves body `start`, and where; (-1, MISS) if none."""
    hit, best = -1, MISS
    for b in range(len(bodies)):
        if b == start or bodies[b, at.KIND] == at.NOTHING:
            continue
        reach = bodies[b, at.REACH]
        if reach > 0.0:
            c = minus(vector(bodies, b, at.CENTER), o)
            along = dot(c, d)
            if along < -reach or dot(c, c) - along * along > reach * reach:
                continue
        t = meet_body(bodies, b, o, d)
        if t < best:
            hit, best = b, t
    return hit, best


@njit(**INLINE)
def surface(bodies: Table, b: int, p: Vector, d: Vector) -> tuple[Vector, float]:
    """The unit normal of body b at p, where d sees it, and how much of its colour a checkerboard leaves."""
    flat, checker = bodies[b, at.KIND] >= at.PLANE, bodies[b, at.CHECKER]
    n, shade = vector(bodies, b, at.MAP + 6), 1.0
    if not flat or checker != 0.0:
        here = inwards(bodies, b, minus(p, vector(bodies, b, at.CENTER)))
        if not flat:
            # A normal moves to the world by the transpose of the map that moves points away from it.
            x, y, z = normal(shape_of(bodies, b), here)
            n = unit(spanned(scaled(x, vector(bodies, b, at.MAP)), y, vector(bodies, b, at.MAP + 3), z, n))
        if checker != 0.0:
            x, y, z = scaled(1.0 / bodies[b, at.TILE], here)
            if (math.floor(x) + math.floor(y) + math.floor(z + 0.5)) & 1:
                shade -= checker
    if flat and dot(n, d) > 0.0:  # flat bodies have two sides
        n = scaled(-1.0, n)
    return n, shade
