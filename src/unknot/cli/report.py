"""`unknot report`: a study or a run as one page."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.output import echo
from unknot.errors import UnknotError


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a study, or of a run.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page; report.html in the folder if left out.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Of a study, show so many runs in full; all are in its tables.")] = 24,
) -> None:
    """Write one HTML page that needs no network: scores, settings, rankings, correlations, pictures."""
    from unknot.examples import located
    from unknot.runs.run import Run

    folder = located(folder)
    page = output or folder / "report.html"
    if (folder / "study.json").is_file():
        from unknot.reports.study_page import write_study_page

        write_study_page(page, folder, shown=runs)
    elif Run.at(folder).begun:
        from unknot.reports.run_page import write_run_page

        write_run_page(page, folder)
    else:
        raise UnknotError(
            f"{folder}: is neither a study (study.json) nor a run (run.json); name the folder of one."
        )
    echo(page)
