"""The bar of the command line."""

import io

import pytest
from rich.console import Console

from unknot.cli import bar
from unknot.cli.bar import in_words, progress_bar


def test_without_a_terminal_there_is_a_line_for_each_stage_and_one_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 31.0, 40.0, 50.0])
    monkeypatch.setattr(bar.time, "monotonic", lambda: next(clock))
    with progress_bar() as progress:
        progress("encoding", 1, 4)
        progress("encoding", 2, 4)
        progress("encoding", 3, 4, loss=0.25)
        progress("encoding", 4, 4)
        progress("comparing", 1, 9)
    assert capsys.readouterr().err.splitlines() == ["encoding", "encoding: 3 of 4  loss 0.25", "comparing"]


def test_on_a_terminal_one_bar_shows_the_stage_and_begins_anew_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console", lambda **options: Console(file=screen, force_terminal=True, width=120)
    )
    shown = []
    monkeypatch.setattr(
        "rich.progress.Progress.refresh", lambda self: shown.append([vars(task).copy() for task in self.tasks])
    )
    with progress_bar() as progress:
        progress("training [x]", 50, 100, loss=1.5)
        progress("training [x]", 60, 100, loss=1.25)
        progress("encoding", 5, 0)
        progress("encoding", 2, 10)  # the next run's
    states = [tasks[0] for tasks in shown if tasks and tasks[0]["visible"]]
    assert all(len(tasks) <= 1 for tasks in shown)
    assert {state["description"] for state in states} == {"training [x]", "encoding"}
    assert (states[-1]["completed"], states[-1]["total"]) == (2, 10)


def test_facts_are_said_in_few_words() -> None:
    facts = {"reconstruction": 123.456, "kl": 7.0, "images_per_second": 512.3, "metric": "mig"}
    assert in_words(facts) == "reconstruction 123.5  kl 7  512 images/s  mig"
