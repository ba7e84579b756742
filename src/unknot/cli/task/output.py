"""What every task prints: its headline numbers as a table, its notes, and the files asked for."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import typer

from unknot.errors import UnknotError
from unknot.tasks.result import TaskResult

JSON = "Write the result to this file; - for standard output."
STDOUT = Path("-")
PLAIN: dict[str, Any] = {"box": None, "pad_edge": False, "header_style": "bold"}


@contextmanager
def json_alone(result: TaskResult, json: Path | None) -> Iterator[None]:
    """With --json -, what is printed inside goes to stderr, and standard output is given the JSON alone."""
    if json != STDOUT:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield
    typer.echo(result.as_json())


def show(
    result: TaskResult,
    *,
    source: Path | str | None = None,
    tables: Sequence[str] = (),
    json: Path | None = None,
    html: Path | None = None,
) -> None:
    """Print a result and write the files asked for.

    Args:
        result: of a task.
        source: what the user named; the folder of a run also gets the result, for its page.
        tables: names of those to print in full, before the headline numbers.
        json: file for the result; that of standard output is left to `json_alone`.
        html: file for its page.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console()
    about = f"{result.task}: {result.source}" + (f" on {result.world}" if result.world else "")
    console.print(about, style="bold", highlight=False, markup=False)
    for name in tables:
        rows = result.tables.get(name, [])
        if rows:
            table = Table(title=name, title_justify="left", **PLAIN)
            for column in rows[0]:
                numeric = isinstance(rows[0][column], int | float)
                table.add_column(column, justify="right" if numeric else "left", overflow="fold")
            for row in rows:
                table.add_row(*(_cell(cell) for cell in row.values()))
            console.print(table)
    table = Table(show_header=False, **PLAIN)
    table.add_column()
    table.add_column(justify="right")
    for name, value in result.values.items():
        table.add_row(name, _cell(value))
    console.print(table)
    for note in result.notes:
        console.print(note, style="dim", highlight=False, markup=False)
    if source:
        _keep(Path(source), result)
    if json is not None and json != STDOUT:
        typer.echo(result.write(json))
    if html is not None:
        from unknot.reports.task_page import write_task_page

        typer.echo(write_task_page(html, [result]))


def _keep(source: Path, result: TaskResult) -> None:
    """Write the result of a run to its folder; where that cannot be written, the result is not lost over it."""
    from unknot.runs.run import Run
    from unknot.tasks.kept_results import keep_result

    run = Run.at(source)
    if not run.begun:
        return
    try:
        typer.echo(f"{keep_result(run, result)} (shown by unknot report {run.folder})")
    except (UnknotError, OSError) as error:
        typer.echo(f"unknot: the result is not kept with the run: {error}", err=True)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.3f}"
    return "-" if value is None else str(value)
