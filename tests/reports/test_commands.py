"""Commands beside numbers repeat what was named for these."""

from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.reports.commands import score_command


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=["z0", "z1", "z2"])
    labels = {"kind": rng.choice(["a", "b", "?"], 120), "sex": rng.choice(["f", "m"], 120), "who": range(120)}
    table.assign(**labels).to_csv(tmp_path / "cells.csv", index=False)
    return tmp_path / "cells.csv"


def test_commands_on_a_page_of_scores_name_the_same_columns(cells: Path) -> None:
    named = ["--latents", "z*", "--factors", "kind,sex", "--groups", "who", "--missing", "?"]
    page = cells.with_name("page.html")
    words = ["score", str(cells), "--metrics", "mig", "--null", "0", *named, "--html", str(page)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    text = page.read_text()
    for word in ("--latents 'z*'", "--factors kind,sex", "--groups who", "--missing '?'"):
        assert word in unescape(text)


def test_a_command_repeats_all_that_was_named() -> None:
    chosen = {"latents": ["z*"], "factors": ["kind", "sex"], "groups": "who", "join": "id", "missing": ["?"]}
    record = {"seed": 0, "parameters": {}, "input": {"chosen": {**chosen, "flatten_slots": True}}}
    assert score_command(["a.csv"], "mig", record).words[5:] == (
        *("--latents", "z*", "--factors", "kind,sex", "--groups", "who", "--join", "id", "--missing", "?"),
        "--flatten-slots",
    )
