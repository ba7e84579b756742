"""`unknot leaderboard`: published R² beside one's own."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.reports.kit.terminal import plain_table

if TYPE_CHECKING:
    from unknot.reports.leaderboard import BoardEntry

FORMATS = ("csv", "markdown", "latex", "json")


def leaderboard(
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="JSON files of `unknot task generalisation`, folders of them, or studies."),
    ] = None,
    world: Annotated[str, typer.Option(help="Only this dataset; a rendered stand-in names its dataset too.")] = "",
    split: Annotated[str, typer.Option(help="Only this split.")] = "",
    published: Annotated[
        list[Path] | None,
        typer.Option(help="CSV of further published numbers: world,split,model,r2,source,note."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with figures of your own results.")] = None,
    form: Annotated[str, typer.Option("--format", help="csv, markdown, latex or json instead of a table.")] = "",
) -> None:
    """Show published R² on systematic splits beside your own results; rendered worlds are ranked apart."""
    from unknot.errors import UnknotError, unknown
    from unknot.reports.leaderboard import leaderboard, own_results

    if form and form not in FORMATS:
        raise unknown("format", form, FORMATS)
    own = own_results(results or [])
    board = leaderboard(own, world=world, split=split, more=published or [])
    if html is not None:
        from unknot.reports.task_page import write_task_page

        if not own:
            raise UnknotError("leaderboard: --html draws results of your own; name a file or a folder of them.")
        typer.echo(write_task_page(html, [result for result, _ in own]), err=True)
    if form:
        import pandas as pd

        from unknot.studies.results import formatted

        whose = ["own" if entry.own else "published" if entry.rank else "baseline" for entry in board]
        rows = pd.DataFrame(map(asdict, board)).assign(
            whose=whose, rank=[str(entry.rank or "") for entry in board]
        )
        columns = ["world", "split", "images", "rank", "model", "r2", "whose", "source", "note"]
        typer.echo(formatted(rows[columns], form), nl=False)
        return
    _show(board)


def _show(board: "list[BoardEntry]") -> None:
    from rich.console import Console
    from rich.text import Text

    from unknot.reports.leaderboard import MISSING

    console = Console()
    for world, split in dict.fromkeys((entry.world, entry.split) for entry in board):
        columns = ("", "model", "R² x 100", "images", "whose", "note")
        table = plain_table(*columns, right=["", "R² x 100"], title=f"{world}: {split}")
        for entry in board:
            if (entry.world, entry.split) == (world, split):
                style = "bold" if entry.own else "" if entry.rank else "dim"
                whose = "own" if entry.own else entry.source
                value = "-" if entry.r2 != entry.r2 else f"{100 * entry.r2:.1f}"
                cells = (str(entry.rank or ""), entry.model, value, entry.images, whose, entry.note)
                table.add_row(*(Text(cell, style=style) for cell in cells))
        console.print(table)
        console.print()
    console.print(Text(MISSING + " (--published FILE)", style="dim"))
