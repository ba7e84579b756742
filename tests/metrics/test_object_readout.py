"""Read-outs of objects: a case worked by hand, a perfect code, a floor, and mistakes."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.object_readout import _costs, _matched, _of_another_group, object_readout
from unknot.metrics.tre import held_out

N, M, K = 200, 4, 6


def scene(seed: int = 0):
    """Objects, and slots that hold them in any order, turned, beside empty ones."""
    rng = np.random.default_rng(seed)
    color, x = rng.integers(0, 3, (N, M)), rng.normal(size=(N, M))
    present = np.arange(M) < rng.integers(2, M + 1, N)[:, None]
    things = np.concatenate([np.eye(3)[color], x[:, :, None], np.ones((N, M, 1))], axis=2) * present[:, :, None]
    slots = np.concatenate([things, np.zeros((N, K - M, 5))], axis=1)
    slots = np.stack([row[rng.permutation(K)] for row in slots]) @ rng.normal(size=(5, 7))
    words = np.array(["red", "green", "blue"])[color]
    return slots, {"color": words, "x": x}, present


def test_matching_takes_the_cheapest_pairs_together():
    read, objects = np.array([[[0.0], [1.0], [5.0]]]), np.array([[[0.9], [1.2], [9.0]]])
    costs = _costs(read, objects)
    np.testing.assert_allclose(costs[0], (objects[0] - read[0].T) ** 2)
    # 0.9 is nearest to 1, and so is 1.2; together it is cheaper that 0.9 takes 0. The third is not there.
    assert _matched(costs, np.array([[True, True, False]])).tolist() == [[0, 1, -1]]
    assert _matched(costs[:, :, :1], np.array([[True, True, True]])).tolist() == [[0, -1, -1]]


@pytest.mark.parametrize("probe", ["linear", "mlp"])
def test_a_perfect_code_is_read_whatever_the_order_of_slots_and_one_of_other_images_is_not(probe):
    slots, properties, present = scene()
    score = object_readout(slots, properties, present, probe=probe)
    least = 0.999 if probe == "linear" else 0.97
    assert score.parts["per_property"]["color"] == 1.0 and score.parts["per_property"]["x"] > least
    assert score.parts["recall"] > least and score.parts["recall_floor"] < 0.5
    shuffled = object_readout(slots[np.random.default_rng(1).permutation(N)], properties, present, probe=probe)
    assert shuffled.parts["recall"] < 0.5 and shuffled.parts["per_property"]["color"] < 0.8
    # What matching alone gives away is what the floor says.
    for name, value in shuffled.parts["per_property"].items():
        assert value == pytest.approx(shuffled.parts["floor"][name], abs=0.15)


def test_what_is_not_in_the_slots_is_not_read_and_too_few_slots_cost():
    slots, properties, present = scene()
    rng = np.random.default_rng(2)
    blind = object_readout(slots, {**properties, "size": rng.integers(0, 2, (N, M))}, present)
    assert blind.parts["per_property"]["color"] > 0.95
    assert abs(blind.parts["per_property"]["size"] - blind.parts["floor"]["size"]) < 0.2
    one = object_readout(slots[:, :1], properties, present)
    assert one.parts["recall"] <= N / present.sum() * 1.2  # one object of each image at most


def test_properties_that_do_not_vary_are_left_out_and_groups_stay_together():
    slots, properties, present = scene()
    score = object_readout(
        slots, {**properties, "shape": np.full((N, M), "cube")}, present, groups=np.arange(N) // 4
    )
    assert score.parts["skipped"] == {"shape": "is the same for all objects"}
    assert score.parts["n_test"] == 40 and set(score.parts["per_property"]) == {"color", "x"}


def test_the_floor_is_of_images_of_other_groups():
    groups, rng = np.repeat(np.arange(10), 4), np.random.default_rng(0)
    test = groups % 2 == 0
    others = _of_another_group(groups, test, rng)
    assert sorted(others) == np.flatnonzero(test).tolist() and (groups[others] != groups[test]).all()
    for few in (groups == 3, (groups == 3) | (groups == 4) & (np.arange(40) % 4 == 0)):
        others = _of_another_group(groups, few, rng)
        assert len(others) == few.sum() and not few[others].any(), "one group has more than half of the images"
    # Images of a group are the same: their floor would be their score.
    slots, properties, present = scene()
    five = np.arange(N) % 5
    alike = {name: each[five] for name, each in properties.items()}
    score = object_readout(slots[five], alike, present[five], groups=five)
    assert score.parts["recall_floor"] < 0.9


def test_a_number_that_does_not_vary_among_held_out_objects_has_no_score():
    slots, properties, present = scene()
    groups = np.arange(N) % 5
    test = held_out(N, groups, np.random.default_rng(0))
    odd = np.where(test[:, None], 0.5, properties["x"])
    score = object_readout(slots, {**properties, "odd": odd}, present, groups=groups)
    values = score.parts["per_property"]
    assert np.isnan(values["odd"]) and np.isnan(score.parts["floor"]["odd"])
    assert score.value == (values["color"] + values["x"]) / 2
    assert score.parts["notes"] == [
        "property 'odd' is the same for all held-out objects: it has no R^2, and the mean is over the others."
    ]
    assert np.isnan(object_readout(slots, {"odd": odd}, present, groups=groups).value)


def test_mistakes_are_named():
    slots, properties, present = scene()
    for wrong, message in [
        ({"slots": slots[0]}, "slots is float64 of shape"),
        ({"properties": {"x": np.zeros((N, 2))}}, "property 'x' is float64 of shape"),
        ({"properties": {"x": np.full((N, M), None)}}, "property 'x' is object of shape"),
        ({"properties": [1]}, "properties is"),
        ({"present": np.full((N, M), "yes")}, "yes or no for each object"),
        ({"properties": {"x": np.full((N, M), np.nan)}}, "property 'x' has NaN"),
        ({"properties": {}}, "no property varies"),
        ({"present": np.zeros((N, M), bool)}, "with one somewhere"),
        ({"probe": "tree"}, "unknown probe of object_readout"),
        ({"groups": np.zeros(N)}, "object_readout: groups"),
    ]:
        with pytest.raises(UnknotError, match=message):
            object_readout(**{"slots": slots, "properties": properties, "present": present, **wrong})
