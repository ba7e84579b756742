"""`unknot papers`: what to cite, what is claimed and how firmly, the published numbers, and how to repeat them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unknot.cli.options import CSV, argument, option, takes
from unknot.cli.output import check_targets, echo, facts_table, plain_console, put
from unknot.errors import UnknotError
from unknot.files import as_json
from unknot.papers import PAPERS, Paper, find_paper, table, tables
from unknot.reports.kit.terminal import plain_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Asked:
    """What `unknot papers` is asked for."""

    key: str = argument("Show this one, such as duan2020.", "")
    table: str = option("", "Print a published table of the paper, such as table5.", "--table")
    csv: str = option("", CSV, "--csv")
    json: str = option(
        "", "Write the table, or else facts and claims, to this file; - for standard output.", "--json"
    )
    recompute: bool = option(False, "Recompute its tables, and say how firm each claim is.", "--recompute")
    study: Sequence[Path] = option(
        (),
        "Make its tables and figures from this study; or from a run, or a result of a task. May be repeated.",
        "--study",
    )
    html: Path | None = option(None, "Write a page of claims, recomputed tables and published ones.", "--html")
    bibtex: bool = option(False, "Print entries for a BibTeX file.", "--bibtex")


@takes(Asked)
def papers(asked: Asked) -> None:
    """List the papers behind metrics, models and tasks, or show one: claims, tables, what of it is here, commands."""
    chosen = [find_paper(asked.key)] if asked.key else list(PAPERS.values())
    _must_fit(asked)
    if asked.bibtex:
        typer.echo("\n\n".join(paper.bibtex for paper in chosen))
    elif asked.table:
        _table(chosen[0], asked)
    elif asked.json:
        put(asked.json, as_json([_record(paper) for paper in chosen]))
    elif asked.recompute or asked.html or asked.study:
        _recompute(chosen[0], asked)
    elif asked.key:
        _show(chosen[0])
    else:
        _list(chosen)


def _must_fit(asked: Asked) -> None:
    wants = {"--table": asked.table, "--recompute": asked.recompute, "--html": asked.html, "--study": asked.study}
    for name, value in wants.items():
        if value and not asked.key:
            raise UnknotError(f"papers: {name} is of one paper; name it: {', '.join(PAPERS)}.", field="key")
    if asked.csv and not asked.table:
        raise UnknotError("papers: --csv writes a table; name it, such as --table table1.", field="table")
    check_targets([], {"--csv": asked.csv, "--json": asked.json})


def _table(paper: Paper, asked: Asked) -> None:
    rows = table(paper.key, asked.table)
    if asked.csv:
        put(asked.csv, rows.to_csv(index=False))
    if asked.json:
        put(asked.json, str(rows.to_json(orient="records", indent=1, force_ascii=False)) + "\n")
    if not (asked.csv or asked.json):
        _print_table(paper, asked.table, rows)


def _print_table(paper: Paper, name: str, rows: "pd.DataFrame") -> None:
    from rich.text import Text

    published, console = tables(paper.key)[name], plain_console()
    console.print(Text(f"{published.source}: {published.caption}", style="bold"))
    about = {"unit": published.unit, "±": published.spread, "doubts": f"{int((rows['doubt'] != '').sum())} cells"}
    console.print(facts_table(about))
    aside = {"source", "doubt", "unit" if published.unit else ""}
    columns = [str(column) for column in rows if column not in aside and (rows[column] != "").any()]
    numbers = [name for name in columns if rows[name].dtype.kind in "if"]
    shown = plain_table(*columns, "doubt", right=numbers, fold=columns)
    doubts = {doubt: f"[{i}]" for i, doubt in enumerate(filter(None, dict.fromkeys(rows["doubt"])), start=1)}
    for *cells, doubt in rows[[*columns, "doubt"]].itertuples(index=False, name=None):
        shown.add_row(*(Text("" if cell != cell else f"{cell}") for cell in cells), Text(doubts.get(doubt, "")))
    console.print(shown)
    console.print(facts_table({number: doubt for doubt, number in doubts.items()}))


def _record(paper: Paper) -> dict[str, Any]:
    from unknot.reports.papers import recompute

    listed = {name: {"where": each.where, "caption": each.caption} for name, each in tables(paper.key).items()}
    claims = [asdict(claim) for claim in recompute(paper.key).claims]
    return asdict(paper) | {"citation": paper.citation, "claims": claims, "tables": listed}


def _recompute(paper: Paper, asked: Asked) -> None:
    from unknot.reports.papers.page import show_own, show_recomputed, write_paper_page

    if asked.html:
        echo(write_paper_page(asked.html, paper, asked.study))
    elif asked.study:
        show_own(paper, asked.study, plain_console())
    if asked.recompute:
        show_recomputed(paper, plain_console())


def _list(chosen: list[Paper]) -> None:
    shown = plain_table("paper", "title", "question", "tables", whole=["paper"], right=["tables"])
    for paper in chosen:
        shown.add_row(paper.key, paper.title, paper.question, str(len(tables(paper.key))))
    console = plain_console()
    console.print(shown)
    hint = "unknot papers NAME shows one and how firm its claims are, --table its numbers, --bibtex the citation."
    console.print(hint, style="dim")


def _show(paper: Paper) -> None:
    from rich.text import Text

    from unknot.reports.papers.page import show_claims

    console = plain_console()
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
    console.print(Text("\nIts claims, by its own tables", style="bold"))
    show_claims(paper, console)
    console.print(Text("\nIts tables", style="bold"))
    console.print(facts_table({name: published.caption for name, published in tables(paper.key).items()}))
    hint = (
        f"unknot papers {paper.key} --table NAME prints one, --recompute shows what comes out, --html as a page."
    )
    console.print(Text(f"\n{hint}", style="dim"))
