"""What commands print and where they write: facts, files, standard output, words after Ctrl-C."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unknot.errors import UnknotError, must_have
from unknot.reading.names import ERRORS, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from unknot.runs.run import Run


def plain_console(*, err: bool = False) -> "Console":
    """Where tables are printed, on standard output or on standard error. Names from data are only words."""
    from rich.console import Console

    from unknot.cli.words import AsWords

    console = Console(stderr=err, markup=False, emoji=False, highlight=False)
    console.push_render_hook(AsWords())
    return console


def echo(text: object, *, err: bool = False) -> None:
    """Print a line for people; a path that another program reads stays as it is."""
    for_people = err or sys.stdout.isatty()
    typer.echo(visible(str(text)) if for_people else str(text), err=err)


def facts_table(facts: Mapping[str, str]) -> "Table":
    """Names and texts side by side, long texts in their column; what is empty is left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column()
    for name, text in facts.items():
        if text:
            table.add_row(name, Text(text))
    return table


@contextmanager
def stoppable(text: str) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM carry a sentence that says what is kept: that of the work itself, or this."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(*(stop.args or [text])) from None


def keep_with_run(run: "Run", what: str, keep: Callable[[], Path], *, err: bool) -> None:
    """Write something to the folder of its run; where that cannot be written, it is not lost over it."""
    try:
        echo(f"{keep()} (shown by unknot report {run.folder})", err=err)
    except (UnknotError, OSError) as error:
        echo(f"unknot: {what} not kept with the run: {error}", err=True)


def check_targets(inputs: Sequence[Path | None], targets: Mapping[str, Path | str | None]) -> None:
    """Refuse to write over what is read, or to write two things to one place."""
    read = {path.resolve() for path in inputs if path is not None}
    taken: dict[Path | str, str] = {}
    for option, target in targets.items():
        if not target:
            continue
        if option == "--html":
            must_have(option, "jinja2")
        place = "-" if target == "-" else Path(target).resolve()
        if place in read:
            raise UnknotError(f"{option} {target}: is an input, which would be overwritten; name another file.")
        if place in taken:
            where = "standard output" if place == "-" else str(target)
            raise UnknotError(
                f"{taken[place]} and {option} both write to {where}; give one of them a file of its own."
            )
        taken[place] = option


def put(target: str, text: str) -> None:
    """Write to a file, or to standard output for "-"."""
    from unknot.files import written_whole

    if target == "-":
        typer.echo(text, nl=False)
        return
    with written_whole(target) as beside:
        beside.write_text(text, encoding="utf-8", errors=ERRORS)
