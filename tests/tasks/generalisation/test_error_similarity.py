"""How alike models predict: the unseen factor, as the paper has it; all factors; errors."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
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
    name: str,
    said: np.ndarray,
    world: str = "w",
    points: list[int] = POINTS,
    split: str = "composition",
    unseen: Sequence[str | None] = (None,) * 6,
    model: Mapping[str, str] = MappingProxyType({}),
) -> TaskResult:
    rows: list[dict[str, Any]] = [
        {
            "split": split,
            "point": p,
            "unseen": factor,
            "predicted a": float(a),
            "predicted b": float(b),
            "predicted still": 0.0,
        }
        for p, factor, (a, b) in zip(points, unseen, said, strict=True)
    ]
    settings = {"factors": {"a": 4, "b": 3, "still": 1}, "splits": [split], "model": {**model}}
    return TaskResult("generalisation", name, world, {}, {"probe": rows}, settings)


TRUE = GRID.scaled(GRID.classes(POINTS))[:, :2]


def test_correlations_are_those_of_numpy_averaged_over_factors() -> None:
    rng = np.random.default_rng(0)
    one, two = TRUE + rng.normal(size=TRUE.shape), TRUE + rng.normal(size=TRUE.shape)
    found = error_similarity([result("one", one), result("two", two)], "composition", of="predictions")
    assert found.names == ("one", "two", TRUTH) and found.rows == 6
    expected = np.mean([np.corrcoef([one[:, j], two[:, j], TRUE[:, j]]) for j in range(2)], axis=0)
    assert found.matrix == pytest.approx(expected)
    errors = error_similarity([result("one", one), result("two", two)], "composition", of="errors")
    expected = np.mean([np.corrcoef([(one - TRUE)[:, j], (two - TRUE)[:, j]]) for j in range(2)], axis=0)
    assert errors.names == ("one", "two") and errors.matrix == pytest.approx(expected)


def test_a_perfect_model_is_the_ground_truth_and_a_sign_flipped_one_its_opposite() -> None:
    found = error_similarity([result("right", TRUE), result("wrong", -TRUE)], "composition", of="predictions")
    assert found.matrix == pytest.approx(np.array([[1, -1, 1], [-1, 1, -1], [1, -1, 1]]))


def test_a_model_that_always_says_the_same_has_no_correlation() -> None:
    found = error_similarity(
        [result("flat", 0 * TRUE + 0.3), result("right", TRUE)], "composition", of="predictions"
    )
    assert np.isnan(found.matrix[0]).all() and found.matrix[1, 2] == pytest.approx(1)


def test_a_factor_that_a_model_never_varies_is_left_out_of_its_mean() -> None:
    half = TRUE * [1, 0]
    found = error_similarity([result("half", half), result("right", TRUE)], "composition", of="predictions")
    assert found.matrix[0, 1] == pytest.approx(1) and np.isnan(found.per_factor["b"][0, 1])


def test_two_models_of_one_name_are_told_apart() -> None:
    twice = error_similarity([result("m", TRUE), result("m", TRUE)], "composition", of="predictions")
    assert twice.names[:2] == ("m #1", "m #2")


def test_results_on_other_images_are_not_compared() -> None:
    one, other = result("one", TRUE), result("two", TRUE, points=[1, 2, 5, 7, 8, 11])
    with pytest.raises(UnknotError, match="tested on other images"):
        error_similarity([one, other], "composition")
    with pytest.raises(UnknotError, match="tested on other images"):
        error_similarity([one, result("two", TRUE, world="v")], "composition")
    assert comparable([one, other]) == [] == comparable([one, result("two", TRUE, world="v")])
    assert comparable([one, one]) == [("composition", [one, one], ["predictions", "errors"])]


def test_each_split_compares_the_results_that_have_it() -> None:
    one, two = result("one", TRUE), result("two", TRUE, split="random")
    three, four = result("three", -TRUE), result("four", TRUE, split="extrapolation")
    assert comparable([one, two]) == []
    kinds = ["predictions", "errors"]
    several = comparable([one, two, three, two, four])
    assert several == [("composition", [one, three], kinds), ("random", [two, two], kinds)]
    alike = error_similarity([two, one, three], "composition", of="predictions")
    assert alike.names == ("one", "three", TRUTH)


UNSEEN = ("a", "a", None, "b", "b", None)
SHARE = [(0, 0), (1, 0), (3, 1), (4, 1)]  # row and column of the unseen factor, where there is one


def run(name: str, said: np.ndarray, *, seed: int = 0) -> TaskResult:
    model = {"kind": "run", "id": f"{name}{seed}", "family": name, "setting": name}
    return result(f"{name}, seed {seed}", said, split="extrapolation", unseen=UNSEEN, model=model)


def test_only_the_unseen_factor_is_correlated_where_it_is_the_only_one() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=TRUE.shape), rng.normal(size=TRUE.shape)
    alike = error_similarity([run("cnn", one), run("mlp", two)])
    rows, columns = zip(*SHARE, strict=True)
    expected = np.corrcoef([layer[list(rows), list(columns)] for layer in (one, two, TRUE)])
    assert alike.names == ("cnn", "mlp", TRUTH) and alike.rows == 4 and alike.of == "ood"
    apart = ~np.eye(3, dtype=bool)
    assert alike.matrix[apart] == pytest.approx(expected[apart]) and np.isnan(np.diagonal(alike.matrix)).all()
    assert alike.per_factor["a"][0, 1] == pytest.approx(np.corrcoef(one[:2, 0], two[:2, 0])[0, 1])
    # Nothing else that is predicted matters.
    other = one + 5.0
    other[list(rows), list(columns)] = one[list(rows), list(columns)]
    assert error_similarity([run("cnn", other), run("mlp", two)]).matrix == pytest.approx(
        alike.matrix, nan_ok=True
    )


def test_architectures_are_compared_over_seeds_and_no_run_with_itself() -> None:
    rng = np.random.default_rng(2)
    said = [rng.normal(size=TRUE.shape) for _ in range(3)]
    first, second, other = run("cnn", said[0]), run("cnn", said[1], seed=1), run("mlp", said[2])
    alike = error_similarity([first, other, second, first])  # one of them twice
    rows, columns = zip(*SHARE, strict=True)
    r = np.corrcoef([layer[list(rows), list(columns)] for layer in (*said, TRUE)])
    assert alike.names == ("cnn", "mlp", TRUTH)
    assert alike.matrix[0, 0] == pytest.approx(r[0, 1]) and np.isnan(alike.matrix[1, 1])
    assert alike.matrix[0, 1] == pytest.approx((2 * r[0, 2] + r[1, 2]) / 3)
    assert alike.matrix[0, 2] == pytest.approx((2 * r[0, 3] + r[1, 3]) / 3)


def test_models_drawn_to_training_means_are_alike_and_unlike_the_truth_although_they_read_all_else() -> None:
    """What the paper found, and what correlating all factors hides."""
    from unknot.tasks.generalisation.split_errors import constant_baselines
    from unknot.worlds import WORLDS
    from unknot.worlds.splits.named import named_split

    world = WORLDS["mpi3d_real"]
    split = named_split("extrapolation", world.factors, world.conventions.rule)
    points = np.random.default_rng(0).choice(split.test_indices(), 500, replace=False)
    classes = world.factors.classes(points)
    truth, unseen = world.factors.scaled(classes), split.one_ood_factor(classes)
    drawn = np.where(split.ood(classes), constant_baselines(split).train_mean, truth)
    results = []
    for i in range(2):
        said = drawn + np.random.default_rng(i).normal(0, 0.02, drawn.shape)
        rows = [
            {"split": "extrapolation", "point": int(p), "unseen": world.factors.names[j] if j >= 0 else None}
            | {f"predicted {name}": float(v) for name, v in zip(world.factors.names, row, strict=True)}
            for p, j, row in zip(points, unseen, said, strict=True)
        ]
        factors = dict(zip(world.factors.names, world.factors.shape, strict=True))
        settings = {"factors": factors, "splits": ["extrapolation"], "model": {}}
        results.append(TaskResult("generalisation", f"model {i}", "mpi3d_real", {}, {"probe": rows}, settings))
    alike = error_similarity(results).matrix
    assert alike[0, 1] > 0.9 and alike[0, 2] < -0.48
    assert error_similarity(results, of="predictions").matrix[0, 2] > 0.5


def test_splits_without_unseen_values_have_no_unseen_factor_to_compare() -> None:
    with pytest.raises(UnknotError, match="no kept image of composition has exactly one value"):
        error_similarity([result("one", TRUE), result("two", TRUE)], "composition")


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
