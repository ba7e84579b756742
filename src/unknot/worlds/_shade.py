"""What colour a ray brings back: Phong shading, soft shadows, mirror images; compiled.

Bodies are convex, so none shadows or mirrors itself: the body a secondary ray starts from is left out, and no
small offset is needed. Arrays are passed whole with an index, which compiles to faster code than views of rows.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds._intersect import FAST, MISS, meet, normal
from unknot.worlds._layout import (
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

BOUNCES = 2  # mirror images of mirrors, then the mirror's own colour
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@njit(**FAST)
def meet_body(
    bodies: Scenes, s: int, b: int, faces: Table, ox: float, oy: float, oz: float, dx: float, dy: float, dz: float
) -> float:
    """Where a ray given in the world meets body b of scene s, or MISS."""
    x, y, z = ox - bodies[s, b, CENTER], oy - bodies[s, b, CENTER + 1], oz - bodies[s, b, CENTER + 2]
    m00, m01, m02 = bodies[s, b, MAP], bodies[s, b, MAP + 1], bodies[s, b, MAP + 2]
    m10, m11, m12 = bodies[s, b, MAP + 3], bodies[s, b, MAP + 4], bodies[s, b, MAP + 5]
    m20, m21, m22 = bodies[s, b, MAP + 6], bodies[s, b, MAP + 7], bodies[s, b, MAP + 8]
    return meet(  # type: ignore[no-any-return]
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


@njit(**FAST)
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
        for i in range(n_near):
            if meet_body(bodies, s, near[i], faces, px, py, pz, lx, ly, lz) < far:
                return 0.0
        return 1.0
    # Two directions across the light.
    if abs(lz) < 0.9:
        ux, uy, uz = -ly, lx, 0.0
    else:
        ux, uy, uz = 0.0, -lz, ly
    size = 1.0 / math.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux * size, uy * size, uz * size
    vx, vy, vz = ly * uz - lz * uy, lz * ux - lx * uz, lx * uy - ly * ux
    free = 0
    for k in range(rays):  # a sunflower covers the disc evenly, the same for every point: no noise
        r = spread * math.sqrt((k + 0.5) / rays)
        cu, cv = r * math.cos(k * GOLDEN_ANGLE), r * math.sin(k * GOLDEN_ANGLE)
        dx, dy, dz = lx + cu * ux + cv * vx, ly + cu * uy + cv * vy, lz + cu * uz + cv * vz
        blocked = False
        for i in range(n_near):
            if meet_body(bodies, s, near[i], faces, px, py, pz, dx, dy, dz) < far:
                blocked = True
                break
        if not blocked:
            free += 1
    return free / rays


@njit(**FAST)
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
                shine = light * specular * cosine ** bodies[s, b, SHININESS]
        light *= diffuse * facing
        r, g, w = lights[s, i, POWER], lights[s, i, POWER + 1], lights[s, i, POWER + 2]
        dr, dg, db = dr + light * r, dg + light * g, db + light * w
        sr, sg, sb = sr + shine * r, sg + shine * g, sb + shine * w
    return (
        dr * shade * bodies[s, b, COLOR] + sr,
        dg * shade * bodies[s, b, COLOR + 1] + sg,
        db * shade * bodies[s, b, COLOR + 2] + sb,
    )


@njit(**FAST)
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
    """The colour seen at p of body b (-1: the sky), along the unit direction d."""
    red, green, blue = 0.0, 0.0, 0.0
    tr, tg, tb = 1.0, 1.0, 1.0
    for bounce in range(BOUNCES + 1):
        if b < 0:
            return red + tr * sky[s, 0], green + tg * sky[s, 1], blue + tb * sky[s, 2]
        kind = int(bodies[s, b, KIND])
        x, y, z = px - bodies[s, b, CENTER], py - bodies[s, b, CENTER + 1], pz - bodies[s, b, CENTER + 2]
        m00, m01, m02 = bodies[s, b, MAP], bodies[s, b, MAP + 1], bodies[s, b, MAP + 2]
        m10, m11, m12 = bodies[s, b, MAP + 3], bodies[s, b, MAP + 4], bodies[s, b, MAP + 5]
        m20, m21, m22 = bodies[s, b, MAP + 6], bodies[s, b, MAP + 7], bodies[s, b, MAP + 8]
        x, y, z = m00 * x + m01 * y + m02 * z, m10 * x + m11 * y + m12 * z, m20 * x + m21 * y + m22 * z
        first, last = int(bodies[s, b, FIRST_FACE]), int(bodies[s, b, LAST_FACE])
        nx, ny, nz = normal(kind, bodies[s, b, EXTRA], faces, first, last, x, y, z)
        # A normal moves to the world by the transpose of the map that moves points away from it.
        nx, ny, nz = m00 * nx + m10 * ny + m20 * nz, m01 * nx + m11 * ny + m21 * nz, m02 * nx + m12 * ny + m22 * nz
        size = 1.0 / math.sqrt(nx * nx + ny * ny + nz * nz)
        across = nx * dx + ny * dy + nz * dz
        if kind >= PLANE and across > 0.0:  # flat bodies have two sides
            size = -size
        nx, ny, nz, across = nx * size, ny * size, nz * size, across * size
        shade = 1.0
        if bodies[s, b, CHECKER] != 0.0:
            tile = bodies[s, b, TILE]
            parity = int(math.floor(x / tile)) + int(math.floor(y / tile)) + int(math.floor(z / tile + 0.5))
            if parity % 2 != 0:
                shade -= bodies[s, b, CHECKER]
        r, g, w = _lit(bodies, s, b, lights, faces, px, py, pz, nx, ny, nz, dx, dy, dz, shade, near)
        mirror = bodies[s, b, REFLECTIVITY] if bounce < BOUNCES else 0.0
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
        dx, dy, dz = dx - 2.0 * across * nx, dy - 2.0 * across * ny, dz - 2.0 * across * nz
        start, b, best = b, -1, MISS
        for other in range(bodies.shape[1]):
            if other != start and bodies[s, other, KIND] != NOTHING:
                t = meet_body(bodies, s, other, faces, px, py, pz, dx, dy, dz)
                if t < best:
                    best, b = t, other
        px, py, pz = px + best * dx, py + best * dy, pz + best * dz
    return red, green, blue
