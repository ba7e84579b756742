"""What colour a ray brings back: lit surfaces, and metal with its highlights and reflections; compiled.

Metal has no colour of its own but tints what it reflects. A share of its light is mirrored, the rest is blurred by a
rough surface. Lamps are small and far brighter than white, so that highlights are computed, not met by rays: by GGX,
the usual law of rough surfaces, and for the mirrored share by its like that is as wide as the lamp and as what the
surface turns within a pixel.

Reference: Walter et al. 2007, Microfacet Models for Refraction through Rough Surfaces.
"""

# To be raised as `_trace` says. Tracer 6.

# mypy: disable-error-code="no-any-return"

import math
from typing import NamedTuple

from numba import njit

from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer._intersect import inwards, normal, shape_of
from unknot.worlds.raytracer._shade import (
    BLACK,
    WHITE,
    Scene,
    lamp_at,
    lit,
    mirrored,
    strength,
    surface,
    unblocked,
)
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

BOUNCES = 2  # mirror images of mirrors, then what light finds on the last
SHARP = 0.01  # roughness of the mirrored share
LAMP = 0.5  # squared width of a lamp's highlight over its squared radius
PIXEL = 0.12  # squared width of a highlight over the squared change of the normal across a pixel
FEW = 3  # shadow rays to a lamp, where only metal shows the shadow
FAINT = 0.03  # highlights weaker than this are not worth a shadow
LEAST = 0.2  # cosine: surfaces that the camera sees more slantingly are not taken to turn faster within a pixel
ALIKE = 0.95  # cosine between normals that may share a blurred image
TILT = 1.2  # of the rays of the blurred image, over the roughness
SIDEWAYS = 2 / 3  # of the blurred image comes by rays above and below the mirrored one, the rest by that itself


class Blur(NamedTuple):
    """A blurred image that rays close by may share."""

    body: int  # that shows it
    normal: Vector
    color: Vector


NO_BLUR = Blur(-1, BLACK, BLACK)


class Facet(NamedTuple):
    """A piece of metal as wide as a pixel."""

    n: Vector  # its normal
    u: Vector  # two directions along it
    v: Vector
    uu: float  # mean squares and product of what the normal turns along them within the pixel
    uv: float
    vv: float


@njit(**INLINE)
def _normal_near(bodies: Table, b: int, p: Vector) -> Vector:
    """The unit normal of solid b at a point that may lie a little off its surface."""
    x, y, z = normal(shape_of(bodies, b), inwards(bodies, b, minus(p, vector(bodies, b, at.CENTER))))
    m = vector(bodies, b, at.MAP + 6)
    return unit(spanned(scaled(x, vector(bodies, b, at.MAP)), y, vector(bodies, b, at.MAP + 3), z, m))


@njit(**INLINE)
def _facet(bodies: Table, b: int, p: Vector, n: Vector, d: Vector, wide: float) -> Facet:
    """What a pixel sees, `wide` at this distance, of body b at p along the unit direction d."""
    x, y, z = d
    across = unit((-y, x, 0.0) if abs(z) < 0.9 else (0.0, -z, y))
    along = cross(d, across)
    slant = min(-LEAST, dot(n, d))
    u = unit(minus(across, scaled(dot(across, n), n)))
    v = cross(n, u)
    uu, uv, vv = 0.0, 0.0, 0.0
    if bodies[b, at.KIND] < at.PLANE and wide > 0.0:
        for side in (across, along):
            step = scaled(wide, minus(side, scaled(dot(side, n) / slant, d)))
            turn = minus(_normal_near(bodies, b, plus(p, step)), n)
            x, y = dot(turn, u), dot(turn, v)
            uu, uv, vv = uu + x * x, uv + x * y, vv + y * y
    return Facet(n, u, v, PIXEL * uu, PIXEL * uv, PIXEL * vv)


