import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.scenes.layouts import layouts_of, survey
from unknot.worlds.scenes.placement import SETTINGS, sample_scenes
from unknot.worlds.scenes.render import pixel_coords, render, scene_masks, window
from unknot.worlds.scenes.scene import Scene, SceneObject


@pytest.fixture(scope="module")
def scenes():
    return sample_scenes(6, SETTINGS["main"], np.random.default_rng(1))


def test_pictures_have_the_sizes_asked_for(scenes):
    for size, shape in ((64, (64, 64)), (128, (128, 128)), ((240, 320), (240, 320))):
        assert render(scenes[:1], size).shape == (1, *shape, 3)
        assert scene_masks(scenes[:1], size).shape == (1, *shape)


def test_the_same_scene_gives_the_same_pixels_alone_and_among_others(scenes):
    together = render(scenes, 64)
    for scene, image in zip(scenes, together, strict=True):
        np.testing.assert_array_equal(render(scene, 64)[0], image)


def test_the_survey_counts_what_masks_and_silhouettes_show(scenes):
    layouts = layouts_of(scenes)
    pixels = survey(layouts, 120, 120)
    masks = scene_masks(scenes, 120, crop=1.0)
    for i in range(len(scenes)):
        k = len(scenes[i].objects)
        alone = scene_masks([replace(scenes[i], objects=(thing,)) for thing in scenes[i].objects], 120, crop=1.0)
        codes = sum((mask > 0).astype(np.int64) << j for j, mask in enumerate(alone))
        np.testing.assert_array_equal(pixels.visible[i, :k], np.bincount(masks[i].ravel(), minlength=k + 1)[1:])
        np.testing.assert_array_equal(
            pixels.histogram[i], np.bincount(codes.ravel(), minlength=pixels.histogram.shape[1])
        )
        assert pixels.overlap[i] == sum(1 for code in codes.ravel() if int(code).bit_count() > 1)


def test_a_mask_shows_the_silhouette_of_an_object_where_nothing_is_before_it(scenes):
    scene = scenes[0]
    whole = scene_masks(scene, 96)[0]
    alone = [scene_masks(replace(scene, objects=(thing,)), 96)[0] > 0 for thing in scene.objects]
    covered = np.sum(alone, axis=0)
    np.testing.assert_array_equal(whole > 0, covered > 0)
    for i, outline in enumerate(alone):
        assert not (whole == i + 1)[~outline].any()
        np.testing.assert_array_equal(whole[outline & (covered == 1)], i + 1)


def test_labels_number_the_objects_of_masks(scenes):
    scene = replace(scenes[0], objects=scenes[0].objects[:3])
    plain, named = scene_masks(scene, 64)[0], scene_masks([scene], 64, labels=[[5, 2, 8]])[0]
    np.testing.assert_array_equal(np.array([0, 5, 2, 8])[plain], named)


def test_nothing_changes_far_from_an_object_that_is_taken_away(scenes):
    scene = scenes[0]
    before, after = render([scene, replace(scene, objects=scene.objects[1:])], 128)
    same = (before == after).all(axis=2)
    assert 0.3 < same.mean() < 1
    assert not same[scene_masks(scene, 128)[0] == 1].all()


def test_the_empty_floor_is_as_bright_as_the_lamps_make_it_by_hand():
    scene = Scene((), "tan")
    image = render(scene, 129)[0]  # its middle pixel looks at the origin
    light = np.full(3, 0.042)
    lamps = [(78.54, (1, 0.932, 0.817)), (23.56, (0.762, 0.818, 1)), (39.27, (1, 1, 1))]
    for (watts, color), place in zip(lamps, scene.lamps, strict=True):
        d = math.dist(place, (0, 0, 0))
        light += watts / math.pi**2 * place[2] / d / d**2 * np.array(color)  # the lamp faces the origin
    light += 0.45 / math.pi * 0.889
    linear = light * np.array([210, 180, 140]) / 255
    expected = 255 * (1.055 * linear ** (1 / 2.4) - 0.055)
    np.testing.assert_allclose(image[64, 64], expected, atol=1.5)


def lone(**changes):
    return SceneObject(**{"shape": "cube", "size": "large", "material": "rubber", "color": "red", "x": 0.0, "y": 0.0,
                          **changes})  # fmt: skip


