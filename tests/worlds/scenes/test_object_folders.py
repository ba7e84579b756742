"""CLEVRTex and Kubric's folders, written here as they are published."""

import json

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.worlds import open_world
from unknot.worlds.scenes.object_folders import read_clevrtex, read_kubric

OBJECT = {
    "shape": "cube",
    "size": "large",
    "material": "PoliigonBricks01",
    "rotation": 1.0,
    "3d_coords": [0, 1, 2],
}


def clevrtex(folder, n=3):
    for i in range(n):
        place = folder / str(i % 2)
        place.mkdir(parents=True, exist_ok=True)
        stem = place / f"CLEVRTEX_full_{i:06d}"
        picture, mask = np.full((240, 320, 3), 10 * i, np.uint8), np.zeros((240, 320), np.uint8)
        mask[:, 160:] = 1
        mask[:24] = 7  # cut off: the middle 192 are kept
        Image.fromarray(picture).save(f"{stem}.png")
        Image.fromarray(picture).save(f"{stem}_normal.png")
        file = Image.fromarray(mask, "P" if i % 2 else "L")
        if i % 2:
            file.putpalette([0, 0, 0, 255, 0, 0] + [9] * 750)
        file.save(f"{stem}_flat.png")
        stem.with_suffix(".json").write_text(json.dumps({"objects": [OBJECT], "ground_material": "x"}))


def movi(folder, scenes=2, frames=3):
    for scene in range(scenes):
        place = folder / f"scene_{scene}"
        place.mkdir(parents=True)
        for frame in range(frames):
            picture = np.full((16, 16, 4), 100 * scene + 10 * frame, np.uint8)
            picture[..., 3] = 255
            Image.fromarray(picture).save(place / f"rgba_{frame:05d}.png")
            mask = Image.fromarray(np.eye(16, dtype=np.uint8) * 2, "P")
            mask.putpalette([0, 0, 0, 255, 0, 0] + [9] * 750)
            mask.save(place / f"segmentation_{frame:05d}.png")
        instances = [
            {
                "shape_label": "cube",
                "color_label": "red",
                "color": [1, 0, 0],
                "positions": [[f, 0, 0] for f in range(3)],
            }
        ]
        (place / "metadata.json").write_text(json.dumps({"instances": instances, "metadata": {}}))


def test_clevrtex_is_a_world_in_the_order_of_its_numbers(tmp_path):
    clevrtex(tmp_path / "clevrtex_full")
    world = open_world(str(tmp_path / "clevrtex_full"))
    assert (world.name, world.image_shape, world.factors.size) == ("CLEVRTex full", (128, 128, 3), 3)
    assert world.images([[2], [0], [1]])[:, 0, 0, 0].tolist() == [20, 0, 10]
    small = read_clevrtex(tmp_path / "clevrtex_full", size=8)
    expected = np.tile([0, 0, 0, 0, 1, 1, 1, 1], (8, 1))
    assert (small.masks([[0], [1]]) == expected).all(), "a palette's numbers and not its colours"
    assert small.objects(0) == [{"mask": 1, **OBJECT}]
    said = {"objects": [{**OBJECT, "index": 2}, {**OBJECT, "index": 1}]}
    (tmp_path / "clevrtex_full" / "0" / "CLEVRTEX_full_000000.json").write_text(json.dumps(said))
    assert [thing["mask"] for thing in small.objects(0)] == [2, 1]


def test_frames_of_kubric_are_pictures_with_the_objects_of_that_moment(tmp_path):
    movi(tmp_path / "movi")
    Image.new("RGB", (4, 4)).save(tmp_path / "movi" / "scene_0" / "rgba_small.png")  # is no frame
    world = open_world(str(tmp_path / "movi"))
    assert world.name == "Kubric, movi" and world.factors.size == 6
    small = read_kubric(tmp_path / "movi", size=16, every=2)
    assert small.images([[0], [1], [2], [3]])[:, 0, 0, 0].tolist() == [0, 20, 100, 120]
    assert (small.masks([[3]])[0] == 2 * np.eye(16)).all()
    assert small.objects(1) == [{"mask": 1, "shape": "cube", "color": "red", "position": [2, 0, 0]}]


def test_missing_masks_and_damaged_descriptions_are_named(tmp_path):
    clevrtex(tmp_path)
    (tmp_path / "0" / "CLEVRTEX_full_000002_flat.png").unlink()
    with pytest.raises(
        UnknotError, match=r"1 of 3 masks are missing, such as .*000002_flat.png; without masks there"
    ):
        open_world(str(tmp_path))
    clevrtex(tmp_path)
    world = read_clevrtex(tmp_path, size=8)
    (tmp_path / "0" / "CLEVRTEX_full_000000.json").write_text("[]")
    with pytest.raises(UnknotError, match="has no list of objects under 'objects'"):
        world.objects(0)
    (tmp_path / "0" / "CLEVRTEX_full_000000_flat.png").write_bytes(b"no picture")
    with pytest.raises(UnknotError, match="cannot be read as a picture"):
        world.masks([[0]])
    Image.new("RGB", (8, 8)).save(tmp_path / "0" / "CLEVRTEX_full_000000_flat.png")
    with pytest.raises(UnknotError, match=r"a mask of shape \(8, 8, 3\)"):
        world.masks([[0]])
    for number in (-1, float("nan"), 256):
        Image.new("F", (8, 8), number).save(tmp_path / "0" / "CLEVRTEX_full_000000_flat.png", "TIFF")
        with pytest.raises(UnknotError, match="expected one number from 0 to 255 for each pixel"):
            world.masks([[0]])
    for wrong in ({"size": 0}, {"size": "8"}):
        with pytest.raises(UnknotError, match="size"):
            read_clevrtex(tmp_path, **wrong)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnknotError, match="holds no pictures of this dataset"):
        read_kubric(tmp_path / "empty")
    with pytest.raises(UnknotError, match="every"):
        read_kubric(tmp_path / "empty", every=0)
