"""Charts over the steps of training."""

import math
import re

import numpy as np
import pytest

from unknot.reports.kit.step_charts import Curve, dumbbells, step_curves

from .conftest import NASTY


def test_steps_lie_at_equal_distances_for_equal_ratios() -> None:
    svg = step_curves("curves", [Curve("a", [10, 100, 1000], [0.0, 0.5, 1.0])])
    path = re.search(r'class="mark" stroke-opacity="1.00" d="M([^"]*)"', svg)
    assert path is not None
    places = [float(point.split()[0]) for point in path[1].split("L")]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)


def test_gaps_single_points_and_charts_of_nothing_are_drawn_without_nan() -> None:
    for curves in ([], [Curve("a", [5], [0.5])], [Curve("a", [1, 2, 3], [math.nan, 0.1, math.nan])]):
        assert "nan" not in step_curves("title", curves, references={"line": 0.2}).lower().replace("nano", "")
    assert "nan" not in dumbbells("title", [("k", math.nan, {"other": 0.5})])


def test_names_at_the_ends_do_not_lie_on_each_other() -> None:
    svg = step_curves("t", [Curve(f"name {i}", [1, 2], [0.5, 0.5]) for i in range(5)])
    heights = [float(y) for y in re.findall(r'y="([\d.]+)" class="small">name', svg)]
    assert len(heights) == 5 and min(np.diff(sorted(heights))) >= 10.9


def test_names_are_escaped(checked) -> None:
    curves = [Curve(NASTY, [1, 2], [0.5, 0.5], low=[0.4, 0.4], high=[0.6, 0.6]), Curve("b", [1], [0.5])]
    checked(step_curves(NASTY, curves, references={NASTY: 0.2}))
    checked(dumbbells(NASTY, [(NASTY, 0.5, {NASTY: 0.5})]))


@pytest.mark.parametrize("odd", [math.nan, math.inf, 0, -1])
def test_a_step_that_is_none_is_not_drawn(odd: float) -> None:
    values = [0.1, 0.2, 0.3]
    drawn = step_curves("title", [Curve("a", [1, odd, 100], values, low=values, high=values)])
    assert "nan" not in drawn and "inf" not in drawn
    assert "nan" not in step_curves("title", [Curve("a", [odd], [0.1])])
