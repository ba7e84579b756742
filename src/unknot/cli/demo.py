"""`unknot demo`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unknot.cli.output import echo, plain_console, stoppable
from unknot.errors import must_have


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the page and the study.")] = Path(
        "demo"
    ),
    study: Annotated[str, typer.Option(help="Another study than the one that ships.")] = "demo",
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; one for each core if left out.")] = None,
) -> None:
    """Run a small study, score an example, look at worlds, and write one page."""
    must_have("the demo", "torch", "jinja2")
    from unknot.reports.demo import demo
    from unknot.studies.live import shown

    console = plain_console(err=True)

    def stage(name: str, done: int, total: int, /, **facts: Any) -> None:
        console.print(name)  # a line each: the study has a display of its own

    with stoppable(f"{output}: stopped; the same command goes on."):
        page = demo(output, study=study, jobs=jobs, progress=stage, live=lambda: shown(console))
    echo(page)
