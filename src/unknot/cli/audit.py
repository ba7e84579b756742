"""`unknot audit`: everything that can be asked of encoders, as one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unknot.audits import PARTS
from unknot.cli.bar import progress_bar
from unknot.cli.options import DATA, DEVICE, argument, option, takes
from unknot.cli.output import echo, plain_console, stoppable
from unknot.errors import must_have

COLUMN = 15  # characters of a table for each encoder; names that are longer go on in the next line


@dataclass(frozen=True)
class Request:
    """Who is asked, what, and where the answers go."""

    encoders: list[str] = argument(
        "Runs, zoo:NAME, package.module:function, timm:NAME, hf:NAME, or a fitted pipeline (.skops)."
    )
    world: str = option("", "Whose factors are asked for; that of the first run, or else shapes3d_rendered.")
    parts: Sequence[str] = option(PARTS, "Ask only these.", "--parts,")
    rows: int = option(3_000, "Images that factors are read from.")
    combinations: int = option(3, "Combinations that are left out, one after the other.")
    points: int = option(30, "Images that sensitive factors are changed in.")
    tuples: int = option(128, "Tuples of scenes, for COAT.")
    floors: bool = option(True, "Also ask pixels, a random projection and untrained twins.")
    seed: int = option(0, "Decides rows, readers and draws.")
    output: Path = option(
        Path("audit"), "Folder of the page, codes and answers: the same command goes on.", "--output", "-o"
    )
    layers: Sequence[str] = option(
        (), "Layers of networks, as their named_modules call them; the last one if left out.", "--layers,"
    )
    pools: Sequence[str] = option((), "Poolings of networks: own, mean, class, slots.", "--pools,")
    resamples: int = option(100, "Of rows, for intervals and places.")
    image_size: int | None = option(None, "For timm and hf: resize images to so many pixels.")
    device: str = option("cpu", DEVICE)
    data: Path | None = option(None, DATA)


@takes(Request)
def audit(request: Request) -> None:
    """Ask encoders everything: what they know of each factor, and what it is good for, beside pixels."""
    must_have("the audit", "jinja2")
    from rich.text import Text

    from unknot.audits.audit import AuditOptions, audit
    from unknot.encoders.encoder import Opening
    from unknot.reports.audit_page import refusals, summary_rows, write_audit_page
    from unknot.reports.kit.terminal import plain_table

    same = ("parts", "rows", "combinations", "points", "tuples", "floors", "resamples", "layers", "pools", "seed")
    options = AuditOptions(**{name: vars(request)[name] for name in same})
    opening = Opening(request.device, request.data, image_size=request.image_size)
    with stoppable("interrupted; the same command goes on."), progress_bar() as progress:
        result = audit(
            request.encoders,
            request.world,
            options=options,
            folder=request.output,
            opening=opening,
            progress=progress,
        )
    heads, every = summary_rows(result)
    console = plain_console()
    fit = max(1, (console.width - max(map(len, heads))) // COLUMN)
    for first in range(0, len(every), fit):
        rows = every[first : first + fit]
        names = [str(row[0]) for row in rows]  # a column each, since questions are many
        table = plain_table("", *names, right=names, whole=("",), fold=names)
        for i, head in enumerate(heads[1:], start=1):
            table.add_row(head, *(Text(_shown(row[i])) for row in rows))
        console.print(table)
    for sentence in refusals(result):
        console.print(Text(f"not answered: {sentence}", style="dim"))
    echo(write_audit_page(request.output / "audit.html", result))


def _shown(cell: object) -> str:
    return "-" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell)
