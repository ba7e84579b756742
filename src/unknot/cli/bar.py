"""The one bar that shows how far long work is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from unknot.progress import Progress

EVERY = 30.0  # seconds between two lines where there is no terminal


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on stderr for the stage under way; where that is no terminal, a line for each stage and now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        line = bar.add_task("", total=None, facts="")
        now, told = "", 0.0

        def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
            nonlocal now, told
            words = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in facts.items())
            if stage != now:  # a new bar, so that the time left is that of this stage
                bar.reset(line, description=stage, total=total, completed=done)
            bar.update(line, completed=done, total=total, facts=words)
            if not console.is_terminal and (stage != now or time.monotonic() - told > EVERY):
                typer.echo(stage if stage != now else f"{stage}: {done} of {total} {words}".rstrip(), err=True)
                told = time.monotonic()
            now = stage

        yield progress


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
