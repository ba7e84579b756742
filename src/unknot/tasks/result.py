"""What a downstream task found out, as plain values that a table, a page or a study can show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot import __version__
from unknot.errors import Note, UnknotError, check_known, sentences
from unknot.files import as_json, write_json
from unknot.reading.arguments import check_fields
from unknot.reading.guard import load_json, parsing
from unknot.runs.workspace import Form

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from rich.console import RenderableType

Cell = str | int | float | bool | None
Table = list[dict[str, Cell]]


def as_number(cell: Cell) -> float:
    """A cell of a table as a number; NaN for one that is empty.

    >>> as_number(None), as_number(0.5)
    (nan, 0.5)
    """
    return math.nan if cell is None else float(cell)


def as_cell(number: float) -> float | None:
    """A number as a cell of a table; NaN is empty."""
    return None if math.isnan(number) else float(number)


def shown(cell: Cell) -> str:
    """A cell as a table in the terminal shows it."""
    if cell is None or cell != cell:
        return "-"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def rows_table(title: str, rows: Table) -> "RenderableType":
    """Tidy rows for the terminal, numbers to the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, cell in rows[0].items():
        grid.add_column(name, justify="left" if isinstance(cell, str) else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(shown(cell)) for cell in row.values()))
    return grid


@dataclass(frozen=True)
class TaskResult:
    """What one task says of one representation.

    Attributes:
        task: its name, such as "combinations".
        source: whose representation: a run, a file, an encoder.
        world: where its images come from; empty if nobody knows.
        values: headline numbers by name; each becomes a column of a study.
        tables: name -> tidy rows, which figures are drawn from.
        settings: everything that decided the numbers, seed included.
        notes: what was left out or assumed, baselines in words; sentences, or `Note`s where code looks for them.
        lower_is_better: names of the values of which less is better.
        seconds: how long it took.
        version: of the package.
    """

    task: str
    source: str
    world: str
    values: Mapping[str, float]
    tables: Mapping[str, Table] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[Note | str] = ()
    lower_is_better: Sequence[str] = ()
    seconds: float = 0.0
    version: str = __version__

    def write(self, path: Path | str) -> Path:
        """Write one JSON file; a number that does not exist is null."""
        return write_json(path, asdict(self))

    def as_json(self) -> str:
        """What `write` writes."""
        return as_json(asdict(self))

    def to_frame(self, table: str = "") -> "DataFrame":
        """The headline numbers as a data frame, or one of the tables by name."""
        from pandas import DataFrame

        if table:
            check_known("table", table, self.tables)
            return DataFrame(list(self.tables[table]))
        return DataFrame({"value": dict(self.values)})

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw a bar for each headline number into axes of matplotlib."""
        from matplotlib import pyplot

        axes = pyplot.gca() if axes is None else axes
        axes.bar_label(axes.barh(list(self.values), list(self.values.values())), fmt="%.3f", padding=3)
        axes.invert_yaxis()
        axes.set(title=f"{self.task}: {self.source}")
        return axes

    def _repr_html_(self) -> str:
        """What a notebook shows: the headline numbers, and what is noted."""
        from html import escape

        notes = "".join(f"<li>{escape(text)}</li>" for text in sentences(self.notes))
        about = escape(f"{self.task}: {self.source}{f' on {self.world}' if self.world else ''}")
        return f"<p>{about}</p>{self.to_frame().to_html(float_format='{:.3f}'.format)}<ul>{notes}</ul>"

    def __repr__(self) -> str:
        """What it is of, and the headline numbers."""
        numbers = ", ".join(f"{name} {value:.3f}" for name, value in self.values.items())
        return f"TaskResult of {self.task}, {self.source}: {numbers}"


def read_result(path: Path | str) -> TaskResult:
    """The result in a JSON file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     result = TaskResult("fairness", "my run", "dsprites_rendered", {"unfairness": 0.25})
    ...     read_result(result.write(f"{folder}/fairness.json")).values
    {'unfairness': 0.25}
    """
    record = load_json(path, hint="It is no result of a task; those are written by unknot task.")
    missing = [name for name in ("task", "values") if not isinstance(record, dict) or name not in record]
    if missing:
        raise UnknotError(
            f"{path}: is no result of a task; it has no '{missing[0]}'. Results are written by unknot task."
        )
    with parsing(path, "a result of a task", "Those are written by unknot task."):
        record["values"] = {name: math.nan if v is None else float(v) for name, v in record["values"].items()}
        notes = [Note(**note) if isinstance(note, dict) else str(note) for note in record.get("notes", ())]
        known = {entry.name: record[entry.name] for entry in fields(TaskResult) if entry.name in record}
        result = TaskResult(**known | {"notes": notes})  # a newer version may have written more
    for record in (result, *(note for note in notes if isinstance(note, Note))):
        check_fields(f"{path}: is no result of a task", record)
    return result


RESULT: Form[TaskResult] = Form(".json", read_result, lambda path, result: result.write(path))
