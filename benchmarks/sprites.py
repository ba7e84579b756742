"""How fast sprites are drawn on one core, beside the same shapes drawn as polygons with Pillow."""

import resource
import sys
import time

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from unknot.worlds.rendered.dsprites_rendered import SPACE, DSpritesRendered, render_sprites
from unknot.worlds.rendered.sprites import ELLIPSE_U, ELLIPSE_V, HEART_K, HEART_SHIFT, HEART_U, SQUARE

BATCH = 256


def outlines(n: int = 128) -> list[NDArray[np.float64]]:
    """Corners of the unit-scale square, ellipse and heart."""
    t = np.linspace(0, 2 * np.pi, n, endpoint=False)
    heart_v = HEART_K * (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) + HEART_SHIFT
    return [
        SQUARE * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=np.float64),
        np.stack([ELLIPSE_U * np.cos(t), ELLIPSE_V * np.sin(t)], axis=1),
        np.stack([HEART_U * np.sin(t) ** 3, -heart_v], axis=1),
    ]


def draw_with_pillow(poses: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
    """The way one would draw them without a kernel: turn the corners, fill a polygon, copy the pixels."""
    shapes = outlines()
    for i, (shape, scale, theta, x, y) in enumerate(poses):
        cos, sin = np.cos(theta), np.sin(theta)
        corners = shapes[int(shape)] @ np.array([[cos, -sin], [sin, cos]]) * scale + [16 + 32 * x, 16 + 32 * y]
        image = Image.new("L", (64, 64))
        ImageDraw.Draw(image).polygon((corners - 0.5).ravel().tolist(), fill=255)
        out[i, :, :, 0] = np.asarray(image)


def seconds_each(action, n_images: int, repeats: int) -> float:
    """The fastest of several runs, per image: others on the machine only ever add time."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times) / n_images


def main() -> dict[str, float]:
    rng = np.random.default_rng(0)
    out = np.empty((BATCH, 64, 64, 1), dtype=np.uint8)
    batches = [SPACE.numbers(SPACE.sample(BATCH, rng)) for _ in range(40)]
    classes = [SPACE.sample(BATCH, rng) for _ in range(40)]
    world = DSpritesRendered()
    world.images(classes[0])  # compiles, or loads what was compiled before

    def into_buffer() -> None:
        for poses in batches:
            render_sprites(*poses.T, out=out)

    def new_images() -> None:
        for rows in classes:
            world.images(rows)

    kernel = seconds_each(into_buffer, BATCH * len(batches), 15)
    fresh = seconds_each(new_images, BATCH * len(classes), 15)
    pillow = seconds_each(lambda: draw_with_pillow(batches[0], out), BATCH, 5)
    differing = float(np.mean(out != render_sprites(*batches[0].T)) * 64 * 64)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for points in SPACE.chunks(BATCH):
        render_sprites(*SPACE.numbers(points).T, out=out)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    megabytes = grown / (2**20 if sys.platform == "darwin" else 2**10)

    print(f"unknot, reused array   {1 / kernel:12,.0f} images/s   {pillow / kernel:6.0f} x Pillow")
    print(f"unknot, World.images   {1 / fresh:12,.0f} images/s   {pillow / fresh:6.0f} x Pillow")
    print(f"Pillow polygons        {1 / pillow:12,.0f} images/s   ({differing:.1f} pixels an image differ)")
    print(f"memory grown while drawing all {SPACE.size:,} images: {megabytes:.1f} MB")
    return {
        "images_per_second": 1 / kernel,
        "world_images_per_second": 1 / fresh,
        "pillow_images_per_second": 1 / pillow,
        "ratio": pillow / kernel,
        "memory_growth_mb": megabytes,
    }


if __name__ == "__main__":
    main()
