import json

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.scenes.placement import SETTINGS, sample_scenes
from unknot.worlds.scenes.scene import (
    CAMERA,
    DIRECTIONS,
    LAMPS,
    Scene,
    SceneObject,
    read_scene,
    relationships,
    scene_json,
)

CLEVR_SCENE = {  # the layout of a published scene file, with made-up numbers
    "split": "val",
    "image_index": 0,
    "image_filename": "CLEVR_val_000000.png",
    "objects": [
        {
            "color": "brown",
            "size": "large",
            "rotation": 178.92387258999463,
            "shape": "cylinder",
            "3d_coords": [-1.4937210083007812, -1.9936031103134155, 0.699999988079071],
            "material": "rubber",
            "pixel_coords": [119, 131, 10.66],
        },
        {
            "color": "gray",
            "size": "small",
            "rotation": 12.5,
            "shape": "cube",
            "3d_coords": [2.0, 1.0, 0.35],
            "material": "metal",
            "pixel_coords": [250, 100, 11.0],
        },
    ],
    "relationships": {"right": [[1], []], "behind": [[], []], "front": [[], []], "left": [[], [0]]},
    "directions": {},
}


def test_a_scene_survives_its_json_unchanged_to_the_last_digit():
    for scene in sample_scenes(10, SETTINGS["iid"], np.random.default_rng(0)):
        assert read_scene(json.loads(json.dumps(scene_json(scene)))) == scene


def test_a_published_scene_is_read_with_the_usual_camera_and_lamps():
    scene = read_scene(CLEVR_SCENE)
    assert [thing.shape for thing in scene.objects] == ["cylinder", "cube"]
    assert scene.objects[0].x == -1.4937210083007812
    assert scene.objects[1].rotation == 12.5
    assert (scene.camera, scene.lamps, scene.background) == (CAMERA, tuple(LAMPS.values()), "gray")


def test_ours_has_every_key_of_a_published_scene():
    ours = scene_json(read_scene(CLEVR_SCENE), pixel_coords=[[1, 2, 3], [4, 5, 6]], split="val", image_index=0,
                      image_filename="CLEVR_val_000000.png")  # fmt: skip
    assert set(CLEVR_SCENE) <= set(ours)
    assert set(CLEVR_SCENE["objects"][0]) <= set(ours["objects"][0])


def test_coats_spelling_of_coordinates_is_read_too():
    record = json.loads(json.dumps(CLEVR_SCENE).replace("3d_coords", "threed_coords"))
    assert read_scene(record) == read_scene(CLEVR_SCENE)


def test_relations_are_those_worked_out_by_hand():
    right = np.array(DIRECTIONS["right"])
    places = [np.zeros(3), 0.5 * right, 0.6 * right]  # the last two are less than 0.2 apart
    objects = [SceneObject("cube", "small", "metal", "red", p[0], p[1]) for p in places]
    sides = relationships(objects)
    assert sides["right"] == [[1, 2], [], []]
    assert sides["left"] == [[], [0], [0]]
    assert sides["front"] == sides["behind"] == [[], [], []]


def test_directions_are_unit_vectors_at_right_angles():
    table = np.array([DIRECTIONS[name] for name in ("right", "behind", "above")])
    np.testing.assert_allclose(table @ table.T, np.eye(3), atol=2e-5)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("color", "grey", "scene 3, object 1: unknown color 'grey'; did you mean 'gray'?"),
        ("shape", "cubes", "did you mean 'cube'?"),
        ("size", "tiny", "Known: large, small"),
        ("material", "rubbr", "did you mean 'rubber'?"),
        ("3d_coords", [1, 2], "expected shape, size, material, color, 3d_coords"),
        ("3d_coords", [1, float("nan"), 0], "expected shape"),
        ("rotation", "left", "expected shape"),
    ],
)
def test_a_wrong_object_is_named_with_what_was_meant(key, value, message):
    record = json.loads(json.dumps(CLEVR_SCENE))
    record["objects"][1][key] = value
    with pytest.raises(UnknotError, match=None) as caught:
        read_scene(record, "my.json, scene 3")
    assert message in str(caught.value) and str(caught.value).startswith("my.json, scene 3, object 1")


@pytest.mark.parametrize(
    "record", [{}, {"objects": 3}, [], {"objects": [], "camera": [1, 2]}, {"objects": [], "background": "whit"}]
)
def test_what_is_no_scene_is_an_error(record):
    with pytest.raises(UnknotError, match=r"my\.json"):
        read_scene(record, "my.json")


def test_missing_attributes_are_named():
    with pytest.raises(UnknotError, match="'color'"):
        read_scene({"objects": [{"shape": "cube", "size": "small", "material": "metal", "3d_coords": [0, 0, 0]}]})


def test_a_background_is_one_of_the_known():
    with pytest.raises(UnknotError, match="did you mean 'white'"):
        Scene((), "wite")
