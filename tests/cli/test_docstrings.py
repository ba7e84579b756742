"""Docstrings on terminals narrower than they were written for."""

import inspect

import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.cli.docstrings import reflowed
from unknot.models import MODELS

NARROW = CliRunner(env={"COLUMNS": "80"})


@pytest.mark.parametrize("name", MODELS)
def test_no_word_of_a_model_is_lost_and_no_line_is_too_long(name: str) -> None:
    doc = inspect.getdoc(MODELS[name]) or ""
    made = reflowed(doc, 80)
    assert all(len(line) <= 80 or " = " in line for line in made.splitlines())  # a formula stays as it is
    assert "|--" not in made
    if "|--" not in doc:
        assert made.split() == doc.split()


def test_paragraphs_are_filled_and_tables_become_lists() -> None:
    said = NARROW.invoke(app, ["models", "slot_attention"]).stdout
    assert "pixel. Slots start as mu + exp(log_sigma) noise" in said
    assert "- reference, 128 pixels (890,308 weights): the defaults\n" in said
    assert "| variant" not in said
    assert reflowed("", 80) == ""
    assert "its own\n" not in reflowed(inspect.getdoc(MODELS["pcl"]) or "", 80)


def test_paragraphs_of_help_are_filled() -> None:
    said = NARROW.invoke(app, ["task", "fairness", "--help"]).stdout
    assert "of the total variation between the predictions at that value and at all of" in said
