"""Images, instance masks and counts of pixels of packed scenes, one ray at a time; compiled.

An image is traced at the corners of its pixels. Where the four corners of a pixel see the same body in nearly the
same colour, the pixel is their mean; only the others, those that an edge runs through, are sampled inside.
Each body is tried only within the rectangle it projects to.
"""

# The compiled code kept on disk is made anew when the text of this file changes, not when that of one it imports does:
# after editing layout, _vectors, _intersect, _shade, _radiance or _views, raise this number in all files that have it.
# Tracer 6.

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer._intersect import MISS
from unknot.worlds.raytracer._radiance import NO_BLUR, radiance
from unknot.worlds.raytracer._shade import Scene, note_casters, room_for_casters
from unknot.worlds.raytracer._vectors import FAST, INLINE, LEAN, Table, Vector, plus, put, scaled, spanned, vector
from unknot.worlds.raytracer._views import (
    BOTTOM,
    IS_THIN,
    LEFT,
    RIGHTMOST,
    TOP,
    VIEW_WIDTH,
    Camera,
    camera_of,
    look,
    meet_view,
)
from unknot.worlds.raytracer.layout import KIND, LABEL, NOTHING

Tables = NDArray[np.float64]  # (n, rows, columns), one for each scene
CONTRAST = 0.16  # a larger difference between the corners of a pixel counts as an edge


class Rays(NamedTuple):
    """Rays of a camera, and what they see."""

    ends: Table  # (n, 3) u and v, in tangents from the middle of the picture, and the depth of what is met
    met: NDArray[np.int64]  # (n,) bodies, -1 for the sky
    colors: Table  # (n, 3) on a display


@njit(**INLINE)
def _encoded(light: Vector, curve: Table) -> Vector:
    """Light as a display colour."""
    return _tone(light[0], curve), _tone(light[1], curve), _tone(light[2], curve)


@njit(**INLINE)
def _tone(x: float, curve: Table) -> float:
    """Light as a display value: clipped to [0, 1] and sent through the tone curve, if there is one."""
    x = max(0.0, min(1.0, x))
    if curve.size < 2:
        return x
    at = x * (curve.size - 1)
    i = min(int(at), curve.size - 2)
    return float(curve[i] + (at - i) * (curve[i + 1] - curve[i]))


@njit(**LEAN)
def _color(scene: Scene, camera: Camera, curve: Table, n_rays: int, rays: Rays, near: int) -> None:
    """Write the colours that the first `n_rays` rays bring back from where they end; each `near` are close by."""
    sky, blur = _encoded(scene.sky, curve), NO_BLUR
    for k in range(n_rays):
        if k % near == 0:
            blur = NO_BLUR
        if rays.met[k] < 0:
            put(rays.colors, k, 0, sky)
            continue
        u, v, depth = vector(rays.ends, k, 0)
        d = spanned(camera.forward, u, camera.right, v, camera.up)
        p = plus(camera.eye, scaled(depth, d))
        light, blur = radiance(scene, rays.met[k], p, d, camera.pixel * depth, blur)
        put(rays.colors, k, 0, _encoded(light, curve))


