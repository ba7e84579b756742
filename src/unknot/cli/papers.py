"""`unknot papers`: what to cite, what of it is here, and how to repeat it."""

from typing import Annotated

import typer

from unknot.cli.output import facts_table
from unknot.papers import PAPERS, Paper, find_paper
from unknot.reports.kit.terminal import plain_table


def papers(
    key: Annotated[str, typer.Argument(help="Show this one, such as duan2020.")] = "",
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print entries for a BibTeX file.")] = False,
) -> None:
    """List the papers behind metrics, models and tasks, or show one: citation, what of it is here, commands."""
    chosen = [find_paper(key)] if key else list(PAPERS.values())
    if bibtex:
        typer.echo("\n\n".join(paper.bibtex for paper in chosen))
    elif key:
        _show(chosen[0])
    else:
        _list(chosen)


def _list(chosen: list[Paper]) -> None:
    from rich.console import Console

    table = plain_table("paper", "title", "question", whole=["paper"])
    for paper in chosen:
        table.add_row(paper.key, paper.title, paper.question)
    console = Console()
    console.print(table)
    console.print("unknot papers NAME shows one, --bibtex prints citations.", style="dim")


def _show(paper: Paper) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(Text(paper.title, style="bold"))
    facts = {
        "citation": paper.citation,
        "question": paper.question,
        "metrics": ", ".join(paper.metrics),
        "models": ", ".join(paper.models),
        "tasks": ", ".join(paper.tasks),
        "worlds": ", ".join(paper.worlds),
        "also": ", ".join(f"unknot {command}" for command in paper.commands),
        "full size": paper.full,
        "in small": paper.small,
        "measured": f"{', '.join(f'make reproduce PART={part}' for part in paper.parts)}; see docs/results.md",
    }
    console.print(facts_table(facts))
