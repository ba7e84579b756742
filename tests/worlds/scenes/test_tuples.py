from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.scenes.layouts import layouts_of, survey
from unknot.worlds.scenes.placement import SETTINGS, sample_scenes
from unknot.worlds.scenes.render import scene_masks
from unknot.worlds.scenes.scene import ATTRIBUTES, SceneObject
from unknot.worlds.scenes.tuples import candidates, edits, occlusion_scores, role_scenes


@pytest.fixture(scope="module")
def mains():
    return sample_scenes(12, SETTINGS["main"], np.random.default_rng(2))


def test_scenes_part_into_the_published_numbers_of_candidates():
    assert Counter(tuple(map(len, (p.base, p.added, p.other))) for p in candidates(7)) == {(3, 1, 3): 140}
    assert Counter(tuple(map(len, (p.base, p.added, p.other))) for p in candidates(8)) == {
        (3, 1, 4): 280,
        (3, 2, 3): 560,
        (4, 1, 3): 280,
    }
    with pytest.raises(UnknotError, match="7 or 8 objects, not 6"):
        candidates(6)


@pytest.mark.parametrize("n", [7, 8])
def test_parts_are_disjoint_and_exhaust_the_scene(n):
    for parts in candidates(n):
        assert sorted(parts.base + parts.added + parts.other) == list(range(n))
        roles = parts.roles()
        assert set(roles["B"]) - set(roles["A"]) == set(roles["D"]) - set(roles["C"]) == set(parts.added)
    assert len(set(candidates(n))) == len(candidates(n))


def test_occlusion_scores_equal_the_sum_over_four_rendered_silhouettes(mains):
    for scene in mains[:4]:
        n = len(scene.objects)
        pixels = survey(layouts_of([scene]), 120, 120)
        scores = occlusion_scores(pixels.histogram[0], n)
        for c in np.random.default_rng(0).choice(len(scores), 6, replace=False):
            union = {
                role: scene_masks(part, 120, crop=1.0)[0].astype(bool).astype(int)
                for role, part in role_scenes(scene, candidates(n)[c], "tan").items()
            }
            assert scores[c] == np.abs(union["B"] - union["A"] + union["C"] - union["D"]).sum()


def test_a_score_worked_out_by_hand():
    # Objects 0, 1, 2 are A; 3 is added; 4, 5, 6 are C. Pixels under 3 and 0; under 3 alone; under 3, 0 and 4.
    histogram = np.zeros(2**7, dtype=np.int64)
    histogram[0b0001001], histogram[0b0001000], histogram[0b0011001], histogram[0] = 5, 7, 11, 100
    assert occlusion_scores(histogram, 7)[candidates(7).index(_parts((0, 1, 2), (3,), (4, 5, 6)))] == 5
    assert occlusion_scores(histogram, 7)[candidates(7).index(_parts((0, 4, 5), (3,), (1, 2, 6)))] == 16


def _parts(base, added, other):
    return next(p for p in candidates(7) if (p.base, p.added, p.other) == (base, added, other))


def test_camera_lamps_and_objects_are_the_same_in_all_four_images(mains):
    for scene in mains:
        parts = candidates(len(scene.objects))[0]
        roles = role_scenes(scene, parts, "plum")
        assert {(s.camera, s.lamps) for s in roles.values()} == {(scene.camera, scene.lamps)}
        assert [roles[r].background for r in "ABCD"] == ["plum", "plum", "white", "white"]
        for role, indices in parts.roles().items():
            assert roles[role].objects == tuple(scene.objects[i] for i in indices)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("negative", list(ATTRIBUTES))
def test_an_attribute_negative_changes_that_attribute_of_one_object_only(mains, negative, published):
    for k, scene in enumerate(mains):
        parts = candidates(len(scene.objects))[11 * k]
        right = role_scenes(scene, parts, "tan")["D"]
        for edit in edits(scene, parts, negative, np.random.default_rng(k), published=published):
            different = [
                i for i, (a, b) in enumerate(zip(right.objects, edit.scene.objects, strict=True)) if a != b
            ]
            assert len(different) == 1
            before, after = right.objects[different[0]], edit.scene.objects[different[0]]
            assert replace(after, **{negative: getattr(before, negative)}) == before
            assert edit.change == {
                "object": parts.roles()["D"][different[0]],
                "from": getattr(before, negative),
                "to": getattr(after, negative),
            }
            if published:
                assert different == [list(ATTRIBUTES).index(negative)]
            assert replace(edit.scene, objects=right.objects) == right


def test_a_drop_leaves_out_one_object_but_never_the_last(mains):
    scene = mains[0]
    parts = candidates(len(scene.objects))[5]
    right = role_scenes(scene, parts, "tan")["D"]
    dropped = []
    for edit in edits(scene, parts, "drop", np.random.default_rng(0), published=False):
        (gone,) = set(right.objects) - set(edit.scene.objects)
        assert gone == scene.objects[edit.change["object"]]
        assert [o for o in right.objects if o != gone] == list(edit.scene.objects)
        dropped.append(edit.change["object"])
    assert sorted(dropped) == sorted(parts.roles()["D"][:-1])


def test_an_object_negative_puts_one_of_a_at_its_own_place_for_one_of_d(mains):
    scene = mains[1]
    parts = candidates(len(scene.objects))[9]
    right = role_scenes(scene, parts, "tan")["D"]
    wrong = list(edits(scene, parts, "object", np.random.default_rng(0), published=False))
    assert len(wrong) == len(right.objects) * len(parts.base)
    for edit in wrong:
        (gone,), (come,) = (
            set(right.objects) - set(edit.scene.objects),
            set(edit.scene.objects) - set(right.objects),
        )
        assert gone == scene.objects[edit.change["object"]] and come == scene.objects[edit.change["by"]]
        assert edit.change["by"] in parts.base
        assert [scene.objects[i] for i in edit.indices] == list(edit.scene.objects)


def test_an_object_does_not_grow_into_its_neighbour_unless_as_published(mains):
    close = [SceneObject("cube", "small", "metal", "red", x, 0.0) for x in (0.0, 0.96, 3.0)]
    rest = [SceneObject("cube", "large", "metal", "red", float(x), -3.0) for x in (-2, 0, 2, 4)]
    scene = replace(mains[0], objects=(*rest[:3], *close, rest[3]))
    parts = _parts((0, 1, 2), (3,), (4, 5, 6))
    grown = {e.change["object"] for e in edits(scene, parts, "size", np.random.default_rng(0), published=False)}
    assert grown == {5, 6}
    # In the published order size is the fourth attribute, so it edits the fourth object of D.
    edited = {e.change["object"] for e in edits(scene, parts, "size", np.random.default_rng(0), published=True)}
    assert edited == {6}
