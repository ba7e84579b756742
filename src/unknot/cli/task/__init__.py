"""`unknot task`: what can be done with a representation. Each command is made of the declaration of its task."""

from typing import Any

import typer
from typer.core import TyperGroup


class _Tasks(TyperGroup):
    """Commands that are made when one of them is asked for, so that others start at once."""

    def list_commands(self, ctx: Any) -> list[str]:
        from unknot.tasks import TASKS

        return list(TASKS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from unknot.cli.task.command import command_of
        from unknot.tasks import TASKS

        return command_of(TASKS[cmd_name]) if cmd_name in TASKS else None


app = typer.Typer(help="What can be done with a representation?", no_args_is_help=True, cls=_Tasks)


@app.callback()
def _task() -> None:
    pass
