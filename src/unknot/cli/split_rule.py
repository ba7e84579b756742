"""Options of commands that split a world by a rule of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unknot.cli.options import option

if TYPE_CHECKING:
    from unknot.worlds.splits.own import OwnRule


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """What of a split is not as published."""

    ratio: float | None = option(None, "Share of each factor's classes to hold back, if not the published one.")
    keep: Sequence[str] = option((), "Factors not to split, such as shape,size.", "--keep,")
    hold: Sequence[str] = option(
        (), "Exclusive classes by hand, such as x=25..31 or scale=0,5; once for each factor."
    )
    allow_circular: bool = option(False, "Extrapolate circular factors, although they close.")

    @property
    def own(self) -> "OwnRule":
        """The rule that was typed."""
        from unknot.worlds.splits.own import OwnRule

        return OwnRule(self.ratio, tuple(self.keep), tuple(self.hold), self.allow_circular)
