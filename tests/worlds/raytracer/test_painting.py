"""Painting what was lit once gives the pictures that tracing gives."""

import numpy as np
from numpy.testing import assert_array_equal

from unknot.worlds.raytracer.painting import lit, paint
from unknot.worlds.raytracer.tracer import Body, Camera, Light, Material, Scene, pack, render
from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered

SUN = Light((0.5, -0.5, 1.0), (1.4, 1.4, 1.4), directional=True, radius=0.1)


def test_shapes3d_is_painted_as_it_is_traced() -> None:
    world, rng = shapes3d_rendered(), np.random.default_rng(0)
    classes = rng.integers(0, world.factors.sizes, size=(300, 6))
    assert_array_equal(world.images(classes), render(world.scenes(classes), 64, 64))


def test_a_shadow_is_an_edge_on_bright_bodies_and_none_on_dark_ones() -> None:
    def scene(level: float, sky: float) -> Scene:
        floor = Body("plane", color=(level, 0.1, 1.0), material=Material(ambient=0.2, diffuse=1.5))
        ball = Body("sphere", (0, 0, 0.6), 0.4, color=(0.3, level, 0.0))
        thin = Body("rectangle", (0.5, 0, 0.8), (0.4, 0.01, 1), color=(1.0, 1.0, level))
        return Scene(Camera((0, -3, 1.5)), (floor, ball, thin), (SUN,), (sky, sky, 1.0))

    batch = pack([scene(level, 1 - level) for level in (0.0, 0.1, 0.5, 1.0)])
    pictures = np.empty((4, 24, 24, 3), dtype=np.uint8)
    light = lit(pack(scene(0.7, 0.0)), 24, 24)
    assert 0 < light.sure.sum() < len(light.sure)
    paint(light, np.zeros(4, dtype=np.int64), batch, pictures)
    assert_array_equal(pictures, render(batch, 24, 24))
