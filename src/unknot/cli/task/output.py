"""What every task prints: its table, its headline numbers, its notes; and the files asked for."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unknot.encoders.source import Source
from unknot.errors import UnknotError, sentences
from unknot.files import json_hash
from unknot.tasks.kept_results import keep_result
from unknot.tasks.result import TaskResult
from unknot.tasks.task import Task

if TYPE_CHECKING:
    from rich.console import Console

STDOUT = Path("-")


def show(task: Task, result: TaskResult, *, json: Path | None = None) -> None:
    """Print a result, and write it to a file; with that file "-", standard output is given the JSON alone."""
    from rich.table import Table

    console = plain_console(json)
    about = f"{result.task}: {result.source}" + (f" on {result.world}" if result.world else "")
    console.print(about, style="bold", highlight=False)
    if any(result.tables.values()):
        console.print(task.table(result))
    headline = Table(show_header=False, box=None, pad_edge=False)
    headline.add_column()
    headline.add_column(justify="right")
    for name, value in result.values.items():
        headline.add_row(name, "-" if value != value else f"{value:.3f}")
    console.print(headline)
    for sentence in sentences(result.notes):
        console.print(sentence, style="dim", highlight=False)
    if json == STDOUT:
        typer.echo(result.as_json(), nl=False)
    elif json is not None:
        typer.echo(result.write(json))


def plain_console(json: Path | None) -> "Console":
    """Where tables are printed: beside a JSON on standard output, on standard error. Names from data are only words."""
    from rich.console import Console

    return Console(stderr=json == STDOUT, markup=False, emoji=False)


def result_file(folder: Path, result: TaskResult) -> Path:
    """A file of its own for each source, world and setting."""
    words = re.sub(r"\W+", "_", f"{result.task}-{Path(result.source).name}").strip("_")
    return folder / f"{words[:80]}-{json_hash([result.source, result.world, result.settings], 8)}.json"


def keep_with_run(source: Source, result: TaskResult) -> None:
    """Write a result to the folder of its run; where that cannot be written, the result is not lost over it."""
    if source.run is None:
        return
    try:
        typer.echo(f"{keep_result(source.run, result)} (shown by unknot report {source.run.folder})", err=True)
    except (UnknotError, OSError) as error:
        typer.echo(f"unknot: the result is not kept with the run: {error}", err=True)
