"""A paper on a page and in the terminal: its claims and how firm they are, its tables, what comes out of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from unknot.papers import Paper, PublishedTable, tables
from unknot.reports.kit.page import Cell, Command, Grid, Link, Section, number, write_page
from unknot.reports.kit.terminal import plain_table
from unknot.reports.papers import recompute
from unknot.reports.papers.figures import own_sections
from unknot.reports.papers.recomputed import Claim, Recomputed, grid

STYLES = {"holds": "green", "holds in part": "yellow", "does not hold": "red", "cannot be checked": "dim"}


def write_paper_page(path: Path | str, paper: Paper, own: Sequence[Path | str] = ()) -> Path:
    """Write one page: claims, figures of one's own work, what comes out of the tables, and all of them as printed.

    Args:
        path: of the page.
        paper: which.
        own: folders of studies and runs, and results of tasks, from which its tables and figures are made anew.
    """
    outcome = recompute(paper.key)
    lead = f"{paper.citation}. {paper.question}"
    made = _own(paper, own) if own else []
    return write_page(path, paper.title, lead, [_claims(paper, outcome), *made, *outcome.sections, _tables(paper)])


def show_claims(paper: Paper, console: Console) -> None:
    """Print each claim with its verdict and why."""
    for claim in recompute(paper.key).claims:
        console.print(_claim(claim))


def show_recomputed(paper: Paper, console: Console) -> None:
    """Print the claims, and the sections that show what they rest on; tables that a page folds are left out."""
    outcome = recompute(paper.key)
    console.print(Text(paper.title, style="bold"))
    for claim in outcome.claims:
        console.print(_claim(claim))
    _show(outcome.sections, console)


def show_own(paper: Paper, own: Sequence[Path | str], console: Console) -> None:
    """Print the tables of a paper made anew from one's own work; charts and pictures are for a page."""
    _show(own_sections(paper.key, own), console)


def _show(sections: Sequence[Section], console: Console) -> None:
    for section in sections:
        console.print(Text(f"\n{section.title}", style="bold cyan"))
        console.print(Group(*_lines(section)))


def _own(paper: Paper, own: Sequence[Path | str]) -> list[Section]:
    """The figures of one's own work, after the command that makes them."""
    named = [word for path in own for word in ("--study", str(path))]
    again = Command(
        ("unknot", "papers", paper.key, *named, "--html", "page.html"), "These tables and figures again"
    )
    words = "Tables and figures of the paper, made from one's own work, beside what is published of them."
    return [Section("From one's own work", [words], [again]), *own_sections(paper.key, own)]


def _claims(paper: Paper, outcome: Recomputed) -> Section:
    texts = ["What the paper says, in our words, and what its own tables say when they are recomputed."]
    again = Command(("unknot", "papers", paper.key, "--recompute", "--html", "page.html"), "This page again")
    claims = [
        Section(f"{claim.verdict}: {claim.text}", [f"{claim.why} ({claim.where})"], open=True)
        for claim in outcome.claims
    ]
    return Section("How firm is each claim?", texts, [again], claims)


def _tables(paper: Paper) -> Section:
    listed: list[list[Cell]] = []
    parts = []
    for name, published in tables(paper.key).items():
        rows = published.read().drop(columns="source")
        cells = grid(rows.drop(columns="unit") if published.unit else rows, _under(published), name)
        part = Section(f"{name}: {published.caption}", [], [cells], name=name)
        listed.append([Link(name, part.anchor), published.where, published.caption])
        parts.append(part)
    texts = [
        "Numbers as printed; `doubt` says what the paper contradicts or leaves open, or how a garbled cell was "
        "read."
    ]
    return Section("The tables", texts, [Grid(("table", "where", "what it holds"), listed)], parts)


def _under(published: PublishedTable) -> str:
    """Where a table stands, in which unit, and what follows ±."""
    spread = f"± {published.spread}" if published.spread else ""
    return "; ".join(filter(None, (published.source, published.unit, spread))) + "."


def _claim(claim: Claim) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=17)
    table.add_column()
    said = Text.assemble(claim.text, (f"  ({claim.where})", "dim"))
    table.add_row(Text(claim.verdict, style=STYLES[claim.verdict]), said)
    table.add_row("", Text(claim.why, style="dim"))
    return table


def _lines(section: Section) -> Iterator[Text | Table]:
    for paragraph in section.paragraphs:
        yield Text(paragraph)
    for content in section.contents:
        if isinstance(content, Grid):
            yield _table(content)


def _table(shown: Grid) -> Table:
    columns = zip(shown.header, zip(*shown.rows, strict=True), strict=True)
    numbers = [head for head, column in columns if any(isinstance(cell, int | float) for cell in column)]
    table = plain_table(*shown.header, right=numbers, title=shown.caption)
    for row in shown.rows:
        table.add_row(*(Text(_words(cell)) for cell in row))
    return table


def _words(cell: Cell) -> str:
    if cell is None:
        return "-"
    return number(cell) if isinstance(cell, int | float) else str(cell)
