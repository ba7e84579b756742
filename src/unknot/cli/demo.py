"""`unknot demo`."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the page.")] = Path("demo"),
) -> None:
    """Render worlds, split them, score an example, and write one page."""
    from rich.console import Console

    from unknot.demo import demo

    console = Console()
    with console.status("starting") as status:
        page = demo(output, tell=status.update)
    console.print(f"wrote {page}", soft_wrap=True, highlight=False)
