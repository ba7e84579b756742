"""Sprites of the arena as a world: what a model learns from is what the agent will see."""

import colorsys

import numpy as np

from unknot.worlds import open_world
from unknot.worlds.scenes._paint import paint
from unknot.worlds.scenes.arena import Arenas


def test_its_pictures_are_those_the_agent_sees():
    world, arenas = open_world("arena_rendered"), Arenas(8, np.random.default_rng(0))
    classes = world.factors.sample(32, np.random.default_rng(1))
    rows, sprites = np.indices((8, 4)).reshape(2, -1)
    shape, hue, saturation, x, y = (f.numbers[classes[:, i]] for i, f in enumerate(world.factors))
    arenas.shapes[rows, sprites] = shape
    arenas.poses[rows, sprites, :2] = np.stack([x, y], axis=1)
    arenas.colors[rows, sprites] = [colorsys.hsv_to_rgb(h, s, 0.95) for h, s in zip(hue, saturation, strict=True)]
    np.testing.assert_array_equal(world.images(classes), arenas.alone(rows, sprites))


def test_a_sprite_alone_is_painted_as_in_a_scene_of_one():
    arenas = Arenas(5, np.random.default_rng(2), size=32)
    arenas.poses[..., :2] = np.random.default_rng(3).uniform(0, 1, (5, 4, 2))  # half outside, too
    rows, sprites = np.indices((5, 4)).reshape(2, -1)
    for row, sprite, picture in zip(rows, sprites, arenas.alone(rows, sprites), strict=True):
        image, one = np.zeros((32, 32, 3)), slice(sprite, sprite + 1)
        paint(
            arenas.shapes[row, one],
            arenas.poses[row, one],
            arenas.colors[row, one],
            image,
            np.zeros((32, 32), np.uint8),
        )
        np.testing.assert_array_equal(picture, np.rint(255 * image))
