"""Splits by name, as runs and commands write them down.

random, composition, interpolation, extrapolation    by the published rule of the world, or a fifth of each factor
combination:scale=0,shape=0                          all images but those of one combination of classes
"""

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.worlds.splits.combinations import combination_name, combination_split, parse_combination
from unknot.worlds.splits.rules import Rule, check_kind
from unknot.worlds.splits.split import Split, split

COMBINATION = "combination:"
USUAL = Rule(ratio=0.2)


def named_split(name: str, space: FactorSpace, rule: Rule | None = None) -> Split:
    """The split of a name.

    Args:
        name: see the module.
        space: the grid of a world.
        rule: the published one of the world, if it has one: `conventions(world.key).rule`.

    >>> from unknot.worlds.published.dsprites import CONVENTIONS, SPACE
    >>> named_split("extrapolation", SPACE, CONVENTIONS.rule).n_test
    497280
    >>> named_split("combination:scale=0,shape=0", SPACE).n_test
    40960
    """
    kind, _, classes = canonical_split(name).partition(":")
    if kind == "combination":
        return combination_split(space, parse_combination(classes))
    return split(space, check_kind(kind), rule=rule or USUAL)


def canonical_split(name: str) -> str:
    """The one spelling of a split's name, so that the same split is never trained inside twice.

    >>> canonical_split("combination: shape=2, scale=1+0")
    'combination:scale=0+1,shape=2'
    """
    kind, colon, classes = name.partition(":")
    check_kind(kind)
    if kind == "combination":
        if not classes.strip():
            raise UnknotError(
                "split 'combination': which one? Name two factors and a class of each: combination:scale=0,shape=0."
            )
        return COMBINATION + combination_name(parse_combination(classes))
    if colon:
        raise UnknotError(f"split '{name}': only a combination names classes; write '{kind}'.")
    return kind
