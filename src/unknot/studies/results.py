"""The results of a study as one table, and tables as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unknot.errors import unknown
from unknot.files import as_json
from unknot.reading.names import csv_text, visible
from unknot.studies.folder import StudyFolder

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "parquet", "markdown", "latex", "json")


def results(study: StudyFolder, *, parts: bool = False) -> "pd.DataFrame":
    """One row a run: what it is, then a column for each metric, each number of a task and each ranking.

    Columns are named as in `unknot.studies.measures`.

    Args:
        study: its folder.
        parts: also the scalars beside the headlines, such as `dci[gbt].completeness`.
    """
    import pandas as pd

    runs = study.runs
    shown = [measure for measure in study.measures if parts or measure.kind != "part"]
    numbers = {measure.column: measure.values.reindex(runs["id"]).to_numpy() for measure in shown}
    return pd.concat([runs, pd.DataFrame(numbers, index=runs.index)], axis=1)


def formatted(table: "pd.DataFrame", form: str) -> str:
    """A table as text: csv, markdown, latex or json."""
    if form == "csv":
        rows = table.itertuples(index=False, name=None)
        return csv_text(
            [table.columns, *([None if _is_gap(cell) else cell for cell in row] for row in rows)], end="\n"
        )
    if form == "json":
        return as_json(table.to_dict("records"))
    if form == "markdown":
        return _markdown(table)
    if form == "latex":
        return _latex(table)
    raise unknown("format", form, FORMATS)


def readable(table: "pd.DataFrame") -> "pd.DataFrame":
    """The table without what people do not read: options are in the setting, and empty columns say nothing."""
    dull = [name for name in table.columns if name.startswith("option.")]
    dull += [name for name in ("split", "error") if name in table and not table[name].astype(bool).any()]
    return table.drop(columns=dull)


def _markdown(table: "pd.DataFrame") -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    numbers = ["---:" if table[name].dtype.kind in "fiu" else "---" for name in table.columns]
    rows = [line([_cell(value) for value in row]) for row in table.itertuples(index=False, name=None)]
    return "\n".join([line([visible(str(c)) for c in table.columns]), "|" + "|".join(numbers) + "|", *rows]) + "\n"


def _latex(table: "pd.DataFrame") -> str:
    columns = "".join("r" if table[name].dtype.kind in "fiu" else "l" for name in table.columns)
    lines = [" & ".join(_escaped(visible(str(name))) for name in table.columns)]
    lines += [" & ".join(_escaped(_cell(v)) for v in row) for row in table.itertuples(index=False, name=None)]
    body = " \\\\\n".join(lines[1:]) + (" \\\\\n" if len(lines) > 1 else "")
    return f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{lines[0]} \\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n"


_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {mark: f"\\{mark}" for mark in "&%$#_{}"}
)


def _escaped(text: str) -> str:
    return text.translate(_LATEX).replace("\n", " ")


def _is_gap(value: Any) -> bool:
    return value is None or bool(value != value)


def _cell(value: Any) -> str:
    if _is_gap(value):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else visible(str(value))
