import json
import math
from dataclasses import replace

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds import open_world
from unknot.worlds.preview import sheet
from unknot.worlds.scenes.chunks import fill
from unknot.worlds.scenes.clevr import read_scene_file
from unknot.worlds.scenes.dataset import SceneSet, open_scenes, write_scenes
from unknot.worlds.scenes.render import render, scene_masks
from unknot.worlds.scenes.scenes_rendered import ScenesRendered
from unknot.worlds.world import World, sample

SMALL = {"n": 70, "size": 16, "seed": 2}  # two pieces


@pytest.fixture(scope="module")
def iid(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("iid"), SceneSet(**SMALL))


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")}


def test_images_and_masks_are_those_of_the_scenes(iid):
    some = np.array([0, 5, 69])
    scenes = [iid.scene(i) for i in some]
    np.testing.assert_array_equal(iid.images(some[:, None]), render(scenes, 16))
    np.testing.assert_array_equal(iid.masks(some[:, None]), scene_masks(scenes, 16))
    for i, mask in zip(some, iid.masks(some[:, None]), strict=True):
        counted = [thing["visible_pixels"] for thing in iid.records[i]["objects"]]
        assert counted == np.bincount(mask.ravel(), minlength=len(counted) + 1)[1:].tolist()


def test_a_written_folder_is_a_world_that_opens_by_its_path(iid):
    world = open_world(str(iid.folder))
    assert isinstance(world, World) and world.name == "scenes, IID (rendered)"
    assert world.factors.names == ("image",) and world.factors.size == 70 and world.image_shape == (16, 16, 3)
    rng = np.random.default_rng(0)
    assert world.images(sample(world, 5, rng)).shape == (5, 16, 16, 3)
    assert sheet(world, rng=rng).width > 100


def test_the_scene_file_is_one_of_clevr(iid):
    record = json.loads((iid.folder / "scenes.json").read_text())
    assert set(record["info"]) == {"date", "version", "split", "license"}
    assert [scene["image_index"] for scene in read_scene_file(iid.folder / "scenes.json")] == list(range(70))
    assert record["scenes"][3]["image_filename"] == "CLEVR_train_000003.png"


def test_files_are_the_same_with_two_processes(tmp_path, iid):
    again = write_scenes(tmp_path / "two", SceneSet(**SMALL), jobs=2)
    assert contents(again.folder) == contents(iid.folder)


def test_the_world_that_is_drawn_when_asked_for_has_the_same_pixels(iid):
    world = ScenesRendered(**SMALL)
    assert isinstance(world, World) and world.factors == iid.factors and world.image_shape == iid.image_shape
    np.testing.assert_array_equal(world.images([[69], [3]]), iid.images([[69], [3]]))
    np.testing.assert_array_equal(world.masks([[69], [3]]), iid.masks([[69], [3]]))


@pytest.mark.parametrize("wrong", [{"setting": "core"}, {"n": 0}, {"seed": -1}, {"size": 0}])
def test_impossible_worlds_are_named(wrong):
    with pytest.raises(UnknotError):
        ScenesRendered(**wrong)


def test_more_scenes_begin_with_the_same_ones(tmp_path, iid):
    more = write_scenes(tmp_path / "more", SceneSet(**{**SMALL, "n": 3}))
    np.testing.assert_array_equal(more.images([[0], [1], [2]]), iid.images([[0], [1], [2]]))


def test_png_files_hold_the_same_pixels_as_the_array(tmp_path, iid):
    world = write_scenes(tmp_path / "png", SceneSet(**SMALL, form="png"))
    rows = np.array([[3], [69]])
    np.testing.assert_array_equal(world.images(rows), iid.images(rows))
    np.testing.assert_array_equal(world.masks(rows), iid.masks(rows))
    assert (tmp_path / "png" / "images" / "CLEVR_train_000069.png").is_file()
    np.testing.assert_array_equal(open_world(tmp_path / "png").images(rows), iid.images(rows))


def test_an_interrupted_set_is_continued_to_the_same_files(tmp_path, iid, monkeypatch):
    from unknot.worlds.scenes import dataset

    def stopping(info, making, piece, work=dataset._write_piece):
        if piece == 1:
            raise KeyboardInterrupt
        return work(info, making, piece)

    monkeypatch.setattr(dataset, "_write_piece", stopping)
    with pytest.raises(KeyboardInterrupt):
        write_scenes(tmp_path / "set", SceneSet(**SMALL))
    monkeypatch.undo()
    for opened in (open_scenes, open_world):
        with pytest.raises(UnknotError, match=r"was interrupted \(1 pieces are done\)"):
            opened(tmp_path / "set")
    told = []

    def progress(stage, done, total):
        told.append((done, total))

    write_scenes(tmp_path / "set", SceneSet(**SMALL), progress=progress)
    assert told == [(64, 70), (70, 70)]
    assert contents(tmp_path / "set") == contents(iid.folder)


def test_sprites_are_written_and_read_like_scenes(tmp_path):
    world = write_scenes(tmp_path / "sprites", SceneSet("sprites", n=5, size=32))
    assert world.name == "multi-object sprites (rendered)"
    assert world.masks([[4]]).max() == len(world.records[4]["objects"])
    with pytest.raises(UnknotError, match="sprites are no scenes"):
        world.scene(0)
    with pytest.raises(UnknotError, match="sprites are square"):
        write_scenes(tmp_path / "wide", SceneSet("sprites", n=5, size=(32, 64)))


