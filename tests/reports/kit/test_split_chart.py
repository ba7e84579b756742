"""Bars of R², and histograms."""

import re

from unknot.reports.kit.split_chart import Bar, histogram, r2_bars

from .conftest import NASTY


def test_bars_beyond_the_scale_end_at_its_edge_and_say_their_number() -> None:
    drawn = r2_bars("R²", [Bar("m", -420.0, {"constant": -3.0}), Bar("n", float("nan"), {})])
    xs = [float(x) for x in re.findall(r'<rect[^>]* x="([\d.]+)"', drawn)]
    assert all(0 < x < 340 for x in xs) and "-420" in drawn and "no value" in drawn


def test_a_histogram_has_a_bar_for_each_bin() -> None:
    drawn = histogram("ratio", [0.0, 0.1, 0.2], [1, 0, 3], 0.1, 1.0)
    assert drawn.count("<rect") == 3 and "75.0 %" in drawn


def test_names_are_escaped(checked) -> None:
    checked(r2_bars(NASTY, [Bar(NASTY, 0.5, {NASTY: 0.1}, NASTY)]))
    checked(histogram(NASTY, [0.0], [1], 0.1, 1.0))
