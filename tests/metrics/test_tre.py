"""Tree reconstruction error: additive codes, interacting codes, and what is refused."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.tre import tre


def scenes(n=400, m=4, seed=0):
    rng = np.random.default_rng(seed)
    objects = np.concatenate([np.eye(3)[rng.integers(0, 3, (n, m))], rng.normal(size=(n, m, 2))], axis=2)
    present = rng.random((n, m)) < 0.7
    context = np.eye(4)[rng.integers(0, 4, n)]
    return objects, present, context


def added(objects, present, context, seed=1, d=6):
    rng = np.random.default_rng(seed)
    return (objects * present[:, :, None]).sum(1) @ rng.normal(size=(5, d)) + context @ rng.normal(size=(4, d))


def test_a_sum_over_objects_has_no_error_and_absent_objects_do_not_count():
    objects, present, context = scenes()
    codes = added(objects, present, context)
    junk = np.where(present[:, :, None], objects, 99.0)
    found = tre(codes, junk, present, context, penalty=0)
    assert found.value < 1e-8
    assert found.parts["normalised"] == pytest.approx(1)
    assert (found.parts["n_train"], found.parts["n_test"]) == (320, 80)


def test_noise_of_known_size_is_the_error_that_remains():
    objects, present, context = scenes(n=4000)
    noise = np.random.default_rng(2).normal(size=(4000, 6))
    found = tre(added(objects, present, context) + noise, objects, present, context, penalty=0)
    assert found.value == pytest.approx(2.35, rel=0.02)  # mean length of a standard normal vector of six numbers


def test_codes_that_know_nothing_of_the_scene_are_no_better_than_their_mean():
    objects, present, context = scenes()
    found = tre(np.random.default_rng(3).normal(size=(400, 6)), objects, present, context)
    assert found.parts["normalised"] < 0.15


def test_the_error_has_the_unit_of_the_codes_and_the_normalised_value_has_none():
    objects, present, context = scenes()
    codes = added(objects, present, context) + np.random.default_rng(2).normal(size=(400, 6))
    one, ten = tre(codes, objects, present, context), tre(10 * codes + 5, objects, present, context)
    assert ten.value == pytest.approx(10 * one.value)
    assert ten.parts["normalised"] == pytest.approx(one.parts["normalised"])


def test_a_transformer_composes_what_a_sum_cannot():
    pytest.importorskip("torch")
    objects, present, context = scenes(n=200)
    count = present.sum(1, keepdims=True)
    codes = np.hstack([(count == k) * 3.0 for k in range(5)])  # a set function that is no sum
    plain = tre(codes, objects, present, context)
    learned = tre(codes, objects, present, context, composition="transformer", steps=60, batch_size=32)
    assert learned.value < 0.95 * plain.value
    few = {"composition": "transformer", "steps": 2, "batch_size": 8}
    assert tre(codes, objects, present, context, **few) == tre(codes, objects, present, context, **few)


def test_rows_of_a_group_stay_together():
    objects, present, context = scenes()
    group = np.arange(400) // 40
    found = tre(added(objects, present, context), objects, present, context, groups=group)
    assert found.parts["n_test"] == 80


def test_a_constant_code_is_marked_and_wrong_input_refused():
    objects, present, context = scenes()
    found = tre(np.ones((400, 2)), objects, present, context)
    assert found.value == pytest.approx(0, abs=1e-9) and found.parts["collapsed"]
    codes = added(objects, present, context)
    with pytest.raises(UnknotError, match="399 codes for 400 scenes"):
        tre(codes[:399], objects, present, context)
    with pytest.raises(UnknotError, match="looks like slots"):
        tre(codes.reshape(400, 2, 3), objects, present, context)
    with pytest.raises(UnknotError, match="expected \\(n, m, f\\)"):
        tre(codes, objects, present[:, :2], context)
    with pytest.raises(UnknotError, match="unknown composition of tre 'sum'"):
        tre(codes, objects, present, context, composition="sum")
    with pytest.raises(UnknotError, match="five groups"):
        tre(codes, objects, present, context, groups=np.zeros(400))
