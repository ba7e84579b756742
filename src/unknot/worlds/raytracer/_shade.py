"""What colour a ray brings back: Phong shading, soft shadows, mirror images; compiled.

Bodies are convex, so none shadows or mirrors itself: the body a secondary ray starts from is left out, and no
small offset is needed. Arrays are passed whole with an index, which compiles to faster code than views of rows.
"""

# To be raised as `_trace` says. Tracer 3.

# mypy: disable-error-code="no-any-return"

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer._intersect import INLINE, LEAN, MISS, meet, normal
from unknot.worlds.raytracer.layout import (
    AIM,
    AMBIENT,
    CASTS,
    CENTER,
    CHECKER,
    COLOR,
    DIFFUSE,
    EXTRA,
    FIRST_FACE,
    IS_AIMED,
    IS_DIRECTION,
    IS_FADING,
    IS_SHADOWING,
    KIND,
    LAST_FACE,
    MAP,
    MOST_RAYS,
    NOTHING,
    PLANE,
    POWER,
    RADIUS,
    RAYS,
    REACH,
    REFLECTIVITY,
    SHININESS,
    SPECULAR,
    TILE,
    TOWARDS,
)

Table = NDArray[np.float64]
Scenes = NDArray[np.float64]  # (n, rows, columns)
RGB = tuple[float, float, float]

CORE = 2.0  # how much brighter than the rest a metal's highlight is in its middle
BOUNCES = 2  # mirror images of mirrors, then the mirror's own colour
# A sunflower covers a disc evenly: its first n points, divided by sqrt(n), lie in the unit disc.
_SPIRAL = np.arange(MOST_RAYS) * math.pi * (3.0 - math.sqrt(5.0))
SUNFLOWER = np.sqrt(np.arange(MOST_RAYS) + 0.5)[:, None] * np.stack([np.cos(_SPIRAL), np.sin(_SPIRAL)], axis=1)


@njit(**INLINE)
def meet_body(
    bodies: Scenes, s: int, b: int, faces: Table, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float
) -> float:
    """Where a ray given in the world meets body b of scene s, or MISS."""
    x, y, z = ox - bodies[s, b, CENTER], oy - bodies[s, b, CENTER + 1], oz - bodies[s, b, CENTER + 2]
    m00, m01, m02 = bodies[s, b, MAP], bodies[s, b, MAP + 1], bodies[s, b, MAP + 2]
    m10, m11, m12 = bodies[s, b, MAP + 3], bodies[s, b, MAP + 4], bodies[s, b, MAP + 5]
    m20, m21, m22 = bodies[s, b, MAP + 6], bodies[s, b, MAP + 7], bodies[s, b, MAP + 8]
    return meet(
        int(bodies[s, b, KIND]),
        bodies[s, b, EXTRA],
        faces,
        int(bodies[s, b, FIRST_FACE]),
        int(bodies[s, b, LAST_FACE]),
        m00 * x + m01 * y + m02 * z,
        m10 * x + m11 * y + m12 * z,
        m20 * x + m21 * y + m22 * z,
        m00 * dx + m01 * dy + m02 * dz,
        m10 * dx + m11 * dy + m12 * dz,
        m20 * dx + m21 * dy + m22 * dz,
    )