def test_objects_throw_shadows():
    bare, shown = render([Scene((), "white"), Scene((lone(),), "white")], 128).astype(int)
    floor = scene_masks(Scene((lone(),), "white"), 128)[0] == 0
    darker = (bare - shown).max(axis=2)[floor]
    assert (darker > 15).sum() > 100
    assert (shown - bare).max(axis=2)[floor].max() <= 16  # only smooth edges of the object itself are brighter


def test_metal_mirrors_its_neighbour_and_rubber_does_not():
    for material, changed in (("metal", True), ("rubber", False)):
        ball = lone(shape="sphere", material=material, color="gray")
        pair = [Scene((ball, lone(x=1.4, y=0.8, color=c)), "white") for c in ("yellow", "blue")]
        images = render(pair, 128).astype(int)
        inner = scene_masks(pair[0], 128)[0] == 1
        inner &= np.roll(inner, 2, 0) & np.roll(inner, -2, 0) & np.roll(inner, 2, 1) & np.roll(inner, -2, 1)
        assert ((np.abs(images[0] - images[1]).max(axis=2)[inner] > 8).sum() > 5) == changed


@pytest.mark.parametrize(("color", "least"), [("red", 180), ("gray", 220), ("cyan", 200)])
def test_highlights_of_metal_are_small_and_nearly_white(color, least):
    scene = Scene((lone(shape="sphere", material="metal", color=color),), "white")
    image, seen = render(scene, 128)[0].astype(int), scene_masks(scene, 128)[0] == 1
    whiteness = image[seen].min(axis=1)  # the tint darkens everything but what is far brighter than white
    assert whiteness.max() > least
    assert 2 <= (whiteness > 150).sum() <= 0.03 * seen.sum()


def test_every_attribute_changes_the_picture():
    base = lone()
    images = render(
        [Scene((thing,), "white") for thing in (base, lone(shape="sphere"), lone(shape="cylinder"),
                                                lone(size="small"), lone(material="metal"), lone(color="blue"),
                                                lone(rotation=0.5))],
        64,
    ).astype(int)  # fmt: skip
    for image in images[1:]:
        assert (np.abs(image - images[0]).max(axis=2) > 8).sum() > 20


def test_yaw_is_read_as_radians_and_a_quarter_turn_leaves_a_cube_as_it_is():
    images = render([Scene((lone(rotation=r),)) for r in (0.3, 0.3 + math.pi / 2, 0.3 + 2 * math.pi)], 64).astype(
        int
    )
    assert np.abs(images[1:] - images[0]).max() <= 1


@pytest.mark.parametrize("size", [128, (240, 320)])
def test_pixel_coords_lie_in_the_middle_of_the_object(size):
    scene = Scene((lone(shape="sphere", x=1.0, y=-0.5),))
    ((column, row, depth),) = pixel_coords([scene], size)[0]
    rows, columns = np.nonzero(scene_masks(scene, size)[0])
    assert abs(columns.mean() - column) < 1.5 and abs(rows.mean() - row) < 1.5
    forward = -np.array(scene.camera) / np.linalg.norm(scene.camera)
    assert depth == pytest.approx((np.array([1.0, -0.5, 0.7]) - scene.camera) @ forward, abs=1e-5)


def test_a_square_shows_the_middle_seven_tenths_of_the_picture():
    scene = Scene((lone(shape="sphere", size="small"),))
    small, whole = (scene_masks(scene, 200, crop=c)[0].sum() for c in (None, 1.0))
    assert small / whole == pytest.approx(1 / 0.7**2, rel=0.05)
    assert window(128)[2] == pytest.approx(0.7)


def test_wrong_sizes_and_renderers_are_named():
    with pytest.raises(UnknotError, match="0 x 5"):
        render(Scene(()), (0, 5))
    with pytest.raises(UnknotError, match="crop is 2"):
        render(Scene(()), 16, crop=2)
    with pytest.raises(UnknotError, match="did you mean 'blender'"):
        render(Scene(()), 16, renderer="blendr")


@pytest.mark.skipif("bpy" in sys.modules, reason="bpy is there")
def test_blender_without_its_module_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bpy", None)
    with pytest.raises(UnknotError, match="pip install bpy"):
        render(Scene(()), 16, renderer="blender")
