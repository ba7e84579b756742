"""`unknot leaderboard`: published R² beside one's own."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.output import echo, plain_console
from unknot.reading.guard import parsing
from unknot.reports.kit.terminal import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from unknot.reports.leaderboard import BoardEntry

KINDS = ("random", "composition", "interpolation", "extrapolation")
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
        typer.Option(help="CSV of further published numbers: world,split,model,r2,source,note; spread if known."),
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
        sources = ", ".join(dict.fromkeys(each.source for each in own))
        with parsing(sources, "results that can be drawn", "unknot task makes them anew."):
            echo(write_task_page(html, [each.result for each in own]), err=True)
    if form:
        import pandas as pd

        from unknot.studies.results import formatted

        # Names of files may be no text, which the strings of pandas refuse.
        rows = (
            pd.DataFrame(map(asdict, board), dtype=object)
            .astype({"r2": float, "spread": float})
            .assign(
                whose=["own" if entry.own else "published" if entry.rank else "baseline" for entry in board],
                rank=[str(entry.rank or "") for entry in board],
                seeds=[str(entry.seeds or "") for entry in board],
            )
        )
        columns = ["world", "split", "images", "rank", "model", "r2", "spread", "seeds", "whose", "source", "note"]
        typer.echo(formatted(rows[columns], form), nl=False)
        return
    _show(board, whole=not split)


def _show(board: "list[BoardEntry]", *, whole: bool) -> None:
    from rich.text import Text

    console = plain_console()
    for world in dict.fromkeys(entry.world for entry in board):
        entries = [entry for entry in board if entry.world == world]
        sources = (
            "; ".join(dict.fromkeys(e.source for e in entries if not e.own and e.rank)) or "no published numbers"
        )
        if whole:
            console.print(_by_model(f"{world} ({sources})", entries))
        else:
            console.print(_by_rank(f"{world}, {entries[0].split} ({sources})", entries))
        noted = [entry for entry in entries if entry.note] if whole else []
        for entry in noted:
            console.print(Text(f"{entry.model}, {entry.split}: {entry.note}", style="dim"))
        console.print()
    console.print(Text("R² x 100 ± its spread. --split NAME ranks the models on one split.", style="dim"))


def _by_model(title: str, entries: "list[BoardEntry]") -> "Table":
    """One row a model, one column a split; the best over all its splits first."""
    from statistics import fmean

    from rich.text import Text

    splits = [name for name in KINDS if any(e.split == name for e in entries)]
    splits += sorted({e.split for e in entries} - set(KINDS))
    rows: dict[tuple[str, str, str], dict[str, BoardEntry]] = {}
    for entry in entries:
        rows.setdefault((entry.model, entry.images, entry.source if entry.own else ""), {})[entry.split] = entry
    table = plain_table("model", "images", *splits, right=splits, title=title)
    order = sorted(rows.items(), key=lambda item: ("rendered" in item[0][1], -fmean(_finite(item[1]))))
    for (model, images, _), cells in order:
        style = _style(next(iter(cells.values())))
        values = (_value(cells[name]) if name in cells else "" for name in splits)
        table.add_row(*(Text(text, style=style) for text in (model, images, *values)))
    return table


def _by_rank(title: str, entries: "list[BoardEntry]") -> "Table":
    """One row a number, the best first."""
    from rich.text import Text

    columns = ("", "model", "R² x 100", "images", "whose", "note")
    table = plain_table(*columns, right=["", "R² x 100"], title=title)
    for entry in entries:
        own = f"own, {entry.seeds} seed{'s' * (entry.seeds > 1)}"
        whose = own if entry.own else "published" if entry.rank else "computed"
        cells = (str(entry.rank or ""), entry.model, _value(entry), entry.images, whose, entry.note)
        table.add_row(*(Text(cell, style=_style(entry)) for cell in cells))
    return table


def _style(entry: "BoardEntry") -> str:
    return "bold" if entry.own else "" if entry.rank else "dim"


def _finite(cells: "Mapping[str, BoardEntry]") -> list[float]:
    return [entry.r2 for entry in cells.values() if entry.r2 == entry.r2] or [float("-inf")]


def _value(entry: "BoardEntry") -> str:
    if entry.r2 != entry.r2:
        return "-"
    return f"{100 * entry.r2:.1f}" + (f" ± {100 * entry.spread:.1f}" if entry.spread == entry.spread else "")
