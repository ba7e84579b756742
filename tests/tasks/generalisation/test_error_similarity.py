from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.tasks.generalisation.error_similarity import TRUTH, comparable, error_similarity
from unknot.tasks.result import TaskResult

GRID = space({"a": 4, "b": 3, "still": 1})
POINTS = [0, 3, 5, 7, 8, 11]


def result(
    name: str, said: np.ndarray, world: str = "w", points: list[int] = POINTS, split: str = "composition"
) -> TaskResult:
    rows: list[dict[str, Any]] = [
        {
            "split": split,
            "point": p,
            "predicted a": float(a),
            "predicted b": float(b),
            "predicted still": 0.0,
        }
        for p, (a, b) in zip(points, said, strict=True)
    ]
    settings = {"factors": {"a": 4, "b": 3, "still": 1}, "splits": [split]}
    return TaskResult("generalisation", name, world, {}, {"probe": rows}, settings)


TRUE = GRID.scaled(GRID.classes(POINTS))[:, :2]


def test_correlations_are_those_of_numpy_averaged_over_factors() -> None:
    rng = np.random.default_rng(0)
    one, two = TRUE + rng.normal(size=TRUE.shape), TRUE + rng.normal(size=TRUE.shape)
    found = error_similarity([result("one", one), result("two", two)], "composition")
    assert found.names == ("one", "two", TRUTH) and found.rows == 6
    expected = np.mean([np.corrcoef([one[:, j], two[:, j], TRUE[:, j]]) for j in range(2)], axis=0)
    assert found.matrix == pytest.approx(expected)
    errors = error_similarity([result("one", one), result("two", two)], "composition", of="errors")
    expected = np.mean([np.corrcoef([(one - TRUE)[:, j], (two - TRUE)[:, j]]) for j in range(2)], axis=0)
    assert errors.names == ("one", "two") and errors.matrix == pytest.approx(expected)


def test_a_perfect_model_is_the_ground_truth_and_a_sign_flipped_one_its_opposite() -> None:
    found = error_similarity([result("right", TRUE), result("wrong", -TRUE)], "composition")
    assert found.matrix == pytest.approx(np.array([[1, -1, 1], [-1, 1, -1], [1, -1, 1]]))


def test_a_model_that_always_says_the_same_has_no_correlation() -> None:
    found = error_similarity([result("flat", 0 * TRUE + 0.3), result("right", TRUE)], "composition")
    assert np.isnan(found.matrix[0]).all() and found.matrix[1, 2] == pytest.approx(1)


def test_a_factor_that_a_model_never_varies_is_left_out_of_its_mean() -> None:
    half = TRUE * [1, 0]
    found = error_similarity([result("half", half), result("right", TRUE)], "composition")
    assert found.matrix[0, 1] == pytest.approx(1) and np.isnan(found.per_factor["b"][0, 1])


def test_two_models_of_one_name_are_told_apart() -> None:
    assert error_similarity([result("m", TRUE), result("m", TRUE)], "composition").names[:2] == ("m #1", "m #2")


def test_results_on_other_images_are_not_compared() -> None:
    one, other = result("one", TRUE), result("two", TRUE, points=[1, 2, 5, 7, 8, 11])
    with pytest.raises(UnknotError, match="tested on other images"):
        error_similarity([one, other], "composition")
    with pytest.raises(UnknotError, match="tested on other images"):
        error_similarity([one, result("two", TRUE, world="v")], "composition")
    assert comparable([one, other]) == [] == comparable([one, result("two", TRUE, world="v")])
    assert comparable([one, one]) == [("composition", [one, one])]


def test_each_split_compares_the_results_that_have_it() -> None:
    one, two = result("one", TRUE), result("two", TRUE, split="random")
    three, four = result("three", -TRUE), result("four", TRUE, split="extrapolation")
    assert comparable([one, two]) == []
    assert comparable([one, two, three, two, four]) == [("composition", [one, three]), ("random", [two, two])]
    assert error_similarity([two, one, three], "composition").names == ("one", "three", TRUTH)


def test_mistakes_are_named() -> None:
    with pytest.raises(
        UnknotError, match=r"unknown split of the results 'compositio'.*Known: composition, random"
    ):
        error_similarity([result("one", TRUE), result("two", TRUE, split="random")], "compositio")
    with pytest.raises(UnknotError, match="no results"):
        error_similarity([])
    with pytest.raises(UnknotError, match="result of the task fairness"):
        error_similarity([TaskResult("fairness", "", "", {})])
    with pytest.raises(UnknotError, match="unknown similarity"):
        error_similarity([result("one", TRUE)], "composition", of="mistakes")  # type: ignore[arg-type]
