"""Splits by one's own rule: how much of each factor is held back, of which factors, or which classes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.worlds.splits.combinations import combination_split
from unknot.worlds.splits.named import own_name
from unknot.worlds.splits.rules import RULES, Exclusive, Rule, SplitKind, check_kind
from unknot.worlds.splits.split import Split, split

EXCLUSIVE = ("composition", "interpolation", "extrapolation")  # kinds of split that have exclusive classes


@dataclass(frozen=True)
class OwnRule:
    """What of a split is not as published.

    Attributes:
        ratio: share of each factor's classes to hold back.
        keep: factors that are not split.
        hold: exclusive classes, such as "x=25..31" or "scale=0,5"; then there is neither ratio nor keep.
        allow_circular: whether circular factors may be extrapolated.
    """

    ratio: float | None = None
    keep: Sequence[str] = ()
    hold: Sequence[str] = ()
    allow_circular: bool = False

    @property
    def given(self) -> bool:
        """Whether it says anything."""
        return self != OwnRule()

    def split(
        self, kind: SplitKind, space: FactorSpace, published: Rule | None, who: str = "split", seed: int = 0
    ) -> Split:
        """The split of a kind by this rule, or by the published one where this says nothing.

        >>> from unknot.factors import space
        >>> OwnRule(hold=("x=6..7",)).split("extrapolation", space({"x": 8, "y": 8}), None).exclusive
        {'x': (6, 7)}
        """
        held = held_classes(self.hold, space, who)
        if held and (self.ratio is not None or self.keep):
            raise UnknotError(
                f"{who}: --hold names the classes itself; leave out --ratio and --keep.", field="hold"
            )
        if kind == "combination":
            return combination_split(space, held)
        if held:
            return split(space, kind, exclusive=held, rng=seed)
        return split(space, kind, rule=self._rule(published, who), rng=seed)

    def name(self, kind: str, space: FactorSpace, published: Rule | None, who: str = "split") -> str:
        """What runs and results call the split of a kind by this rule: its exclusive classes, spelt out.

        >>> from unknot.factors import space
        >>> OwnRule(ratio=0.25).name("extrapolation", space({"x": 8, "y": 4}), None)
        'extrapolation:x=6+7,y=3'
        """
        if kind not in EXCLUSIVE:
            raise UnknotError(
                f"{who}: split is {kind!r}; --hold, --ratio, --keep and --allow-circular belong to one of "
                f"{', '.join(EXCLUSIVE)}.",
                field="split",
            )
        return own_name(kind, dict(self.split(check_kind(kind), space, published, who).exclusive))

    def _rule(self, published: Rule | None, who: str) -> Rule:
        kept = tuple(self.keep) or None
        rule = published if self.ratio is None and kept is None else None
        if rule is None:
            if self.ratio is None:
                raise UnknotError(
                    f"{who}: no split of this world is published with these options (those are of {', '.join(RULES)}); "
                    "say how much of each factor to hold back, such as --ratio 0.2, or which classes, with --hold.",
                    field="ratio",
                )
            rule = Rule(self.ratio, kept)
        return replace(rule, circular="allow") if self.allow_circular else rule


AS_PUBLISHED = OwnRule()
CLASSES = r"\d{1,18}(?:\.\.\d{1,18})?"


def held_classes(hold: Sequence[str], space: FactorSpace, who: str = "split") -> Exclusive:
    """The classes that words like `x=25..31` and `scale=0,5` name."""
    held: Exclusive = {}
    for text in hold:
        match = re.fullmatch(rf"\s*([^=]+?)\s*=\s*({CLASSES}(?:\s*,\s*{CLASSES})*)\s*", text)
        if match is None:
            raise UnknotError(f"{who}: --hold '{text}' is not like x=25..31 or scale=0,5.", field="hold")
        name, chosen = match.groups()
        classes: list[int] = []
        for run in chosen.split(","):
            first, _, last = run.strip().partition("..")
            top = space[name].size - 1
            if int(last or first) > top:
                raise UnknotError(f"{who}: --hold '{text}': '{name}' has classes 0..{top}.", field="hold")
            if int(first) > int(last or first):
                raise UnknotError(
                    f"{who}: --hold '{text}': {run.strip()} runs backwards; write {last}..{first}.", field="hold"
                )
            classes.extend(range(int(first), int(last or first) + 1))
        held[name] = (*held.get(name, ()), *classes)
    return held
