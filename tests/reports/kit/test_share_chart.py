"""Shares with their intervals."""

import pytest

from unknot.reports.kit.share_chart import Share, share_chart

from .conftest import NASTY


def test_marks_stand_where_their_shares_are_and_names_are_escaped(checked) -> None:
    marks = [Share(0.5, 0.4, 0.6, NASTY), Share(1.0, 0.9, 1.0, "b")]
    tree = checked(share_chart(NASTY, [(NASTY, marks)], lines={NASTY: 0.5}, names=[NASTY]))
    circles = [mark for mark in tree.iter("circle") if mark.find("title") is not None]
    line = next(mark for mark in tree.iter() if mark.get("stroke-dasharray"))
    assert float(circles[0].get("cx")) == pytest.approx(float(line.get("d")[1:].split()[0]), abs=0.1)
    assert float(circles[1].get("cx")) > float(circles[0].get("cx"))
