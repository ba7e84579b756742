import math
from itertools import combinations

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.scenes.placement import SETTINGS, Rules, _few_colors, rules, sample_scenes
from unknot.worlds.scenes.render import scene_masks
from unknot.worlds.scenes.scene import BACKGROUNDS, CAMERA, DIRECTIONS, LAMPS


def scenes(name, n=30, seed=0, **changes):
    return sample_scenes(n, rules(name, **changes), np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["iid", "corr", "main", "clevr"])
def test_objects_keep_their_distances(name):
    right, behind = np.array(DIRECTIONS["right"][:2]), np.array(DIRECTIONS["behind"][:2])
    for scene in scenes(name, 20):
        fewest, most = SETTINGS[name].objects
        assert fewest <= len(scene.objects) <= most
        for i, one in enumerate(scene.objects):
            assert max(abs(one.x), abs(one.y)) <= 3
            if i > 0 and name != "clevr":
                assert abs(one.x + one.y) <= 3.5
        for one, other in combinations(scene.objects, 2):
            away = np.array([one.x - other.x, one.y - other.y])
            assert np.hypot(*away) - one.radius - other.radius >= 0.25 - 1e-9
            assert abs(away @ right) >= 0.4 - 1e-4 and abs(away @ behind) >= 0.4 - 1e-4


def test_clevr_keeps_the_corners_that_coat_cuts():
    drawn = scenes("clevr", 60)
    assert any(abs(thing.x + thing.y) > 3.5 for scene in drawn for thing in scene.objects[1:])


def test_every_object_shows_at_least_200_of_240_by_240_pixels():
    drawn = scenes("main", 6)
    for scene, mask in zip(drawn, scene_masks(drawn, 240, crop=1.0), strict=True):
        assert np.bincount(mask.ravel())[1:].min() >= 200
        assert len(np.unique(mask)) == len(scene.objects) + 1


def test_camera_and_lamps_are_jittered_within_their_bounds():
    drawn = scenes("iid", 60)
    cameras = np.array([scene.camera for scene in drawn]) - CAMERA
    lamps = np.array([scene.lamps for scene in drawn]) - np.array(list(LAMPS.values()))
    assert 0.4 < np.abs(cameras).max() <= 0.5 + 1e-6
    assert 0.8 < np.abs(lamps).max() <= 1 + 1e-6


def test_all_attributes_and_backgrounds_occur():
    drawn = scenes("iid", 120)
    for name, known in (("shape", 3), ("size", 2), ("material", 2), ("color", 8)):
        assert len({getattr(thing, name) for scene in drawn for thing in scene.objects}) == known
    assert {scene.background for scene in drawn} == set(BACKGROUNDS)
    assert {len(scene.objects) for scene in drawn} == {3, 4, 5, 6}


def test_corr_scenes_share_one_colour_and_one_material_and_stand_close():
    drawn = scenes("corr", 40)
    assert all(len({thing.color for thing in s.objects}) == 1 for s in drawn)
    assert all(len({thing.material for thing in s.objects}) == 1 for s in drawn)
    assert len({s.objects[0].color for s in drawn}) > 3
    assert len({thing.shape for thing in drawn[0].objects} | {thing.shape for thing in drawn[1].objects}) > 1
    for scene in drawn:
        first = scene.objects[0]
        reach = {"small": 0.3, "large": {3: 0.6, 4: 0.6, 5: 0.8, 6: math.inf}[len(scene.objects)]}[first.size]
        for thing in scene.objects[1:]:
            assert max(abs(thing.x - first.x), abs(thing.y - first.y)) <= 3 * reach + 1e-6


@pytest.mark.parametrize("name", ["iid", "corr", "clevr"])
def test_crowded_scenes_are_as_frequent_as_empty_ones(name):
    # A scene whose objects found no room is tried again with as many.
    fewest, most = SETTINGS[name].objects
    n = 60 * (most - fewest + 1)
    counts = np.bincount([len(scene.objects) for scene in scenes(name, n)], minlength=most + 1)[fewest:]
    assert ((counts - 60) ** 2 / 60).sum() < 27  # chi-squared with 3 or 7 degrees of freedom: p < 0.001


