"""`unknot explore`: sliders on the latents of a run, the runs of a study, or a file of latents, in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import DATA, DEVICE
from unknot.cli.output import echo
from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.reports.explorer.server import Explorer

WORLD = "Where the images of a file's rows are; where it says it comes from if left out."


def explore(
    folder: Annotated[Path, typer.Argument(help="The folder of a run or of a study, or a file of latents.")],
    factors_file: Annotated[
        Path | None, typer.Argument(help="Factors of a file of latents, if in another.")
    ] = None,
    port: Annotated[int, typer.Option(help="Of the page; one that is free if left out.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    device: Annotated[str, typer.Option(help=DEVICE)] = "cpu",
    world: Annotated[str, typer.Option(help=WORLD)] = "",
    data: Annotated[Path | None, typer.Option(help=DATA)] = None,
) -> None:
    """Move the latents of a run and see what its decoder makes of them; or look at a study, or at a file of latents."""
    import threading
    import webbrowser

    from unknot.examples import located
    from unknot.processes.threads import threads_of_torch

    place = located(folder)
    if place.is_file() or (place.suffix and not place.exists()):
        explorer = _latents(place, factors_file, world, data, port)
    elif factors_file is not None or world:
        what = "a file of factors" if factors_file is not None else "--world"
        raise UnknotError(f"explore: {what} is for a file of latents, and {folder} is none.")
    else:
        explorer = _models(place, device, data, port)
    with explorer as server, threads_of_torch(1):
        echo(server.address)
        echo("unknot: served to this machine alone; Ctrl-C ends it.", err=True)
        if browser:
            # Some browsers are programs of the terminal, and return when they are closed.
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            echo("unknot: ended.", err=True)


def _latents(file: Path, factors: Path | None, world: str, data: Path | None, port: int) -> "Explorer":
    from unknot.reports.explorer.latents import ExploredLatents, latents_place
    from unknot.reports.explorer.server import Explorer
    from unknot.representation import read_representation

    explored = ExploredLatents(read_representation(file, factors), world=world or None, data=data)
    return Explorer(latents_place(explored, file.name), port)


def _models(folder: Path, device: str, data: Path | None, port: int) -> "Explorer":
    from unknot.reports.explorer.server import Explorer, explored_place
    from unknot.runs.run import Run

    if (folder / "study.json").is_file():
        from unknot.reports.explorer.study import StudyExplorer
        from unknot.studies.folder import StudyFolder

        return StudyExplorer(StudyFolder(folder), port, device=device, data=data)
    from unknot.reports.explorer.drawing import ExploredRun

    return Explorer(explored_place(ExploredRun(Run(folder), device=device, data=data)), port)
