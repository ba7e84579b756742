"""Images, instance masks and silhouettes of packed scenes, one ray at a time; compiled.

An image is traced at the corners of its pixels. Where the four corners of a pixel see the same body in nearly the
same colour, the pixel is their mean; only the others, those that an edge runs through, are sampled inside.
Each body is tried only within the rectangle it projects to.
"""

# The compiled code kept on disk is made anew when the text of this file changes, not when that of one it imports does:
# after editing layout, _intersect, _shade or _views, raise this number in all files that have it. Tracer 3.

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer._intersect import FAST, INLINE, LEAN, MISS
from unknot.worlds.raytracer._shade import Scenes, Table, radiance
from unknot.worlds.raytracer._views import BOTTOM, IS_THIN, LEFT, RIGHTMOST, TOP, VIEW_WIDTH, look, meet_view
from unknot.worlds.raytracer.layout import EYE, FORWARD, LABEL, RIGHT, TANGENT, UP

CONTRAST = 0.16  # a larger difference between the corners of a pixel counts as an edge


@njit(**INLINE)
def _encoded(x: float, curve: Table) -> float:
    """Light as a display value: clipped to [0, 1] and sent through the tone curve, if there is one."""
    x = max(0.0, min(1.0, x))
    if curve.size < 2:
        return x
    at = x * (curve.size - 1)
    i = min(int(at), curve.size - 2)
    return float(curve[i] + (at - i) * (curve[i + 1] - curve[i]))


@njit(**LEAN)
def _color(
    cameras: Table,
    bodies: Scenes,
    s: int,
    lights: Scenes,
    sky: Table,
    faces: Table,
    curve: Table,
    n_rays: int,
    rays: Table,
    met: NDArray[np.int64],
    near: NDArray[np.int64],
    colors: Table,
) -> None:
    """Write display colours of camera rays: rows (u, v, depth) of `rays`, meeting bodies `met` (-1: the sky)."""
    sky_r, sky_g, sky_b = _encoded(sky[s, 0], curve), _encoded(sky[s, 1], curve), _encoded(sky[s, 2], curve)
    for k in range(n_rays):
        if met[k] < 0:
            colors[k, 0], colors[k, 1], colors[k, 2] = sky_r, sky_g, sky_b
            continue
        u, v, depth = rays[k, 0], rays[k, 1], rays[k, 2]
        dx = cameras[s, FORWARD] + u * cameras[s, RIGHT] + v * cameras[s, UP]
        dy = cameras[s, FORWARD + 1] + u * cameras[s, RIGHT + 1] + v * cameras[s, UP + 1]
        dz = cameras[s, FORWARD + 2] + u * cameras[s, RIGHT + 2] + v * cameras[s, UP + 2]
        px, py, pz = (
            cameras[s, EYE] + depth * dx,
            cameras[s, EYE + 1] + depth * dy,
            cameras[s, EYE + 2] + depth * dz,
        )
        r, g, w = radiance(bodies, s, met[k], lights, sky, faces, px, py, pz, dx, dy, dz, near)
        colors[k, 0], colors[k, 1], colors[k, 2] = _encoded(r, curve), _encoded(g, curve), _encoded(w, curve)


