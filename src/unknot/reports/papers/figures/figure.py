"""A table or figure of a paper made anew from one's own work, or a sentence that says what that lacks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unknot.reports.kit.page import Cell, Content, Section
from unknot.reports.papers.figures.own import Lacks, Own

Pieces = Iterator[str | Content | Section]  # paragraphs, tables and charts, smaller sections, in any order


@dataclass(frozen=True)
class Figure:
    """One table or figure, or some that show the same.

    Attributes:
        number: in the paper, such as "Figures 4 and 11".
        title: what it shows.
        draw: makes it; raises `Lacks` where that cannot be done.
    """

    number: str
    title: str
    draw: Callable[[Own], Pieces]

    def section(self, own: Own) -> Section:
        """As a section of a page: as much as can be made, then what is missing."""
        pieces: list[str | Content | Section] = []
        try:
            pieces.extend(self.draw(own))
        except Lacks as lack:
            pieces.append(str(lack))
        texts = [piece for piece in pieces if isinstance(piece, str)]
        parts = [piece for piece in pieces if isinstance(piece, Section)]
        contents = [piece for piece in pieces if not isinstance(piece, str | Section)]
        return Section(f"{self.number}: {self.title}", texts, contents, parts, name=f"own {self.number}")


def mean_and_spread(values: Iterable[float], times: float = 1.0, digits: int = 1) -> str | None:
    """Mean, ± standard deviation, and how many in brackets; None without any.

    >>> mean_and_spread([0.5, 0.7], times=100), mean_and_spread([1.0]), mean_and_spread([])
    ('60.0 ± 14.1 (2)', '1.0 (1)', None)
    """
    known = np.array([value for value in values if value == value], dtype=np.float64) * times
    if not len(known):
        return None
    spread = f" ± {known.std(ddof=1):.{digits}f}" if len(known) > 1 else ""
    return f"{known.mean():.{digits}f}{spread} ({len(known)})"


def printed(value: Any, spread: Any = None) -> str | None:
    """A published number as it stands in the paper; None if there is none.

    >>> printed(66.7, 1.7), printed(0.849), printed(float("nan"))
    ('66.7 ± 1.7', '0.849', None)
    """
    if value is None or value != value:
        return None
    return f"{value:g}" + (f" ± {spread:g}" if spread is not None and spread == spread else "")


def cell(value: Any) -> Cell:
    """A number of a table as a cell of a page; None where there is none."""
    return None if value is None or value != value else float(value)
