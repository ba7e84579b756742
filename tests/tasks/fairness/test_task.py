"""Fairness of predictions under interventions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.metrics.interventions import WorldSource
from unknot.metrics.unfairness import unfairness
from unknot.representation import Representation
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.tasks.fairness.task import fairness
from unknot.worlds.array_world import ArrayWorld

GRID = space({"shape": 3, "scale": 4, "x": 20}, categorical=["shape"])
BITS = space({"a": 2, "b": 2, "other": 50})
QUICK: dict[str, Any] = {"rounds": 8, "points": 40}


def telling(grid: FactorSpace = GRID, rows: np.ndarray | None = None) -> ArrayWorld:
    """A world whose images say their classes in the first pixels."""
    classes = grid.classes(np.arange(grid.size)) if rows is None else rows
    images = np.zeros((len(classes), 8, 8), dtype=np.uint8)
    images[:, 0, : len(grid)] = classes
    return ArrayWorld(images, classes, space=grid, name="telling")


def true_factors(images: np.ndarray) -> np.ndarray:
    return images[:, 0, :3, 0].astype(float)


def product(images: np.ndarray) -> np.ndarray:
    """Whether both of two bits are set, and the third factor."""
    y = images[:, 0, :3, 0].astype(float)
    return np.stack([y[:, 0] * y[:, 1], y[:, 2]], axis=1)


def pairs(result: Any, column: str = "unfairness") -> dict[Any, Any]:
    return {(row["target"], row["sensitive"]): row[column] for row in result.tables["pairs"]}


def test_a_code_of_the_true_factors_is_fair_and_predicts_everything() -> None:
    result = fairness(true_factors, telling(), rows="all", **QUICK | {"rounds": 30})
    assert result.values["unfairness"] == result.values["worst_pair"] == 0
    assert result.values["accuracy"] == 1
    assert len(result.tables["pairs"]) == 6
    assert result.values["shuffled"] > 0  # what a finite number of points makes of no dependence at all


def test_predictions_that_need_another_factor_are_as_unfair_as_worked_out_by_hand() -> None:
    # The code only says "a and b". Its classifier of a answers 1 where both are set, else 0, with odds of 2 to 1. So
    # with b = 0 it answers 1 for none of the points, with b = 1 for the half that has a = 1, over both for a quarter:
    # the total variation is a quarter at each value.
    result = fairness(product, telling(BITS), rows="all", points=800, rounds=20)
    found = pairs(result)
    assert found["a", "b"] == pytest.approx(0.25, abs=0.03)
    assert found["b", "a"] == pytest.approx(0.25, abs=0.03)
    assert pairs(result, "worst_value")["a", "b"] == pytest.approx(found["a", "b"])  # two values lie equally far
    accuracy = {row["target"]: row["accuracy"] for row in result.tables["targets"]}
    assert accuracy["a"] == pytest.approx(0.75, abs=0.1)


def test_the_numbers_are_those_of_the_metric() -> None:
    world = telling()
    y = GRID.classes(np.arange(GRID.size))
    z = true_factors(world.images(y)) @ np.array([[1.0, 0.5, 0], [0, 1, 0.5], [0.5, 0, 1]])

    def mixed(images: np.ndarray) -> np.ndarray:
        return true_factors(images) @ np.array([[1.0, 0.5, 0], [0, 1, 0.5], [0.5, 0, 1]])

    result = fairness(mixed, world, rows="all", seed=3, **QUICK)
    score = unfairness(z.astype(np.float32), y, source=WorldSource(world, mixed), rng=3, **QUICK)
    assert result.values["unfairness"] == pytest.approx(score.value)
    assert pairs(result)["shape", "x"] == pytest.approx(score.parts["mean_tv"][0, 2])
    assert result.values["shuffled"] == pytest.approx(score.parts["shuffled"])


def test_only_the_factors_asked_for_are_looked_at() -> None:
    whole = fairness(product, telling(BITS), rows="all", **QUICK)
    part = fairness(product, telling(BITS), rows="all", targets=["a"], sensitive=["b", "other"], **QUICK)
    found = pairs(whole)
    assert set(pairs(part)) == {("a", "b"), ("a", "other")}
    assert part.values["unfairness"] == pytest.approx((found["a", "b"] + found["a", "other"]) / 2)
    assert part.values["by_b"] == pytest.approx(found["a", "b"])
    assert "by_a" not in part.values


def test_a_table_of_the_whole_grid_is_looked_up_and_any_other_is_only_compared() -> None:
    y = GRID.classes(np.arange(GRID.size)).repeat(3, axis=0)
    whole = fairness(Representation(y * 1.0, y, GRID.names), rows="all", **QUICK | {"rounds": 30})
    assert whole.values["unfairness"] == 0
    assert not any("No factor can be set at will" in note for note in whole.notes)
    part = fairness(Representation(y * 1.0, y, GRID.names), rows=200, **QUICK)
    assert any("No factor can be set at will" in note for note in part.notes)
    assert "shuffled" not in part.values


def test_a_world_that_lacks_images_is_only_compared() -> None:
    y = GRID.classes(np.arange(GRID.size))
    result = fairness(true_factors, telling(rows=y[5:]), rows="all", **QUICK)
    assert any("telling lacks some combinations" in note for note in result.notes)


def test_latents_are_kept_for_other_settings(tmp_path: Path) -> None:
    seen = 0

    def counted(images: np.ndarray) -> np.ndarray:
        nonlocal seen
        seen += len(images)
        return product(images)

    fairness(counted, telling(BITS), rows=150, folder=tmp_path, **QUICK)
    assert seen == 16 + 150 + 40 * (2 + 2 + 50)
    seen = 0
    fairness(counted, telling(BITS), rows=150, folder=tmp_path, rounds=8, points=10)
    assert seen == 16 + 10 * 54  # the fingerprint and the interventions


def test_a_run_is_judged_on_its_own_world(tmp_path: Path) -> None:
    spec = RunSpec(world="dsprites_rendered", latents=3, image_size=32, steps=2, batch_size=4)
    result = fairness(train(spec, tmp_path).folder, rows=300, rounds=2, points=4)
    assert result.world == "dsprites_rendered"
    assert len(result.tables["pairs"]) == 20
    assert all(0 <= value < 1 for value in pairs(result).values())
    assert "accuracy" not in result.lower_is_better and "unfairness" in result.lower_is_better


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"targets": ["shpae"]}, "unknown factor 'shpae'; did you mean 'shape'"),
        ({"sensitive": ["size"]}, "unknown factor 'size'"),
        ({"targets": "shape"}, "targets is 'shape'; expected a list"),
        ({"targets": ["shape"], "sensitive": ["shape"]}, "choose at least two factors"),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UnknotError, match=complaint):
        fairness(true_factors, telling(), **QUICK | given)


def test_latents_without_factors_are_refused() -> None:
    with pytest.raises(UnknotError, match="has no factors to predict"):
        fairness(Representation(np.zeros((30, 2))))
