"""What holds for every chart."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest

from unknot.reports.kit.page import part

NASTY = "<script>\"&'</script>"


@pytest.fixture
def checked() -> Callable[[str], ElementTree.Element]:
    """`checked(chart(...))`, drawn with NASTY names: the chart as a tree.

    It is well-formed and named for those who cannot see it, it has no styles but those of the page, and names in it are
    text and nothing else.
    """
    styles = set(re.findall(r"svg \.(\w+)", part("page.css")))

    def check(svg: str) -> ElementTree.Element:
        tree = ElementTree.fromstring(svg)
        assert tree.get("role") == "img" and tree.get("aria-label")
        assert {word for mark in tree.iter() for word in (mark.get("class") or "").split()} <= styles
        assert not list(tree.iter("script")) and "<script>" in "".join(tree.itertext())
        return tree

    return check
