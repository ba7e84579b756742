"""`unknot explore`: sliders on the latents of a run, or the runs of a study, in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.options import DATA, DEVICE
from unknot.cli.output import echo


def explore(
    folder: Annotated[Path, typer.Argument(help="The folder of a run or of a study.")],
    port: Annotated[int, typer.Option(help="Of the page; one that is free if left out.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    device: Annotated[str, typer.Option(help=DEVICE)] = "cpu",
    data: Annotated[Path | None, typer.Option(help=DATA)] = None,
) -> None:
    """Move the latents of a run and see what its decoder makes of them, or choose among the runs of a study."""
    import threading
    import webbrowser

    from unknot.processes.threads import threads_of_torch
    from unknot.reports.explorer.server import Explorer, explored_place
    from unknot.runs.run import Run

    if (folder / "study.json").is_file():
        from unknot.reports.explorer.study import StudyExplorer
        from unknot.studies.folder import StudyFolder

        explorer: Explorer = StudyExplorer(StudyFolder(folder), port, device=device, data=data)
    else:
        from unknot.reports.explorer.drawing import ExploredRun

        explorer = Explorer(explored_place(ExploredRun(Run(folder), device=device, data=data)), port)
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
