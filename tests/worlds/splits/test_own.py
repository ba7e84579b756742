"""Splits by one's own rule."""

import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds.splits.named import named_split
from unknot.worlds.splits.own import OwnRule
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import split

GRID = space({"shape": 3, "x": 10, "y": 8}, categorical=["shape"])


@pytest.mark.parametrize("kind", ["composition", "interpolation", "extrapolation"])
def test_a_rule_has_the_split_of_its_ratio_under_a_name_that_says_its_classes(kind):
    own, expected = OwnRule(ratio=0.3, keep=("shape",)), split(GRID, kind, rule=Rule(0.3, ("shape",)))
    assert own.split(kind, GRID, None) == expected
    assert named_split(own.name(kind, GRID, None), GRID) == expected


def test_what_is_not_said_is_as_published():
    assert OwnRule().split("extrapolation", GRID, Rule(0.2)) == split(GRID, "extrapolation", rule=Rule(0.2))
    assert OwnRule(hold=("x=8..9", "y=0,7")).split("extrapolation", GRID, Rule(0.2)).exclusive == {
        "x": (8, 9),
        "y": (0, 7),
    }


@pytest.mark.parametrize(
    ("own", "kind", "complaint"),
    [
        (OwnRule(hold=("x=8",), ratio=0.2), "extrapolation", "leave out --ratio and --keep"),
        (OwnRule(keep=("shape",)), "extrapolation", "no split of this world is published with these options"),
        (OwnRule(ratio=0.2), "random", "split is 'random'; --hold, --ratio.*belong to one of composition"),
        (OwnRule(ratio=0.2), "", "split is ''"),
        (OwnRule(hold=("x",)), "extrapolation", "--hold 'x' is not like"),
        (OwnRule(hold=("x=" + "9" * 5000,)), "extrapolation", "is not like"),
    ],
)
def test_mistakes_are_named(own, kind, complaint):
    with pytest.raises(UnknotError, match=complaint):
        own.name(kind, GRID, Rule(0.2))