@njit(**LEAN)
def _highlights(scene: Scene, b: int, p: Vector, facet: Facet, d: Vector) -> Vector:
    """What metal sends of the lamps from p against the unit direction d, but for its tint."""
    bodies, lights = scene.bodies, scene.lights
    n, u, v, uu, uv, vv = facet
    mirror, rough = bodies[b, at.REFLECTIVITY], bodies[b, at.ROUGHNESS] ** 2
    hidden = 0.5 * bodies[b, at.ROUGHNESS]
    eye = max(0.0, -dot(n, d)) * (1.0 - hidden) + hidden
    color = BLACK
    for i in range(len(lights)):
        lamp = lamp_at(lights, i, p, FEW)
        facing = dot(n, lamp.towards)
        if facing <= 0.0:
            continue
        h = minus(lamp.towards, d)
        cosine = dot(n, h)
        if cosine <= 0.0:
            continue
        x, y = dot(h, u) / cosine, dot(h, v) / cosine
        narrow = SHARP * SHARP + 0.25 * LAMP * lamp.spread * lamp.spread
        a, c = narrow + uu, narrow + vv
        area = a * c - uv * uv
        q = 1.0 + 0.5 * (c * x * x - 2.0 * uv * x * y + a * y * y) / area
        blur = rough + x * x + y * y
        shine = mirror / (math.sqrt(area) * q * q * q) + (1.0 - mirror) * rough / (blur * blur)
        tilt = 1.0 + x * x + y * y
        shine *= 0.25 * tilt * tilt * facing / (eye * (facing * (1.0 - hidden) + hidden))
        shine *= strength(lights, i, lamp)
        power = vector(lights, i, at.POWER)
        if lights[i, at.IS_SHADOWING] != 0.0 and shine * max(power[0], max(power[1], power[2])) > FAINT:
            shine *= unblocked(scene, b, p, lamp)
        color = plus(color, scaled(shine, power))
    return color


@njit(**LEAN)
def _blurred(scene: Scene, b: int, p: Vector, facet: Facet, d: Vector) -> Vector:
    """The mean of what rays above and below the mirrored one bring back; metal is not followed further."""
    bodies = scene.bodies
    tilt = TILT * bodies[b, at.ROUGHNESS]
    color, n_rays = BLACK, 0
    for side in (-tilt, tilt):
        h = unit(plus(facet.n, scaled(side, facet.v)))
        away = minus(d, scaled(2.0 * dot(h, d), h))
        if dot(away, facet.n) <= 0.0:
            continue
        n_rays += 1
        hit, t = mirrored(bodies, b, p, away)
        if hit < 0:
            color = plus(color, scene.sky)
            continue
        there = plus(p, scaled(t, away))
        n, shade = surface(bodies, hit, there, away)
        color = plus(color, lit(scene, hit, there, n, away, shade, 1))
    return scaled(1.0 / max(1, n_rays), color)


@njit(**LEAN)
def _metal(scene: Scene, b: int, p: Vector, d: Vector, wide: float, blur: Blur) -> tuple[Vector, Blur]:
    """The colour seen at p of body b, a mirror, along the direction d; and what to share of it."""
    bodies, color, through = scene.bodies, BLACK, WHITE
    for bounce in range(BOUNCES):
        n, _ = surface(bodies, b, p, d)
        d = unit(d)
        through = times(through, vector(bodies, b, at.COLOR))
        facet = _facet(bodies, b, p, n, d, wide if bounce == 0 else 0.0)
        color = plus(color, times(through, _highlights(scene, b, p, facet, d)))
        away = minus(d, scaled(2.0 * dot(n, d), n))
        if bounce == 0 and bodies[b, at.REFLECTIVITY] < 1.0:
            if blur.body != b or dot(n, blur.normal) < ALIKE:
                blur = Blur(b, n, _blurred(scene, b, p, facet, d))
            share = SIDEWAYS * (1.0 - bodies[b, at.REFLECTIVITY])
            color = plus(color, times(scaled(share, through), blur.color))
            through = scaled(1.0 - share, through)
        d = away
        b, t = mirrored(bodies, b, p, d)
        if b < 0:
            return plus(color, times(through, scene.sky)), blur
        p = plus(p, scaled(t, d))
        if bodies[b, at.REFLECTIVITY] <= 0.0:
            break
    n, shade = surface(bodies, b, p, d)
    return plus(color, times(through, lit(scene, b, p, n, d, shade, FEW))), blur


@njit(**INLINE)
def radiance(scene: Scene, b: int, p: Vector, d: Vector, wide: float, blur: Blur) -> tuple[Vector, Blur]:
    """The colour seen at p of body b, along the direction d of any length, and what to share of it.

    A pixel is `wide` there.
    """
    if scene.bodies[b, at.REFLECTIVITY] > 0.0:
        return _metal(scene, b, p, d, wide, blur)
    n, shade = surface(scene.bodies, b, p, d)
    if scene.bodies[b, at.SPECULAR] > 0.0:
        d = unit(d)
    return lit(scene, b, p, n, d, shade, at.MOST_RAYS), blur
