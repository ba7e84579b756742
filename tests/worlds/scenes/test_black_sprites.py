"""The two-dimensional setting that models of objects separate soonest."""

import numpy as np

from unknot.worlds import open_world
from unknot.worlds.scenes.dataset import SceneSet, write_scenes
from unknot.worlds.scenes.multi_sprites import MultiSprites


def test_three_or_four_large_sprites_on_black(tmp_path):
    written = write_scenes(tmp_path / "black", SceneSet("black_sprites", n=24, size=32))
    rows = np.arange(24)[:, None]
    images, masks = written.images(rows), written.masks(rows)
    assert {len(record["objects"]) for record in written.records} == {3, 4}
    assert all(1.1 <= thing["scale"] <= 1.5 for record in written.records for thing in record["objects"])
    assert not images[:, 0, 0][masks[:, 0, 0] == 0].any()
    assert 0.25 < (masks > 0).mean() < 0.45
    again = open_world(tmp_path / "black")
    assert again.name == "multi-object sprites on black (rendered)"
    assert np.array_equal(again.masks(rows), masks)


def test_a_fixed_ground_changes_nothing_but_the_ground():
    grey, black = MultiSprites(n=4, size=32), MultiSprites(n=4, size=32, ground=0.0)
    rows = np.arange(4)[:, None]
    masks = grey.masks(rows)
    assert np.array_equal(masks, black.masks(rows))
    assert (grey.images(rows) != black.images(rows)).any()
    assert all(record["background"] == 0 for record in (black.picture(i)[2] for i in range(4)))
