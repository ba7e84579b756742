"""`unknot task`: what can be done with a representation."""

import typer

from unknot.cli.task.algebra import algebra
from unknot.cli.task.combinations import MODEL_OPTIONS, combinations
from unknot.cli.task.fairness import fairness
from unknot.cli.task.generalisation import generalisation
from unknot.cli.task.reasoning import reasoning

app = typer.Typer(help="What can be done with a representation?", no_args_is_help=True)
app.command(context_settings=MODEL_OPTIONS)(combinations)
app.command()(generalisation)
app.command()(fairness)
app.command()(reasoning)
app.command()(algebra)
