"""The published tables of the papers, one CSV each, with a word on every number that is doubtful.

Numbers are as printed. `doubt` is empty, or begins with "paper:" for what the paper contradicts or leaves open, or with
"reading:" for how a cell was read that the text at hand garbles.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from unknot.errors import unknown
from unknot.papers.paper import Paper

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "data"


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper, or numbers that stand elsewhere in it.

    Attributes:
        paper: whose.
        name: "table5", or a word for what is no table of the paper.
        where: in the paper it stands.
        unit: of all its values; empty if rows say it, or if there are none.
        spread: what the numbers after ± are, as far as the paper says.
        same_as: the table that has the same numbers, else "".
        caption: what it holds, in our words.
    """

    paper: Paper
    name: str
    where: str
    unit: str
    spread: str
    same_as: str
    caption: str

    @property
    def source(self) -> str:
        """Author, year and place, as in "Schott et al. 2022, Table 5"."""
        return f"{self.paper.short}, {self.where}"

    @property
    def citation(self) -> str:
        """The citation of the paper, with the place in it."""
        return f"{self.paper.citation}, {self.where}"

    @property
    def file(self) -> Traversable:
        """Where its numbers are."""
        return _folder() / self.paper.key / f"{self.same_as or self.name}.csv"

    def read(self) -> "pd.DataFrame":
        """Its rows, with the columns `unit`, `doubt` and `source` last; what is not printed is missing, or empty."""
        import pandas as pd

        with self.file.open(encoding="utf-8") as file:
            table = pd.read_csv(file, keep_default_na=False, na_values={"value": [""], "spread": [""]})
        unit = table.pop("unit") if "unit" in table else self.unit
        doubt = table.pop("doubt").astype(str)
        # Many tables may stand in one file.
        source = self.paper.short + ", Table " + table["table"].astype(str) if "table" in table else self.source
        return table.assign(unit=unit, doubt=doubt, source=source)


def tables_of(paper: Paper) -> dict[str, PublishedTable]:
    """Name -> table of a paper."""
    rows = [row for row in _index() if row["paper"] == paper.key]
    return {row["table"]: PublishedTable(paper, row["table"], *list(row.values())[2:]) for row in rows}


def table_of(paper: Paper, name: str) -> PublishedTable:
    """A table of a paper by its name."""
    known = tables_of(paper)
    if not isinstance(name, str) or name not in known:
        raise unknown(f"table of {paper.key}", name, known, field="table")
    return known[name]


@cache
def _index() -> list[dict[str, str]]:
    return list(csv.DictReader((_folder() / "index.csv").read_text(encoding="utf-8").splitlines()))


def _folder() -> Traversable:
    return files("unknot.papers") / FOLDER
