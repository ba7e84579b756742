"""Small scenes: a world of the catalogue with the pixels of a written folder."""

from pathlib import Path

import numpy as np

from unknot.runs.meters import has_masks
from unknot.worlds import open_world
from unknot.worlds.scenes.dataset import SceneSet, write_scenes

KEY = "scenes64_rendered"


def test_they_are_the_first_scenes_of_a_written_folder(tmp_path: Path) -> None:
    written, world = write_scenes(tmp_path / "scenes", SceneSet(n=4, size=64)), open_world(KEY)
    numbers = np.arange(4)[:, None]
    np.testing.assert_array_equal(world.images(numbers), written.images(numbers))
    assert has_masks(world)
    np.testing.assert_array_equal(world.masks(numbers), written.masks(numbers))


def test_what_was_drawn_is_kept_and_stays_as_it_is() -> None:
    world = open_world(KEY)
    first = world.images([[2], [0], [2]])
    first[:] = 0
    again = world.images([[0], [2], [3]])
    np.testing.assert_array_equal(again, open_world(KEY).images([[0], [2], [3]]))
    assert world.images(np.empty((0, 1), int)).shape == (0, 64, 64, 3)
