"""A paper recomputed: its claims, each with what its own tables say of it, and the sections that show how."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unknot.reports.kit.page import Cell, Grid, Section

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["holds", "holds in part", "does not hold", "cannot be checked"]


@dataclass(frozen=True)
class Claim:
    """Something a paper says, and what is to be thought of it.

    Attributes:
        text: what it says, in our words.
        where: it says so.
        verdict: whether its own tables say the same.
        why: the numbers.
    """

    text: str
    where: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Recomputed:
    """The claims of a paper, and sections of a page that show what they rest on."""

    claims: Sequence[Claim]
    sections: Sequence[Section] = field(default_factory=tuple)


def grid(table: "pd.DataFrame", caption: str = "", name: str = "", **heads: str) -> Grid:
    """A table of numbers for a page: true and false as words, what is missing as a gap.

    Args:
        table: one row a line.
        caption: above it.
        name: gives it tools.
        heads: column -> its head, in the order of the page; all columns by default.
    """
    names = heads or {str(column): str(column).replace("_", " ") for column in table}
    rows: list[list[Cell]] = [list(map(_cell, row)) for row in table[list(names)].itertuples(index=False)]
    return Grid(list(names.values()), rows, caption, name)


def _cell(value: Any) -> Cell:
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return None
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, bool):
        return "yes" if item else "no"
    return item  # type: ignore[no-any-return]


def share(flags: Any) -> str:
    """How many of a column of true and false are true, as in "12 of 20"."""
    return f"{int(flags.sum())} of {len(flags)}"