def test_the_clevr_setting_draws_wide_pictures_on_gray(tmp_path):
    world = write_scenes(tmp_path / "clevr", SceneSet("clevr", n=2, size=(24, 32), split="val"))
    assert world.image_shape == (24, 32, 3)
    assert {scene["background"] for scene in world.records} == {"gray"}
    assert world.records[1]["image_filename"] == "CLEVR_val_000001.png"


def test_a_background_changes_the_floor_and_nothing_else(tmp_path, iid):
    world = write_scenes(tmp_path / "white", SceneSet(**{**SMALL, "n": 3, "background": "white"}))
    assert "background" not in iid.scene_set.record()
    assert open_world(str(world.folder)).scene_set.background == "white"
    assert [replace(iid.scene(i), background="white") for i in range(3)] == [world.scene(i) for i in range(3)]


def test_a_set_that_is_there_is_opened_and_another_is_refused(iid):
    assert len(write_scenes(iid.folder, SceneSet(**SMALL)).pictures) == 70
    with pytest.raises(UnknotError, match="already holds scenes with n 70 instead of 71"):
        write_scenes(iid.folder, SceneSet(**{**SMALL, "n": 71}))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"setting": "idd"}, "did you mean 'iid'"), ({"form": "jpg"}, "unknown format 'jpg'"), ({"n": 0}, "n 0"),
     ({"split": "../x"}, "split"), ({"size": (0, 4)}, "0 x 4"), ({"background": "whit"}, "did you mean 'white'"),
     ({"setting": "sprites", "background": "white"}, "background is 'white'; expected none with the setting sprites")],
)  # fmt: skip
def test_wrong_wishes_are_named(options, message):
    with pytest.raises(UnknotError, match=message):
        SceneSet(**{**SMALL, **options})


def test_missing_and_damaged_files_are_named(tmp_path):
    world = write_scenes(tmp_path / "png", SceneSet(n=3, size=16, form="png"))
    (tmp_path / "png" / "images" / "CLEVR_train_000001.png").write_bytes(b"not a picture")
    with pytest.raises(UnknotError, match=r"CLEVR_train_000001\.png: cannot be read"):
        world.images([[1]])
    (tmp_path / "png" / "images" / "CLEVR_train_000001.png").unlink()
    with pytest.raises(UnknotError, match=r"2 of 3 pictures are there; CLEVR_train_000001\.png is missing"):
        open_scenes(tmp_path / "png")
    record = json.loads((tmp_path / "png" / "dataset.json").read_text())
    (tmp_path / "png" / "dataset.json").write_text(json.dumps({**record, "n": 10**15}))
    with pytest.raises(UnknotError, match=f"2 of {10**15} pictures are there"):
        open_scenes(tmp_path / "png")
    (tmp_path / "png" / "dataset.json").write_text(json.dumps({**record, "n": math.inf}))
    with pytest.raises(UnknotError, match=r"dataset\.json: is no description"):
        open_scenes(tmp_path / "png")
    array = write_scenes(tmp_path / "array", SceneSet(n=3, size=16))
    np.save(array.folder / "masks.npy", np.zeros((2, 16, 16), np.uint8))
    with pytest.raises(UnknotError, match=r"masks.npy: is uint8 \(2, 16, 16\)"):
        open_scenes(array.folder)
    (array.folder / "dataset.json").write_text("{}")
    with pytest.raises(UnknotError, match=r"dataset.json: is no description"):
        open_scenes(array.folder)
    (array.folder / "dataset.json").write_text(json.dumps(array.scene_set.record() | {"setting": "idd"}))
    with pytest.raises(UnknotError, match=r"dataset.json: is no description.*did you mean 'iid'"):
        open_scenes(array.folder)


def test_two_processes_do_not_fill_one_folder_at_once(tmp_path):
    from unknot.worlds.scenes.chunks import alone

    with alone(tmp_path), pytest.raises(UnknotError, match=r"process \d+ is filling"):
        write_scenes(tmp_path, SceneSet(n=1, size=16))


def test_what_a_process_killed_at_its_end_left_is_removed_by_the_same_command(tmp_path):
    from unknot.worlds.scenes.chunks import alone

    wish, before = SceneSet(n=1, size=16), sorted(write_scenes(tmp_path, SceneSet(n=1, size=16)).folder.iterdir())
    (tmp_path / ".making" / "pieces").mkdir(parents=True)
    with alone(tmp_path):
        held = sorted(tmp_path.iterdir())
        write_scenes(tmp_path, wish)
        assert sorted(tmp_path.iterdir()) == held  # somebody is still at it
    (tmp_path / ".lock").touch()
    write_scenes(tmp_path, wish)
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnknotError, match="cannot be written"):
        write_scenes(tmp_path / "file" / "set", SceneSet(n=1, size=16))


def test_a_piece_that_fails_leaves_the_others_done(tmp_path):
    done = []

    def work(making, piece):
        if piece == 2:
            raise UnknotError("piece 2 is bad")
        done.append(piece)
        return {"piece": piece}

    with pytest.raises(UnknotError, match="piece 2"):
        fill(tmp_path, {}, {}, 4, work)
    assert done == [0, 1]
    records = fill(tmp_path, {}, {}, 4, lambda making, piece: done.append(piece) or {"piece": piece})
    assert done == [0, 1, 2, 3] and [r["piece"] for r in records] == [0, 1, 2, 3]
