"""`unknot papers`, as a user runs it."""

import sys

import pytest
from typer.testing import CliRunner

from unknot.cli import app, main
from unknot.papers import PAPERS

NARROW = CliRunner(env={"COLUMNS": "80"})


def test_all_papers_are_listed() -> None:
    listed = NARROW.invoke(app, ["papers"])
    assert listed.exit_code == 0, listed.output
    assert set(PAPERS) <= set(listed.output.split())


@pytest.mark.parametrize("key", PAPERS)
def test_a_paper_is_shown_with_all_that_is_here(key: str) -> None:
    shown = NARROW.invoke(app, ["papers", key])
    assert shown.exit_code == 0, shown.output
    words, paper = " ".join(shown.output.split()), PAPERS[key]
    assert paper.citation in words
    assert paper.question in words
    names = (*paper.metrics, *paper.models, *paper.tasks, *paper.worlds, *paper.commands, paper.full, paper.small)
    assert [name for name in names if name not in words] == []
    assert all(len(line) <= 80 for line in shown.output.splitlines())


def test_bibtex_can_be_had_of_one_paper_or_of_all() -> None:
    one = NARROW.invoke(app, ["papers", "duan2020", "--bibtex"]).output
    assert one == PAPERS["duan2020"].bibtex + "\n"
    assert NARROW.invoke(app, ["papers", "--bibtex"]).output.count("@") == len(PAPERS)


def test_an_old_name_ends_in_one_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["unknot", "papers", "S1"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "unknot: papers: S1 is now called duan2020.\n"