@njit(**FAST, nogil=True)
def draw(
    cameras: Table,
    bodies: Tables,
    lights: Tables,
    skies: Table,
    curve: Table,
    samples: Table,
    images: NDArray[np.uint8],
) -> None:
    """Fill `images` (n, height, width, 3); `samples` are the places in [0, 1)^2 looked at in a pixel with an edge."""
    n_scenes, height, width, _ = images.shape
    n_bodies, n_samples = bodies.shape[1], len(samples)
    views, corners = np.empty((n_bodies, VIEW_WIDTH)), np.empty((8, 3))
    near, casters = np.empty(n_bodies, dtype=np.int64), room_for_casters(n_bodies)
    n_grid = (height + 1) * (width + 1)
    grid = Rays(np.empty((n_grid, 3)), np.empty(n_grid, dtype=np.int64), np.empty((n_grid, 3)))
    thin = np.empty((height, width), dtype=np.bool_)
    # At most this many pixels are sampled at a time; more edges than that only mean another round.
    n_round = max(1, n_grid // n_samples)
    pixels, n_inside = np.empty(n_round, dtype=np.int64), n_round * n_samples
    inside = Rays(np.empty((n_inside, 3)), np.empty(n_inside, dtype=np.int64), np.empty((n_inside, 3)))
    for s in range(n_scenes):
        scene = Scene(bodies[s], lights[s], vector(skies, s, 0), near, casters)
        note_casters(scene.bodies, casters)
        camera = camera_of(cameras, s, height, width)
        look(scene.bodies, camera, views, corners)
        _corners(scene.bodies, camera, views, grid, thin)
        _color(scene, camera, curve, n_grid, grid, 3)
        start = 0
        while start < height * width:
            start, n_edges = _plain(grid, start, thin, pixels, images[s])
            _inside(scene, camera, views, samples, pixels[:n_edges], inside)
            _color(scene, camera, curve, n_edges * n_samples, inside, n_samples)
            for k in range(n_edges):
                for c in range(3):
                    total = 0.0
                    for m in range(n_samples):
                        total += inside.colors[k * n_samples + m, c]
                    images[s, pixels[k] // width, pixels[k] % width, c] = np.uint8(total * 255.0 / n_samples + 0.5)


@njit(**LEAN)
def _corners(bodies: Table, camera: Camera, views: Table, rays: Rays, thin: NDArray[np.bool_]) -> None:
    """Trace the corners of all pixels, row by row; mark pixels where a thin body may hide between them."""
    height, width, step = camera.height, camera.width, camera.pixel
    k = 0
    for i in range(height + 1):
        for j in range(width + 1):
            put(rays.ends, k, 0, (step * (j - 0.5 * width), step * (0.5 * height - i), MISS))
            rays.met[k] = -1
            k += 1
    thin[:] = False
    for b in range(len(bodies)):
        top, bottom = math.ceil(views[b, TOP]), math.floor(views[b, BOTTOM])
        left, right = math.ceil(views[b, LEFT]), math.floor(views[b, RIGHTMOST])
        for i in range(top, bottom + 1):
            v = step * (0.5 * height - i)
            for j in range(left, right + 1):
                t = meet_view(bodies, b, views, step * (j - 0.5 * width), v)
                k = i * (width + 1) + j
                if t < rays.ends[k, 2]:
                    rays.ends[k, 2] = t
                    rays.met[k] = b
        if views[b, IS_THIN] != 0.0 and bottom >= 0 and right >= 0:
            thin[max(top - 1, 0) : bottom + 1, max(left - 1, 0) : right + 1] = True


@njit(**LEAN)
def _plain(
    corners: Rays, start: int, thin: NDArray[np.bool_], pixels: NDArray[np.int64], image: NDArray[np.uint8]
) -> tuple[int, int]:
    """Write pixels from `start` on as means of their corners; list those with an edge until the list is full."""
    height, width = thin.shape
    met, colors = corners.met, corners.colors
    n_edges, column = 0, start % width
    for i in range(start // width, height):
        for j in range(column, width):
            k = i * (width + 1) + j
            low = k + width + 1
            edge = thin[i, j] or met[k] != met[k + 1] or met[k] != met[low] or met[k] != met[low + 1]
            if not edge:
                for c in range(3):
                    p, q, x, y = colors[k, c], colors[k + 1, c], colors[low, c], colors[low + 1, c]
                    edge |= abs(p - y) > CONTRAST or abs(q - x) > CONTRAST
                    image[i, j, c] = np.uint8((p + q + x + y) * 63.75 + 0.5)
            if edge:
                pixels[n_edges] = i * width + j
                n_edges += 1
                if n_edges == len(pixels):
                    return i * width + j + 1, n_edges
        column = 0
    return height * width, n_edges


@njit(**LEAN)
def _inside(
    scene: Scene, camera: Camera, views: Table, samples: Table, pixels: NDArray[np.int64], rays: Rays
) -> None:
    """Trace the samples inside some pixels."""
    bodies, near = scene.bodies, scene.near
    height, width, step = camera.height, camera.width, camera.pixel
    k = 0
    for pixel in pixels:
        i, j = pixel // width, pixel % width
        n_near = 0
        for b in range(len(bodies)):
            rows = views[b, TOP] <= i + 1 and views[b, BOTTOM] >= i
            if rows and views[b, LEFT] <= j + 1 and views[b, RIGHTMOST] >= j:
                near[n_near] = b
                n_near += 1
        for m in range(len(samples)):
            u, v = step * (j + samples[m, 0] - 0.5 * width), step * (0.5 * height - i - samples[m, 1])
            hit, depth = -1, MISS
            for n in range(n_near):
                t = meet_view(bodies, near[n], views, u, v)
                if t < depth:
                    hit, depth = near[n], t
            put(rays.ends, k, 0, (u, v, depth))
            rays.met[k] = hit
            k += 1


@njit(**FAST)
def label(cameras: Table, packed: Tables, masks: NDArray[np.int16]) -> None:
    """Fill `masks` (n, height, width) with the label of the body each pixel's middle sees, 0 where there is none."""
    n_scenes, height, width = masks.shape
    views, corners = np.empty((packed.shape[1], VIEW_WIDTH)), np.empty((8, 3))
    depths = np.empty((height, width))
    for s in range(n_scenes):
        bodies, camera = packed[s], camera_of(cameras, s, height, width)
        look(bodies, camera, views, corners)
        masks[s] = 0
        depths[:] = MISS
        for b in range(len(bodies)):
            for i in range(max(0, int(views[b, TOP] - 0.5)), min(height, int(views[b, BOTTOM] + 0.5) + 1)):
                v = camera.pixel * (0.5 * height - i - 0.5)
                for j in range(max(0, int(views[b, LEFT] - 0.5)), min(width, int(views[b, RIGHTMOST] + 0.5) + 1)):
                    t = meet_view(bodies, b, views, camera.pixel * (j + 0.5 - 0.5 * width), v)
                    if t < depths[i, j]:
                        depths[i, j] = t
                        masks[s, i, j] = int(bodies[b, LABEL])


@njit(**FAST)
def count(
    cameras: Table,
    packed: Tables,
    height: int,
    width: int,
    visible: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> None:
    """Add up pixels: visible (n, k) of each body, histogram (n, 2^k) by the set of bodies that cover them alone."""
    k = packed.shape[1]
    views, corners = np.empty((k, VIEW_WIDTH)), np.empty((8, 3))
    depths = np.empty((height, width))
    codes = np.empty((height, width), dtype=np.int64)
    first = np.empty((height, width), dtype=np.int64)
    for s in range(len(packed)):
        bodies, camera = packed[s], camera_of(cameras, s, height, width)
        look(bodies, camera, views, corners)
        top, bottom, left, right = height, 0, width, 0  # of all bodies together
        for b in range(k):
            if bodies[b, KIND] != NOTHING and views[b, BOTTOM] >= 0.0 and views[b, RIGHTMOST] >= 0.0:
                top, bottom = min(top, int(views[b, TOP])), max(bottom, min(height, int(views[b, BOTTOM]) + 1))
                left, right = min(left, int(views[b, LEFT])), max(right, min(width, int(views[b, RIGHTMOST]) + 1))
        depths[top:bottom, left:right] = MISS
        codes[top:bottom, left:right] = 0
        for b in range(k):
            if bodies[b, KIND] == NOTHING:
                continue
            for i in range(max(0, int(views[b, TOP] - 0.5)), min(bottom, int(views[b, BOTTOM] + 0.5) + 1)):
                v = camera.pixel * (0.5 * height - i - 0.5)
                for j in range(max(0, int(views[b, LEFT] - 0.5)), min(right, int(views[b, RIGHTMOST] + 0.5) + 1)):
                    t = meet_view(bodies, b, views, camera.pixel * (j + 0.5 - 0.5 * width), v)
                    if t < MISS:
                        codes[i, j] |= 1 << b
                        if t < depths[i, j]:
                            depths[i, j] = t
                            first[i, j] = b
        for i in range(top, bottom):
            for j in range(left, right):
                if codes[i, j]:
                    histogram[s, codes[i, j]] += 1
                    visible[s, first[i, j]] += 1
        histogram[s, 0] = height * width - histogram[s, 1:].sum()
