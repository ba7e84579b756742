"""What is shown while a study runs: a live table on a terminal, else a line for each step that ended."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unknot.progress import Progress
from unknot.studies.estimate import in_words
from unknot.studies.steps import KINDS
from unknot.studies.study import StudyState

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 8  # steps under way that are listed
REFRESH = 0.5  # seconds


@contextmanager
def shown(console: "Console") -> Iterator[Progress]:
    """Show the progress of `run_study` while the block lasts."""
    if not console.is_terminal:

        def lines(stage: str, done: int, total: int, /, **facts: Any) -> None:
            state: StudyState = facts["state"]
            if state.event:
                console.print(f"{done}/{total}  {state.event}", markup=False, highlight=False, soft_wrap=True)

        yield lines
        return
    from rich.live import Live

    last = 0.0
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def table(stage: str, done: int, total: int, /, **facts: Any) -> None:
            nonlocal last
            state: StudyState = facts["state"]
            if state.finished or time.monotonic() - last > REFRESH:
                last = time.monotonic()
                live.update(render(state), refresh=True)

        yield table


def render(state: StudyState) -> Any:
    """Stages with their bars, the steps under way, and what failed."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    stages = Table(box=None, pad_edge=False, show_header=False)
    for kind in KINDS:
        done, total = state.done[kind], state.total[kind]
        if total:
            running = sum(step.kind == kind for step in state.running)
            stages.add_row(
                kind, ProgressBar(total=total, completed=done, width=30), f"{done}/{total}", f"{running} running"
            )
    under_way = Table(box=None, pad_edge=False, show_header=False)
    for step, how_far in list(state.running.items())[:SHOWN]:
        share = f"{how_far[0]:,} of {how_far[1]:,}" if how_far else ""
        under_way.add_row(Text(step.kind, style="cyan"), Text(step.title), Text(share, style="dim"))
    words = [f"{in_words(state.seconds)} so far"]
    if state.trained and state.untrained > 0:
        words.append(f"training about {in_words(state.seconds * state.untrained / state.trained)} more")
    if state.retried:
        words.append(f"{state.retried} tried again")
    parts: list[Any] = [stages, under_way, Text(", ".join(words), style="dim")]
    for title, error, _ in state.failures[-3:]:
        parts.append(Text(f"failed: {title}: {error}", style="red"))
    return Group(*parts)
