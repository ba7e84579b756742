"""Splits by name, as runs and commands write them down.

random, composition, interpolation, extrapolation    by the published rule of the world, or a fifth of each factor
extrapolation:scale=4+5,x=25..31                     the same with exclusive classes of one's own; random has none
combination:scale=0,shape=0                          all images but those of one combination of classes
"""

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.worlds.splits.combinations import combination_name, combination_split, parse_combination
from unknot.worlds.splits.rules import Exclusive, Rule, check_kind
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
    >>> named_split("extrapolation:x=25..31", SPACE).n_test
    161280
    """
    kind, _, classes = canonical_split(name).partition(":")
    if kind == "combination":
        return combination_split(space, parse_combination(classes))
    if classes:
        return split(space, check_kind(kind), exclusive=parse_combination(classes))
    return split(space, check_kind(kind), rule=rule or USUAL)


def canonical_split(name: str) -> str:
    """The one spelling of a split's name, so that the same split is never trained inside twice.

    >>> canonical_split("combination: shape=2, scale=1+0")
    'combination:scale=0+1,shape=2'
    >>> canonical_split("extrapolation:x=7+5+6,scale=5")
    'extrapolation:scale=5,x=5..7'
    """
    kind, colon, classes = name.partition(":")
    check_kind(kind)
    if kind == "combination":
        if not classes.strip():
            raise UnknotError(
                "split 'combination': which one? Name two factors and a class of each: combination:scale=0,shape=0."
            )
        return COMBINATION + combination_name(parse_combination(classes))
    if colon and kind == "random":
        raise UnknotError(f"split '{name}': a random split has no classes of its own; write '{kind}'.")
    return own_name(kind, parse_combination(classes)) if colon else kind


def own_name(kind: str, exclusive: Exclusive) -> str:
    """The name of a split with classes of one's own.

    >>> own_name("interpolation", {"x": (1, 2, 3, 7), "scale": (4, 5)})
    'interpolation:scale=4+5,x=1..3+7'
    """
    words = []
    for name in sorted(exclusive):
        runs: list[list[int]] = []
        for class_ in sorted(exclusive[name]):
            if runs and class_ == runs[-1][-1] + 1:
                runs[-1].append(class_)
            else:
                runs.append([class_])
        parts = [f"{run[0]}..{run[-1]}" if len(run) > 2 else "+".join(map(str, run)) for run in runs]
        words.append(f"{name}={'+'.join(parts)}")
    return f"{kind}:{','.join(words)}"