@njit(**INLINE)
def _unblocked(
    bodies: Scenes,
    s: int,
    start: int,
    faces: Table,
    px: float,
    py: float,
    pz: float,
    lx: float,
    ly: float,
    lz: float,
    far: float,
    spread: float,
    rays: int,
    near: NDArray[np.int64],
) -> float:
    """The share of a light's disc that is seen from p; l is the unit direction to its middle, `far` away.

    `spread` is the disc's radius over its distance; `near` is room for the bodies that may be in the way.
    """
    n_near = 0
    for b in range(bodies.shape[1]):
        if bodies[s, b, CASTS] == 0.0 or b == start:
            continue
        reach = bodies[s, b, REACH]
        if reach > 0.0:
            x, y, z = bodies[s, b, CENTER] - px, bodies[s, b, CENTER + 1] - py, bodies[s, b, CENTER + 2] - pz
            along = x * lx + y * ly + z * lz
            wide = reach + spread * (along + reach)
            if along < -reach or along > far + reach or x * x + y * y + z * z - along * along > wide * wide:
                continue
        near[n_near] = b
        n_near += 1
    if n_near == 0:
        return 1.0
    if spread <= 0.0 or rays <= 1:
        spread, rays = 0.0, 1
    # Two directions across the light.
    if abs(lz) < 0.9:
        ux, uy, uz = -ly, lx, 0.0
    else:
        ux, uy, uz = 0.0, -lz, ly
    size = 1.0 / math.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux * size, uy * size, uz * size
    vx, vy, vz = ly * uz - lz * uy, lz * ux - lx * uz, lx * uy - ly * ux
    # From the rim inwards, the same rays for every point: no noise. What one convex body blocks of a disc is convex,
    # so when it blocks the outer half of the rays it blocks the inner half too.
    scale = spread / math.sqrt(rays)
    free, rim, only = 0, rays - rays // 2, near[0]
    for k in range(rays - 1, -1, -1):
        cu, cv = scale * SUNFLOWER[k, 0], scale * SUNFLOWER[k, 1]
        dx, dy, dz = lx + cu * ux + cv * vx, ly + cu * uy + cv * vy, lz + cu * uz + cv * vz
        blocker = -1
        for i in range(n_near):
            if meet_body(bodies, s, near[i], faces, px, py, pz, dx, dy, dz) < far:
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
def _lit(
    bodies: Scenes,
    s: int,
    b: int,
    lights: Scenes,
    faces: Table,
    px: float,
    py: float,
    pz: float,
    nx: float,
    ny: float,
    nz: float,
    dx: float,
    dy: float,
    dz: float,
    shade: float,
    near: NDArray[np.int64],
) -> RGB:
    """Ambient, diffuse and specular light that body b sends from p against the unit direction d."""
    diffuse, specular = bodies[s, b, DIFFUSE], bodies[s, b, SPECULAR]
    ambient = bodies[s, b, AMBIENT]
    dr, dg, db = ambient, ambient, ambient
    sr, sg, sb = 0.0, 0.0, 0.0
    for i in range(lights.shape[1]):
        lx, ly, lz = lights[s, i, TOWARDS], lights[s, i, TOWARDS + 1], lights[s, i, TOWARDS + 2]
        far, spread = MISS, lights[s, i, RADIUS]
        if lights[s, i, IS_DIRECTION] == 0.0:
            lx, ly, lz = lx - px, ly - py, lz - pz
            far = math.sqrt(lx * lx + ly * ly + lz * lz)
            lx, ly, lz = lx / far, ly / far, lz / far
            spread /= far
        facing = nx * lx + ny * ly + nz * lz
        if facing <= 0.0:
            continue
        light = 1.0
        if lights[s, i, IS_FADING] != 0.0:
            light /= far * far
        if lights[s, i, IS_AIMED] != 0.0:
            light *= max(0.0, -(lx * lights[s, i, AIM] + ly * lights[s, i, AIM + 1] + lz * lights[s, i, AIM + 2]))
        if light <= 0.0:
            continue
        if lights[s, i, IS_SHADOWING] != 0.0:
            rays = int(lights[s, i, RAYS])
            light *= _unblocked(bodies, s, b, faces, px, py, pz, lx, ly, lz, far, spread, rays, near)
            if light <= 0.0:
                continue
        shine = 0.0
        if specular > 0.0:
            hx, hy, hz = lx - dx, ly - dy, lz - dz
            cosine = (nx * hx + ny * hy + nz * hz) / math.sqrt(hx * hx + hy * hy + hz * hz)
            if cosine > 0.0:
                shine = cosine ** bodies[s, b, SHININESS]
                if bodies[s, b, REFLECTIVITY] > 0.0:  # a mirror shows the lamp itself
                    core = shine * shine
                    core *= core
                    core *= core
                    shine += CORE * core * core
                shine *= light * specular
        light *= diffuse * facing
        r, g, w = lights[s, i, POWER], lights[s, i, POWER + 1], lights[s, i, POWER + 2]
        dr, dg, db = dr + light * r, dg + light * g, db + light * w
        sr, sg, sb = sr + shine * r, sg + shine * g, sb + shine * w
    if bodies[s, b, REFLECTIVITY] > 0.0:
        sr, sg, sb = sr * bodies[s, b, COLOR], sg * bodies[s, b, COLOR + 1], sb * bodies[s, b, COLOR + 2]
    return (
        dr * shade * bodies[s, b, COLOR] + sr,
        dg * shade * bodies[s, b, COLOR + 1] + sg,
        db * shade * bodies[s, b, COLOR + 2] + sb,
    )


