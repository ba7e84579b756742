"""What --help says of every command is what it said: the texts in goldens/help, wrapped for 100 columns.

UNKNOT_WRITE_GOLDENS=1 writes them anew, for a text that is changed on purpose.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from unknot.cli import app

TEXTS = Path(__file__).parent / "goldens" / "help"


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, TyperGroup):
        context = command.context_class(command)
        for name in command.list_commands(context):  # made when they are asked for
            yield from _commands(command.get_command(context, name), (*words, name))


# What `unknot task` says is made of declarations: see tests/tasks/test_common.py.
COMMANDS = {"-".join(("unknot", *words)): words for words in _commands(get_command(app)) if "task" not in words}


def _normal(text: str) -> str:
    """A text with white space, which frames are drawn through, made one space; the lines stay."""
    return "".join(f"{' '.join(re.sub('─+', '─', line).split())}\n" for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_text_is_what_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 100)  # which the environment may have set,
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", False)  # as well as this
    plain = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})
    done = plain.invoke(app, [*COMMANDS[name], "--help"], prog_name="unknot", catch_exceptions=False)
    assert done.exit_code == 0
    found, file = _normal(done.stdout), TEXTS / f"{name}.txt"
    if os.environ.get("UNKNOT_WRITE_GOLDENS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found.split() == file.read_text(encoding="utf-8").split()


def test_every_stored_text_is_of_a_command() -> None:
    assert {path.stem for path in TEXTS.iterdir()} == set(COMMANDS)
