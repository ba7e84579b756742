import json
import shutil

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds import open_world
from unknot.worlds.scenes.clevr import cut, read_clevr, read_scene_file
from unknot.worlds.scenes.dataset import SceneSet, write_scenes


@pytest.fixture(scope="module")
def clevr(tmp_path_factory):
    """A folder laid out like the published one."""
    folder = tmp_path_factory.mktemp("CLEVR_v1.0")
    written = write_scenes(folder / "made", SceneSet("clevr", n=3, size=(240, 320), form="png", split="val"))
    (folder / "images").mkdir()
    shutil.copytree(folder / "made" / "images", folder / "images" / "val")
    (folder / "scenes").mkdir()
    scenes = json.loads((folder / "made" / "scenes.json").read_text())
    for scene in scenes["scenes"]:
        for key in ("background", "camera", "lights"):
            del scene[key]  # the published ones have none
    scenes["scenes"].reverse()  # and need not be in the order of the pictures
    (folder / "scenes" / "CLEVR_val_scenes.json").write_text(json.dumps(scenes))
    return folder, written


def test_a_clevr_folder_is_a_world_with_scenes(clevr):
    folder, written = clevr
    world = open_world(folder)
    assert world.name == "CLEVR val" and world.factors.size == 3 and world.image_shape == (128, 128, 3)
    assert [t.color for t in world.scene(2).objects] == [t.color for t in written.scene(2).objects]


def test_windows_cut_what_they_say(clevr):
    folder, written = clevr
    original = written.images([[1]])[0]
    whole = read_clevr(folder, size=240, window="whole")
    assert whole.images([[1]]).shape == (1, 240, 240, 3)
    slots = read_clevr(folder, size=192, window="slots").images([[1]])[0]
    np.testing.assert_array_equal(slots, original[29:221, 64:256])
    coat = read_clevr(folder, size=168, window="coat").images([[1]])[0]
    np.testing.assert_array_equal(coat, original[36:204, 76:244])


def test_wrong_folders_splits_and_windows_are_named(clevr, tmp_path):
    folder, _ = clevr
    with pytest.raises(UnknotError, match="unknown split 'train'"):
        read_clevr(folder, split="train")
    with pytest.raises(UnknotError, match="unknown window 'slot'; did you mean 'slots'"):
        read_clevr(folder, window="slot")
    with pytest.raises(UnknotError, match="has no images/train"):
        read_clevr(tmp_path)
    (tmp_path / "images" / "test").mkdir(parents=True)
    with pytest.raises(UnknotError, match="holds no PNG"):
        read_clevr(tmp_path)


def test_a_split_without_scenes_says_so(clevr, tmp_path):
    folder, _ = clevr
    shutil.copytree(folder / "images" / "val", tmp_path / "images" / "test")
    world = read_clevr(tmp_path)
    assert world.images([[0]]).shape == (1, 128, 128, 3)
    with pytest.raises(UnknotError, match="not published"):
        world.scene(0)


def test_a_scene_file_with_unknown_colours_or_without_a_picture_is_named(clevr, tmp_path):
    folder, _ = clevr
    shutil.copytree(folder / "images", tmp_path / "images")
    record = json.loads((folder / "scenes" / "CLEVR_val_scenes.json").read_text())
    record["scenes"][0]["objects"][0]["color"] = "pink"
    (tmp_path / "scenes").mkdir()
    file = tmp_path / "scenes" / "CLEVR_val_scenes.json"
    file.write_text(json.dumps(record))
    with pytest.raises(UnknotError, match=r"scene of CLEVR_val_000002\.png, object 0: unknown color 'pink'"):
        read_clevr(tmp_path).scene(2)
    record["scenes"].pop()
    file.write_text(json.dumps(record))
    with pytest.raises(UnknotError, match=r"has no scene of CLEVR_val_000000\.png \(1 of 3"):
        read_clevr(tmp_path).scene(2)
    file.write_text("[]")
    with pytest.raises(UnknotError, match="has no list 'scenes'"):
        read_scene_file(file)


def test_a_broken_picture_is_named(tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no picture")
    with pytest.raises(UnknotError, match="cannot be read as a picture"):
        cut(tmp_path / "bad.png", (8, 8), "whole")