@njit(**LEAN)
def _mirrored(
    bodies: Scenes,
    s: int,
    start: int,
    faces: Table,
    ox: float,
    oy: float,
    oz: float,
    dx: float,
    dy: float,
    dz: float,
) -> tuple[int, float]:
    """The first body met by a ray that leaves body `start`, and where; (-1, MISS) if there is none."""
    hit, best = -1, MISS
    for b in range(bodies.shape[1]):
        if b != start and bodies[s, b, KIND] != NOTHING:
            t = meet_body(bodies, s, b, faces, ox, oy, oz, dx, dy, dz)
            if t < best:
                hit, best = b, t
    return hit, best


@njit(**INLINE)
def radiance(
    bodies: Scenes,
    s: int,
    b: int,
    lights: Scenes,
    sky: Table,
    faces: Table,
    px: float,
    py: float,
    pz: float,
    dx: float,
    dy: float,
    dz: float,
    near: NDArray[np.int64],
) -> RGB:
    """The colour seen at p of body b (-1: the sky), along the direction d of any length."""
    red, green, blue = 0.0, 0.0, 0.0
    tr, tg, tb = 1.0, 1.0, 1.0
    for bounce in range(BOUNCES + 1):
        if b < 0:
            return red + tr * sky[s, 0], green + tg * sky[s, 1], blue + tb * sky[s, 2]
        kind = int(bodies[s, b, KIND])
        flat, checker = kind >= PLANE, bodies[s, b, CHECKER]
        m20, m21, m22 = bodies[s, b, MAP + 6], bodies[s, b, MAP + 7], bodies[s, b, MAP + 8]
        nx, ny, nz, shade = m20, m21, m22, 1.0
        if not flat or checker != 0.0:
            x, y, z = px - bodies[s, b, CENTER], py - bodies[s, b, CENTER + 1], pz - bodies[s, b, CENTER + 2]
            m00, m01, m02 = bodies[s, b, MAP], bodies[s, b, MAP + 1], bodies[s, b, MAP + 2]
            m10, m11, m12 = bodies[s, b, MAP + 3], bodies[s, b, MAP + 4], bodies[s, b, MAP + 5]
            x, y, z = m00 * x + m01 * y + m02 * z, m10 * x + m11 * y + m12 * z, m20 * x + m21 * y + m22 * z
            if not flat:
                first, last = int(bodies[s, b, FIRST_FACE]), int(bodies[s, b, LAST_FACE])
                nx, ny, nz = normal(kind, bodies[s, b, EXTRA], faces, first, last, x, y, z)
                # A normal moves to the world by the transpose of the map that moves points away from it.
                nx, ny, nz = (
                    m00 * nx + m10 * ny + m20 * nz,
                    m01 * nx + m11 * ny + m21 * nz,
                    m02 * nx + m12 * ny + m22 * nz,
                )
                size = 1.0 / math.sqrt(nx * nx + ny * ny + nz * nz)
                nx, ny, nz = nx * size, ny * size, nz * size
            if checker != 0.0:
                tiles = 1.0 / bodies[s, b, TILE]
                parity = math.floor(x * tiles) + math.floor(y * tiles) + math.floor(z * tiles + 0.5)
                if parity & 1:
                    shade -= checker
        if flat and nx * dx + ny * dy + nz * dz > 0.0:  # flat bodies have two sides
            nx, ny, nz = -nx, -ny, -nz
        mirror = bodies[s, b, REFLECTIVITY] if bounce < BOUNCES else 0.0
        if mirror > 0.0 or bodies[s, b, SPECULAR] > 0.0:
            size = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz)
            dx, dy, dz = dx * size, dy * size, dz * size
        r, g, w = _lit(bodies, s, b, lights, faces, px, py, pz, nx, ny, nz, dx, dy, dz, shade, near)
        red, green, blue = (
            red + tr * (1.0 - mirror) * r,
            green + tg * (1.0 - mirror) * g,
            blue + tb * (1.0 - mirror) * w,
        )
        if mirror <= 0.0:
            break
        tr *= mirror * bodies[s, b, COLOR]
        tg *= mirror * bodies[s, b, COLOR + 1]
        tb *= mirror * bodies[s, b, COLOR + 2]
        across = nx * dx + ny * dy + nz * dz
        dx, dy, dz = dx - 2.0 * across * nx, dy - 2.0 * across * ny, dz - 2.0 * across * nz
        b, best = _mirrored(bodies, s, b, faces, px, py, pz, dx, dy, dz)
        px, py, pz = px + best * dx, py + best * dy, pz + best * dz
    return red, green, blue
