"""`unknot explore`: sliders on the latents of a run, the runs of a study, or a file of latents, in the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unknot.cli.options import DATA, DEVICE, FACTORS, GAPS, JOIN, LATENTS, argument, option, takes
from unknot.cli.output import echo
from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.reports.explorer.server import Explorer

WORLD = "Where the images of a file's rows are; where it says it comes from if left out."
COLUMNS = ("latents", "factors", "join", "missing")  # options that choose columns of a file


@dataclass(frozen=True)
class ExploreOptions:
    """What is shown, and where."""

    folder: Path = argument("The folder of a run or of a study, or a file of latents.")
    factors_file: Path | None = argument("Factors of a file of latents, if in another.", None)
    port: int = option(0, "Of the page; one that is free if left out.")
    browser: bool = option(True, "Open the page.", "--browser/--no-browser")
    device: str = option("cpu", DEVICE)
    world: str = option("", WORLD)
    data: Path | None = option(None, DATA)
    latents: Sequence[str] = option((), LATENTS, "--latents,")
    factors: Sequence[str] = option((), FACTORS, "--factors,")
    join: str = option("", JOIN)
    missing: Sequence[str] = option((), GAPS, "--missing,")


@takes(ExploreOptions)
def explore(options: ExploreOptions) -> None:
    """Move the latents of a run and see what its decoder makes of them; or look at a study, or at a file of latents."""
    import threading
    import webbrowser

    from unknot.examples import located
    from unknot.processes.threads import threads_of_torch

    place = located(options.folder)
    of_files = {name: getattr(options, name) for name in ("factors_file", "world", *COLUMNS)}
    given = [name for name, value in of_files.items() if value]
    if place.is_file() or (place.suffix and not place.exists()):
        explorer = _latents(options, place)
    elif given:
        what = "a file of factors" if given[0] == "factors_file" else f"--{given[0]}"
        raise UnknotError(f"explore: {what} is for a file of latents, and {options.folder} is none.")
    else:
        explorer = _models(place, options.device, options.data, options.port)
    with explorer as server, threads_of_torch(1):
        echo(server.address)
        echo("unknot: served to this machine alone; Ctrl-C ends it.", err=True)
        if options.browser:
            # Some browsers are programs of the terminal, and return when they are closed.
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            echo("unknot: ended.", err=True)


def _latents(options: ExploreOptions, file: Path) -> "Explorer":
    from unknot.reports.explorer.latents import ExploredLatents, latents_place
    from unknot.reports.explorer.server import Explorer
    from unknot.representation import from_table, read_representation

    columns = {name: value for name in COLUMNS if (value := getattr(options, name))}
    if columns:
        representation = from_table(file, options.factors_file, **columns)
    else:
        representation = read_representation(file, options.factors_file)
    explored = ExploredLatents(representation, world=options.world or None, data=options.data)
    return Explorer(latents_place(explored, file.name), options.port)


def _models(folder: Path, device: str, data: Path | None, port: int) -> "Explorer":
    from unknot.reports.explorer.server import Explorer, explored_place
    from unknot.runs.run import Run

    if (folder / "study.json").is_file():
        from unknot.reports.explorer.study import StudyExplorer
        from unknot.studies.folder import StudyFolder

        return StudyExplorer(StudyFolder(folder), port, device=device, data=data)
    from unknot.reports.explorer.drawing import ExploredRun

    return Explorer(explored_place(ExploredRun(Run(folder), device=device, data=data)), port)
