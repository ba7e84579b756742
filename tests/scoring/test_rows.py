"""Rows of one group stay together: on one side of a split, and in a resample."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unknot
from unknot import UnknotError
from unknot.scoring.rows import Data, third_of_groups
from unknot.tables.labels import labels_of

many_groups = st.lists(st.integers(0, 12), min_size=2, max_size=80).filter(lambda groups: len(set(groups)) > 1)


def data(groups: list[int]) -> Data:
    n = len(groups)
    return Data(np.arange(n, dtype=float)[:, None], labels_of(np.arange(n) % 2), groups=np.array(groups))


@settings(deadline=None)
@given(groups=many_groups, seed=st.integers(0, 2**31))
def test_no_group_is_on_both_sides_of_a_split_and_no_row_is_lost(groups: list[int], seed: int) -> None:
    split = data(groups).split(seed)
    assert split.groups.size
    assert split.groups_test.size
    assert not set(split.groups) & set(split.groups_test)
    rows = np.concatenate([split.latents, split.latents_test]).ravel()
    assert sorted(rows) == list(range(len(groups)))


@settings(deadline=None)
@given(groups=many_groups, seed=st.integers(0, 2**31), cap=st.integers(3, 40))
def test_parted_or_capped_a_group_is_still_on_one_side(groups: list[int], seed: int, cap: int) -> None:
    split = data(groups).split(seed)
    parts = list(islice(split.parted(np.random.default_rng(seed)), 2))
    assert len(parts) == (2 if min(len(set(split.groups)), len(set(split.groups_test))) >= 4 else 0)
    for part in (split, *parts):
        capped = part.capped(cap, seed)
        assert not set(capped.groups) & set(capped.groups_test)


@settings(deadline=None)
@given(groups=many_groups.filter(lambda groups: len(set(groups)) > 3), seed=st.integers(0, 2**31))
def test_two_parts_have_all_rows_once_and_whole_groups(groups: list[int], seed: int) -> None:
    third, others = islice(data(groups).parted(np.random.default_rng(seed)), 2)
    assert sorted([*third.latents.ravel(), *others.latents.ravel()]) == list(range(len(groups)))
    assert not set(third.groups) & set(others.groups)
    assert abs(len(set(third.groups)) - len(set(groups)) / 3) < 1


def test_parts_are_a_third_on_average_where_groups_are_few() -> None:
    parts = islice(data([0, 0, 1, 2, 2, 2, 3]).parted(np.random.default_rng(0)), 0, 600, 2)
    assert np.mean([len(set(third.groups)) for third in parts]) == pytest.approx(4 / 3, abs=0.1)


def test_about_a_third_is_held_out_where_groups_are_small() -> None:
    groups = np.repeat(np.arange(100), 3)
    test, train = third_of_groups(groups, 0)
    assert (len(test), len(train)) == (99, 201)
    assert third_of_groups(groups, 1)[0].tolist() != test.tolist()


def test_groups_keep_a_code_that_knows_only_the_group_from_being_rewarded() -> None:
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(40), 15)
    sick = rng.integers(0, 2, 40)[patients]
    z = rng.normal(size=(40, 60))[patients] + 0.05 * rng.normal(size=(600, 60))  # tells patients apart, no more
    leaking = unknot.score(z, sick, metrics=["linear_accuracy"])["linear_accuracy"].value
    score = unknot.score(z, sick, groups=patients, metrics=["linear_accuracy", "mig"], bootstrap=5)
    assert leaking > 0.9
    assert score["linear_accuracy"].value < 0.75
    assert score["mig"].parts["n_rows"] == 600


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 12, "all 12 rows are of one group"),
        (["a"] * 11, "11 groups for 12 rows"),
        ([None] + ["a"] * 11, r"1 row\(s\) have no group"),
    ],
)
def test_groups_that_cannot_be_held_apart_are_refused(groups: list[str], message: str) -> None:
    z, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 3
    with pytest.raises(UnknotError, match=message):
        unknot.score(z, y, groups=groups, metrics=["sap"])


def test_groups_beside_held_out_rows_are_refused() -> None:
    z, y = np.zeros((4, 1)), np.arange(4) % 2
    with pytest.raises(UnknotError, match="groups beside held-out rows"):
        unknot.score(z, y, latents_test=z, factors_test=y, groups=y, metrics=["sap"])
