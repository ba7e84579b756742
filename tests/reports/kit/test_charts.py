"""Charts as inline SVG."""

import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from unknot.reports.kit.charts import CROWD, Dot, box_plot, curves, heat_map, hinton, scatter
from unknot.reports.kit.svg import Scale

from .conftest import NASTY

NAN = float("nan")


def _all(svg: str, tag: str, style: str = "") -> list[ElementTree.Element]:
    return [e for e in ElementTree.fromstring(svg).iter(tag) if not style or e.get("class") == style]


def test_a_box_holds_the_middle_half_of_the_values() -> None:
    svg = box_plot("mig", [("beta 1", [Dot(v, f"run {v}") for v in (0.0, 1.0, 2.0, 3.0, 4.0)])])
    (box,) = _all(svg, "rect", "box")
    dots = [float(dot.get("cx", "")) for dot in _all(svg, "circle")]
    assert float(box.get("x", "")) == pytest.approx(dots[1], abs=0.11)
    assert float(box.get("x", "")) + float(box.get("width", "")) == pytest.approx(dots[3], abs=0.11)


def test_whiskers_end_at_the_last_run_within_one_and_a_half_boxes() -> None:
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 100.0]
    svg = box_plot("mig", [("a", [Dot(v, "") for v in values])])
    dots = [float(dot.get("cx", "")) for dot in _all(svg, "circle")]
    ends = [float(x) for x in re.findall(r"H([\d.]+)\"", svg)]
    assert ends == [pytest.approx(dots[4], abs=0.11)]


def test_a_crowd_is_drawn_as_boxes_with_their_outliers_only() -> None:
    dots = [Dot(i / CROWD, "") for i in range(CROWD)] + [Dot(9.0, "far")]
    (far,) = _all(box_plot("mig", [("a", dots)]), "circle")
    assert "far" in "".join(far.itertext())


def test_values_that_are_not_numbers_are_left_out() -> None:
    svg = box_plot("mig", [("a", [Dot(NAN, "x")]), ("b", [Dot(1.0, "y")])])
    assert len(_all(svg, "circle")) == 1
    assert "no value" in svg
    assert len(_all(scatter("t", [Dot(NAN, "x"), Dot(1.0, "y", across=2.0)], "d", "UDR"), "circle")) == 1
    assert "nan" not in curves("t", [1, 2, 3], {"kl": [1.0, NAN, 3.0]}).replace("nan at the end", "")


def test_marks_link_to_their_runs_and_the_best_stand_out() -> None:
    svg = scatter("t", [Dot(1.0, "a", "run-a", 3), Dot(2.0, "b", across=3)], "d", "UDR", best=["b"])
    assert [a.get("href") for a in _all(svg, "a")] == ["#run-a"]
    assert "b: 2" in "".join(_all(svg, "circle", "best")[0].itertext())


def test_whole_numbers_get_no_ticks_between_them() -> None:
    assert Scale.of([3, 5], 0, 1, whole=True).ticks == (3, 4, 5)


@pytest.mark.parametrize("values", [[], [0.0], [5.0, 5.0], [-1e-9, 1e-9], [1e9, 2e9]])
def test_every_scale_has_its_values_inside_and_some_ticks(values: list[float]) -> None:
    scale = Scale.of(values, 10, 90)
    assert all(10 <= scale(value) <= 90 for value in values)
    assert 2 <= len(scale.ticks) <= 11


def test_latents_that_end_switched_off_are_greyed() -> None:
    svg = curves("KL", [1, 2], {"z0": [1.0, 2.0], "z1": [1.0, 0.001]}, dim_below=0.01)
    (dim,) = _all(svg, "path", "dim")
    assert "z1" in "".join(dim.itertext())


def test_correlations_that_are_not_significant_are_pale() -> None:
    rho = np.array([[NAN, 0.8, -0.8], [0.8, NAN, NAN], [-0.8, NAN, NAN]])
    p = np.array([[NAN, 0.01, 0.2], [0.01, NAN, NAN], [0.2, NAN, NAN]])
    svg = heat_map(["a", "b", "c"], rho, p)
    (up,), (down,) = _all(svg, "rect", "up"), _all(svg, "rect", "down")
    assert float(up.get("fill-opacity", "")) == pytest.approx(0.8)
    assert float(down.get("fill-opacity", "")) == pytest.approx(0.2)
    assert "b and a: 0.800, p = 0.01" in svg
    assert "c and b: undefined" in svg


def test_the_area_of_a_hinton_square_is_the_share_known() -> None:
    sides = [float(e.get("width", "")) for e in _all(hinton(np.array([[1.0], [0.25]]), ["x"]), "rect", "square")]
    assert sides[0] == pytest.approx(2 * sides[1], abs=0.02)


def test_names_are_escaped(checked) -> None:
    checked(box_plot(NASTY, [(NASTY, [Dot(1.0, NASTY, NASTY)])]))
    checked(scatter(NASTY, [Dot(1.0, NASTY, NASTY, 1.0)], NASTY, NASTY, [NASTY]))
    checked(curves(NASTY, [1, 2], {NASTY: [1.0, 2.0], NASTY + "2": [2.0, 3.0]}))
    checked(heat_map([NASTY, NASTY], np.full((2, 2), 0.5), np.full((2, 2), 0.5)))
    checked(hinton(np.full((2, 1), 0.5), [NASTY]))


@pytest.mark.parametrize("label", ["x" * n for n in range(2, 23)])
def test_labels_that_fit_are_not_cut(label: str) -> None:
    svg = box_plot("mig", [(label, [Dot(1.0, "")])])
    assert f">{label}<" in svg
    assert f">{label}<" in hinton(np.ones((1, 1)), [label]) or len(label) > 20


def test_numbers_below_an_axis_never_run_into_each_other() -> None:
    drawn = box_plot("reconstruction error", [("vae", [Dot(v, "run") for v in (2129.28, 2129.31, 2129.33)])])
    numbers = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([^<]+)<', drawn)
    ends = [(float(x) - 3 * len(words), float(x) + 3 * len(words)) for x, words in numbers]
    assert numbers and all(ends[i][1] < ends[i + 1][0] for i in range(len(ends) - 1))


def test_a_scatter_of_scores_has_numbers_below_and_one_of_counts_whole_ones() -> None:
    def below(*across: float) -> list[str]:
        drawn = scatter("runs", [Dot(float(i), "run", across=x) for i, x in enumerate(across)], "score", "height")
        return re.findall(r'text-anchor="middle"[^>]*>([^<]+)<', drawn)

    assert below(0.12, 0.47) == ["0.2", "0.3", "0.4"]
    assert below(2, 3, 4) == ["2", "3", "4"]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324])
def test_a_scale_holds_what_can_be_drawn_of_any_numbers(odd: float) -> None:
    scale = Scale.of([-1e308, 0.0, odd], 10, 90)
    assert math.isfinite(scale(0.0)) and scale.ticks
