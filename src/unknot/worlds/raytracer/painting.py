"""Pictures of scenes that differ in the colours of their bodies alone: lit once, then painted; compiled.

A matt body under white light sends its colour times how brightly it is lit, which no colour changes. So rays are
followed once for each arrangement of bodies, and every picture of it is products and means: the same as by
`tracer.render`.
"""

# To be raised as `_trace` says. Tracer 6.

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.worlds.raytracer._shade import WHITE, Scene, note_casters, room_for_casters
from unknot.worlds.raytracer._trace import CONTRAST, Rays, Tables, _color, _corners, _inside
from unknot.worlds.raytracer._vectors import FAST, Table, scaled
from unknot.worlds.raytracer._views import VIEW_WIDTH, camera_of, look
from unknot.worlds.raytracer.layout import COLOR
from unknot.worlds.raytracer.tracer import Batch, hammersley

DIM = 0.25  # colour of everything while light is measured, so that none is clipped; a power of two loses nothing
LINEAR = np.zeros(0)  # tone curve


class Lit(NamedTuple):
    """How brightly arrangements are lit, at the corners of pixels and inside those that may have an edge."""

    met: NDArray[np.int8]  # (n, corners) 0 for the sky, else 1 + body
    light: Table  # (n, corners)
    starts: NDArray[np.int64]  # (n + 1,) where the pixels of an arrangement begin that may have an edge
    pixels: NDArray[np.int64]  # (all of them,)
    sure: NDArray[np.bool_]  # (all of them,) whether there is an edge whatever the colours
    inside_met: NDArray[np.int8]  # (all of them, samples)
    inside_light: Table  # (all of them, samples)


def lit(batch: Batch, height: int, width: int, *, samples: int = 4) -> Lit:
    """Follow the rays of arrangements of matt bodies under white light."""
    bodies, places = batch.bodies.copy(), hammersley(samples)
    bodies[:, :, COLOR : COLOR + 3] = DIM
    n, n_grid, n_pixels = len(batch), (height + 1) * (width + 1), height * width
    grid, inside = _rays(n_grid), _rays(n_pixels * samples)
    thin, pixels = np.empty((height, width), dtype=np.bool_), np.empty(n_pixels, dtype=np.int64)
    sure = np.empty(n_pixels, dtype=np.bool_)
    met, light = np.empty((n, n_grid), dtype=np.int8), np.empty((n, n_grid))
    starts, edges = np.zeros(n + 1, dtype=np.int64), []
    for s in range(n):
        scene = (batch.cameras[s : s + 1], bodies[s], batch.lights[s])
        n_edges = _light(scene, places, grid, thin, (pixels, sure), inside)
        starts[s + 1] = starts[s] + n_edges
        met[s], light[s] = grid.met + 1, grid.colors[:, 0] / DIM
        of_samples = inside.met[: n_edges * samples] + 1, inside.colors[: n_edges * samples, 0] / DIM
        edges.append((pixels[:n_edges].copy(), sure[:n_edges].copy(), *of_samples))
    pixels, sure, inside_met, inside_light = (np.concatenate(parts) for parts in zip(*edges, strict=True))
    shape = (len(pixels), samples)
    return Lit(
        met, light, starts, pixels, sure, inside_met.astype(np.int8).reshape(shape), inside_light.reshape(shape)
    )


def paint(lit: Lit, index: NDArray[np.int64], batch: Batch, out: NDArray[np.uint8]) -> None:
    """Draw arrangements with the colours that bodies and skies of a batch have.

    Args:
        lit: the arrangements.
        index: (n,) which of them each picture shows.
        batch: of which only colours count.
        out: (n, height, width, 3) the pictures.
    """
    colors = np.concatenate([batch.backgrounds[:, None], batch.bodies[:, :, COLOR : COLOR + 3]], axis=1)
    n, height, width, channels = out.shape
    _paint(lit, index, colors, out.reshape(n, height, width * channels))


def _rays(n: int) -> Rays:
    return Rays(np.empty((n, 3)), np.empty(n, dtype=np.int64), np.empty((n, 3)))


@njit(**FAST, nogil=True)
def _light(
    of: tuple[Table, Table, Table],
    samples: Table,
    grid: Rays,
    thin: NDArray[np.bool_],
    edges: tuple[NDArray[np.int64], NDArray[np.bool_]],
    inside: Rays,
) -> int:
    """Trace one arrangement; how many pixels may have an edge."""
    (cameras, bodies, lights), (height, width), (pixels, sure) = of, thin.shape, edges
    views, corners = np.empty((len(bodies), VIEW_WIDTH)), np.empty((8, 3))
    casters = room_for_casters(len(bodies))
    note_casters(bodies, casters)
    scene = Scene(bodies, lights, scaled(DIM, WHITE), np.empty(len(bodies), dtype=np.int64), casters)
    camera = camera_of(cameras, 0, height, width)
    look(bodies, camera, views, corners)
    _corners(bodies, camera, views, grid, thin)
    _color(scene, camera, LINEAR, len(grid.met), grid, 2)
    met, light, least = grid.met, grid.colors[:, 0], 0.999 * CONTRAST * DIM  # colours make differences smaller
    n_edges = 0
    for i in range(height):
        for j in range(width):
            k = i * (width + 1) + j
            low = k + width + 1
            sure[n_edges] = thin[i, j] or met[k] != met[k + 1] or met[k] != met[low] or met[k] != met[low + 1]
            bright = abs(light[k] - light[low + 1]) > least or abs(light[k + 1] - light[low]) > least
            if sure[n_edges] or bright:
                pixels[n_edges] = i * width + j
                n_edges += 1
    _inside(scene, camera, views, samples, pixels[:n_edges], inside)
    _color(scene, camera, LINEAR, n_edges * len(samples), inside, len(samples))
    return n_edges


@njit(**FAST, nogil=True)
def _paint(lit: Lit, index: NDArray[np.int64], colors: Tables, rows: NDArray[np.uint8]) -> None:
    """Fill `rows` (n, height, 3 x width), pictures whose pixels and channels follow each other."""
    n, height, wide = rows.shape
    width, n_grid, n_samples = wide // 3, lit.met.shape[1], lit.inside_met.shape[1]
    seen = np.empty(3 * n_grid)  # colours at corners
    below = wide + 3  # to the corner below
    for s in range(n):
        g = index[s]
        for k in range(n_grid):
            light, body = lit.light[g, k], lit.met[g, k]
            for c in range(3):
                seen[3 * k + c] = min(1.0, light * colors[s, body, c])
        for i in range(height):
            upper, lower = seen[i * below : (i + 1) * below], seen[(i + 1) * below : (i + 2) * below]
            for j in range(wide):
                rows[s, i, j] = np.uint8((upper[j] + upper[j + 3] + lower[j] + lower[j + 3]) * 63.75 + 0.5)
        for e in range(lit.starts[g], lit.starts[g + 1]):
            i, j = lit.pixels[e] // width, 3 * (lit.pixels[e] % width)
            k, edge = i * below + j, lit.sure[e]
            for c in range(k, k + 3):
                edge |= abs(seen[c] - seen[c + below + 3]) > CONTRAST
                edge |= abs(seen[c + 3] - seen[c + below]) > CONTRAST
            if edge:
                for c in range(3):
                    total = 0.0
                    for m in range(n_samples):
                        total += min(1.0, lit.inside_light[e, m] * colors[s, lit.inside_met[e, m], c])
                    rows[s, i, j + c] = np.uint8(total * 255.0 / n_samples + 0.5)
