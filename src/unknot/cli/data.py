"""`unknot data`: worlds, their files, their splits."""

import typer

app = typer.Typer(no_args_is_help=True, help="Worlds with known factors: list, preview, split, download, check.")


@app.command("list")
def list_worlds() -> None:
    """Show every world: factors, sizes, licence, and whether its file is here."""