@njit(**FAST)
def draw(
    cameras: Table,
    bodies: Scenes,
    lights: Scenes,
    sky: Table,
    faces: Table,
    curve: Table,
    samples: Table,
    images: NDArray[np.uint8],
) -> None:
    """Fill `images` (n, height, width, 3); `samples` are the places in [0, 1)^2 looked at in a pixel with an edge."""
    n_scenes, height, width, _ = images.shape
    n_bodies, n_samples = bodies.shape[1], len(samples)
    views = np.empty((n_bodies, VIEW_WIDTH))
    corners = np.empty((8, 3))
    near = np.empty(n_bodies, dtype=np.int64)
    n_grid = (height + 1) * (width + 1)
    rays = np.empty((n_grid, 3))
    met = np.empty(n_grid, dtype=np.int64)
    colors = np.empty((n_grid, 3))
    # At most this many pixels are sampled at a time; more edges than that only mean another round.
    n_round = max(1, n_grid // n_samples)
    pixels = np.empty(n_round, dtype=np.int64)
    thin = np.empty((height, width), dtype=np.bool_)
    edge_rays = np.empty((n_round * n_samples, 3))
    edge_met = np.empty(n_round * n_samples, dtype=np.int64)
    edge_colors = np.empty((n_round * n_samples, 3))
    for s in range(n_scenes):
        look(bodies, s, cameras, height, width, views, corners)
        _corners(cameras, bodies, s, faces, views, height, width, rays, met, thin)
        _color(cameras, bodies, s, lights, sky, faces, curve, n_grid, rays, met, near, colors)
        start = 0
        while start < height * width:
            start, n_edges = _plain(s, start, met, colors, thin, pixels, images)
            if n_edges > 0:
                _inside(
                    cameras,
                    bodies,
                    s,
                    faces,
                    views,
                    samples,
                    n_edges,
                    pixels,
                    width,
                    height,
                    edge_rays,
                    edge_met,
                    near,
                )
                n_rays = n_edges * n_samples
                _color(
                    cameras, bodies, s, lights, sky, faces, curve, n_rays, edge_rays, edge_met, near, edge_colors
                )
                for k in range(n_edges):
                    for c in range(3):
                        total = 0.0
                        for m in range(n_samples):
                            total += edge_colors[k * n_samples + m, c]
                        images[s, pixels[k] // width, pixels[k] % width, c] = np.uint8(
                            total * 255.0 / n_samples + 0.5
                        )


@njit(**LEAN)
def _corners(
    cameras: Table,
    bodies: Scenes,
    s: int,
    faces: Table,
    views: Table,
    height: int,
    width: int,
    rays: Table,
    met: NDArray[np.int64],
    thin: NDArray[np.bool_],
) -> None:
    """Trace the corners of all pixels, row by row; mark pixels where a thin body may hide between them."""
    step = 2.0 * cameras[s, TANGENT] / height
    k = 0
    for i in range(height + 1):
        for j in range(width + 1):
            rays[k, 0], rays[k, 1], rays[k, 2] = step * (j - 0.5 * width), step * (0.5 * height - i), MISS
            met[k] = -1
            k += 1
    thin[:] = False
    for b in range(bodies.shape[1]):
        top, bottom = math.ceil(views[b, TOP]), math.floor(views[b, BOTTOM])
        left, right = math.ceil(views[b, LEFT]), math.floor(views[b, RIGHTMOST])
        for i in range(top, bottom + 1):
            v = step * (0.5 * height - i)
            for j in range(left, right + 1):
                t = meet_view(bodies, s, b, faces, views, step * (j - 0.5 * width), v)
                k = i * (width + 1) + j
                if t < rays[k, 2]:
                    rays[k, 2] = t
                    met[k] = b
        if views[b, IS_THIN] != 0.0 and bottom >= 0 and right >= 0:
            thin[max(top - 1, 0) : bottom + 1, max(left - 1, 0) : right + 1] = True


@njit(**LEAN)
def _plain(
    s: int,
    start: int,
    met: NDArray[np.int64],
    colors: Table,
    thin: NDArray[np.bool_],
    pixels: NDArray[np.int64],
    images: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write pixels from `start` on as means of their corners; list those with an edge until the list is full."""
    height, width = thin.shape
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
                    images[s, i, j, c] = np.uint8((p + q + x + y) * 63.75 + 0.5)
            if edge:
                pixels[n_edges] = i * width + j
                n_edges += 1
                if n_edges == len(pixels):
                    return i * width + j + 1, n_edges
        column = 0
    return height * width, n_edges


@njit(**LEAN)
def _inside(
    cameras: Table,
    bodies: Scenes,
    s: int,
    faces: Table,
    views: Table,
    samples: Table,
    n_pixels: int,
    pixels: NDArray[np.int64],
    width: int,
    height: int,
    rays: Table,
    met: NDArray[np.int64],
    near: NDArray[np.int64],
) -> None:
    """Trace the samples inside some pixels; `near` is room for the bodies that may be seen in one."""
    step = 2.0 * cameras[s, TANGENT] / height
    k = 0
    for p in range(n_pixels):
        i, j = pixels[p] // width, pixels[p] % width
        n_near = 0
        for b in range(bodies.shape[1]):
            rows = views[b, TOP] <= i + 1 and views[b, BOTTOM] >= i
            if rows and views[b, LEFT] <= j + 1 and views[b, RIGHTMOST] >= j:
                near[n_near] = b
                n_near += 1
        for m in range(len(samples)):
            u, v = step * (j + samples[m, 0] - 0.5 * width), step * (0.5 * height - i - samples[m, 1])
            hit, depth = -1, MISS
            for n in range(n_near):
                t = meet_view(bodies, s, near[n], faces, views, u, v)
                if t < depth:
                    hit, depth = near[n], t
            rays[k, 0], rays[k, 1], rays[k, 2] = u, v, depth
            met[k] = hit
            k += 1


@njit(**FAST)
def label(cameras: Table, bodies: Scenes, faces: Table, masks: NDArray[np.int16]) -> None:
    """Fill `masks` (n, height, width) with the label of the body each pixel's middle sees, 0 where there is none."""
    n_scenes, height, width = masks.shape
    views = np.empty((bodies.shape[1], VIEW_WIDTH))
    corners = np.empty((8, 3))
    depths = np.empty((height, width))
    for s in range(n_scenes):
        look(bodies, s, cameras, height, width, views, corners)
        masks[s] = 0
        depths[:] = MISS
        step = 2.0 * cameras[s, TANGENT] / height
        for b in range(bodies.shape[1]):
            for i in range(max(0, int(views[b, TOP] - 0.5)), min(height, int(views[b, BOTTOM] + 0.5) + 1)):
                v = step * (0.5 * height - i - 0.5)
                for j in range(max(0, int(views[b, LEFT] - 0.5)), min(width, int(views[b, RIGHTMOST] + 0.5) + 1)):
                    t = meet_view(bodies, s, b, faces, views, step * (j + 0.5 - 0.5 * width), v)
                    if t < depths[i, j]:
                        depths[i, j] = t
                        masks[s, i, j] = int(bodies[s, b, LABEL])


@njit(**FAST)
def outline(cameras: Table, bodies: Scenes, faces: Table, codes: NDArray[np.int64]) -> None:
    """Set bit l - 1 of `codes` (n, height, width) where a body labelled l >= 1 would be seen if it were alone."""
    n_scenes, height, width = codes.shape
    views = np.empty((bodies.shape[1], VIEW_WIDTH))
    corners = np.empty((8, 3))
    for s in range(n_scenes):
        look(bodies, s, cameras, height, width, views, corners)
        codes[s] = 0
        step = 2.0 * cameras[s, TANGENT] / height
        for b in range(bodies.shape[1]):
            if bodies[s, b, LABEL] < 1.0:
                continue
            bit = 1 << (int(bodies[s, b, LABEL]) - 1)
            for i in range(max(0, int(views[b, TOP] - 0.5)), min(height, int(views[b, BOTTOM] + 0.5) + 1)):
                v = step * (0.5 * height - i - 0.5)
                for j in range(max(0, int(views[b, LEFT] - 0.5)), min(width, int(views[b, RIGHTMOST] + 0.5) + 1)):
                    if meet_view(bodies, s, b, faces, views, step * (j + 0.5 - 0.5 * width), v) < MISS:
                        codes[s, i, j] |= bit