def test_few_colours_follow_the_law_worked_out_over_all_assignments():
    # Three objects, eight colours: of 512 assignments 8 have one colour, 168 two, 336 three; S(3, u) is 1, 3, 1.
    sigma = 1.5
    weights = np.array([8, 168 * math.exp(-1 / (6 * 0.75**2)), 336 * math.exp(-4 / (2 * 0.75**2))])
    rng = np.random.default_rng(0)
    drawn = [_few_colors(3, sigma, rng) for _ in range(4000)]
    shares = np.bincount([len(set(colors)) for colors in drawn], minlength=4)[1:] / 4000
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.025)
    assert np.bincount(np.ravel(drawn), minlength=8).min() > 1300  # all colours alike
    alike = scenes("iid", 20, color_sigma=0.1)
    small = [scene for scene in alike if len(scene.objects) == 3]
    assert small and all(len({thing.color for thing in scene.objects}) == 1 for scene in small)
    assert any(len({thing.material for thing in scene.objects}) == 2 for scene in alike)


@pytest.mark.parametrize("cogent", ["A", "B"])
def test_cogent_parts_the_colours_of_cubes_and_cylinders(cogent):
    drawn = scenes("clevr", 40, cogent=cogent)
    colors = {
        shape: {t.color for s in drawn for t in s.objects if t.shape == shape}
        for shape in ("cube", "sphere", "cylinder")
    }
    warm, cold = {"gray", "blue", "brown", "yellow"}, {"red", "green", "purple", "cyan"}
    assert colors["cube"] == (warm if cogent == "A" else cold)
    assert colors["cylinder"] == (cold if cogent == "A" else warm)
    assert len(colors["sphere"]) == 8


def test_compiled_placing_equals_a_plain_reading_of_the_rules():
    from unknot.worlds.scenes._placement import place

    right = DIRECTIONS["right"][:2]
    floor, outcomes = (3.0, 0.25, 0.4, 3.5, right), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        radii, stream = rng.choice([0.35, 0.7], 8), rng.uniform(-1, 1, (400, 2))
        spread = [0.0, 0.5][seed % 2]
        places, expected = np.zeros((8, 2)), slow_place(radii, stream, spread, right)
        ok = place(radii, stream, 50, spread, floor, places)
        outcomes.append(ok)
        assert ok == (expected is not None)
        if ok:
            np.testing.assert_array_equal(places, expected)
    assert 5 < sum(outcomes) < 55


def slow_place(radii, stream, spread, right):
    draws, done = iter(stream), []
    for i, radius in enumerate(radii):
        for _ in range(50):
            p = next_place(draws, done, spread)
            if p is None:
                return None
            if i == 0 or all(apart(p, radius, q, r, right) for q, r in zip(done, radii, strict=False)):
                break
        else:
            return None
        done.append(p)
    return done


def next_place(draws, done, spread):
    for draw in draws:
        p = 3 * draw
        if done and spread:
            p = done[0] + spread * p
            if np.abs(p).max() >= 3:
                continue
        return np.floor(p * 1e6 + 0.5) / 1e6
    return None


def apart(p, radius, q, r, right):
    away = p - q
    sideways = abs(away @ right), abs(away @ (-right[1], right[0]))
    return np.linalg.norm(away) - radius - r >= 0.25 and min(sideways) >= 0.4 and abs(p.sum()) <= 3.5


def test_the_same_seed_gives_the_same_scenes_and_another_seed_others():
    assert scenes("iid", 5, seed=3) == scenes("iid", 5, seed=3)
    assert scenes("iid", 5, seed=3) != scenes("iid", 5, seed=4)


def test_rules_that_leave_no_room_are_an_error():
    with pytest.raises(UnknotError, match="no room for 3 objects"):
        sample_scenes(1, Rules(objects=(3, 3), cluster=0.01), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objects": (5, 3)}, "the fewest first"),
        ({"objects": (0, 3)}, "expected 1 to 10"),
        ({"backgrounds": ("pink",)}, "unknown background 'pink'"),
        ({"cogent": "C"}, "unknown CoGenT split"),
        ({"cluster": -1.0}, "cluster is -1.0"),
        ({"color_sigma": -1.0}, "color_sigma is -1.0"),
    ],
)
def test_impossible_rules_are_named(changes, message):
    with pytest.raises(UnknotError, match=message):
        rules("iid", **changes)


def test_an_unknown_setting_is_named():
    with pytest.raises(UnknotError, match="did you mean 'corr'"):
        rules("cor")
