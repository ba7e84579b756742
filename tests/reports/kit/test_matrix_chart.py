"""A matrix as coloured cells."""

import xml.etree.ElementTree as ElementTree

from unknot.reports.kit.matrix_chart import matrix_chart

from .conftest import NASTY

NAN = float("nan")


def test_a_cell_is_the_stronger_the_nearer_to_one_and_a_gap_has_none() -> None:
    svg = ElementTree.fromstring(matrix_chart("title", ["a", "b"], ["c", "d"], [[0.25, 1.0], [NAN, 0.0]]))
    cells = [float(rect.get("fill-opacity", "")) for rect in svg.iter("rect") if rect.get("class") == "down"]
    assert cells == [0.25, 1.0, 0.0]
    assert [title.text for title in svg.iter("title")] == ["a, c: 0.250", "a, d: 1.000", "b, d: 0.000"]


def test_names_are_escaped_and_long_ones_are_slanted(checked) -> None:
    checked(matrix_chart(NASTY, [NASTY], [NASTY], [[0.5]]))
    assert "rotate(-45)" in matrix_chart("t", ["a"], ["a long name"], [[0.5]])
    assert "rotate" not in matrix_chart("t", ["a"], ["b"], [[0.5]])
