"""What tasks with several stages share: a bar that says what is being done, and how rows are asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from unknot.errors import UnknotError


def rows_or_all(who: str, text: str) -> Any:
    """A number of rows, or the word all."""
    if text == "all":
        return text
    if not text.isdigit() or int(text) < 1:
        raise UnknotError(f"{who}: --rows is '{text}'; expected a number above 0, or all.")
    return int(text)


@contextmanager
def progress_bar() -> Iterator[dict[str, Any]]:
    """What a task is given as `watch` and `say`: a bar on stderr; where that is no terminal, a line for each stage."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def watch(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        def say(stage: str) -> None:
            bar.reset(task, description=stage, total=None)
            if not console.is_terminal:
                typer.echo(stage, err=True)

        yield {"watch": watch, "say": say}
