"""`unknot task`: what can be done with a representation."""

import typer

app = typer.Typer(help="What can be done with a representation?", no_args_is_help=True)
