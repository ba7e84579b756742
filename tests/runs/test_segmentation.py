"""ARI of a trained run, on its own world and on published files."""

import numpy as np
import pytest
from tests.worlds.published.test_multi_object import written

from unknot.errors import UnknotError
from unknot.runs.segmentation import segmentation
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.published.multi_object import KINDS
from unknot.worlds.scenes.dataset import SceneSet, write_scenes

SLOTS = {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0, "warm_up": 0}


def test_a_run_is_measured_on_its_own_world_and_on_a_published_file(tmp_path):
    written(tmp_path / "sprites.tfrecords", KINDS[0])
    write_scenes(tmp_path / "scenes", SceneSet("black_sprites", n=8, size=32))
    small = {"steps": 2, "batch_size": 2, "model": "slot_attention", "options": SLOTS}
    run = train(RunSpec(world=str(tmp_path / "scenes"), **small), tmp_path)
    own = segmentation(run, n=8)
    assert set(own) == {"fg_ari", "ari"} and all(-1 <= value <= 1 for value in own.values())
    assert segmentation(run, tmp_path / "sprites.tfrecords", n=3)["ari"] != own["ari"]
    # And a run trains on the published file, where its masks are measured as it goes.
    published = train(RunSpec(world=str(tmp_path / "sprites.tfrecords"), image_size=32, **small), tmp_path)
    assert {"fg_ari", "ari"} <= set(published.segmentation())
    without = ArrayWorld(np.full((4, 32, 32, 3), 9, np.uint8), name="pictures")
    with pytest.raises(UnknotError, match="world is 'pictures'; expected a world with true masks of its objects"):
        segmentation(run, without)
    with pytest.raises(UnknotError, match="n is 0"):
        segmentation(run, n=0)
    vae = train(RunSpec(world=str(tmp_path / "scenes"), model="beta_vae", image_size=64, steps=1), tmp_path)
    with pytest.raises(UnknotError, match="run is 'beta_vae'; expected a model that masks objects"):
        segmentation(vae)
