"""The one bar of the command line."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from unknot.cli.output import echo, plain_console
from unknot.progress import Progress

EVERY = 30  # seconds between two lines where there is no bar
RATE = "_per_second"


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """What long work is given to say how far it is: a bar on stderr, begun anew with every stage.

    Where stderr is no terminal there is a line for each stage, and one now and then.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = plain_console(err=True)
    if not console.is_terminal:
        yield _lines()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
    )
    with Bar(*columns, console=console, transient=True, refresh_per_second=4) as bar:
        task = bar.add_task("", visible=False, facts="")
        shown: tuple[str, int] = "", 0

        def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
            nonlocal shown
            if stage != shown[0] or done < shown[1]:
                bar.reset(task, description=stage, completed=done, total=total or None, visible=True)
            shown = stage, done
            bar.update(task, completed=done, total=total or None, facts=in_words(facts))

        yield progress


def _lines() -> Progress:
    """Progress as lines of a log."""
    shown, since = "", 0.0

    def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
        nonlocal shown, since
        now = time.monotonic()
        if stage != shown:
            echo(stage, err=True)
        elif now - since >= EVERY:
            echo(f"{stage}: {done} of {total}  {in_words(facts)}".rstrip(), err=True)
        else:
            return
        shown, since = stage, now

    return progress


def in_words(facts: Mapping[str, Any]) -> str:
    """What is known besides how far it is.

    >>> in_words({"metric": "mig[bins=20]", "loss": 123.456, "images_per_second": 512.3})
    'mig[bins=20]  loss 123.5  512 images/s'
    """
    words = []
    for name, value in facts.items():
        if isinstance(value, str):
            words.append(value)
        elif name.endswith(RATE):
            words.append(f"{value:.0f} {name.removesuffix(RATE)}/s")
        else:
            words.append(f"{name} {value:.4g}")
    return "  ".join(words)
