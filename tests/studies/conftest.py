"""A tiny study, run once, and an engine that does steps in the test's own process."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unknot.studies.engines import Advance, Outcome
from unknot.studies.local import one_line
from unknot.studies.plan import StudyPlan, plan_study
from unknot.studies.spec import read_spec
from unknot.studies.steps import Step, perform
from unknot.studies.study import run_study

TINY = """\
name: tiny
worlds: dsprites_rendered
models:
  beta_vae: {beta: [1, 4]}
seeds: 2
steps: 12
image_size: 32
batch_size: 8
lr: 1e-3
rows: 120
metrics: [mig, sap]
ranking: {methods: [udr_spearman], scopes: [setting, all]}
"""


class Inline:
    """An engine without processes. `sabotage(step)` may raise in a step's place."""

    name, workers = "inline", 1

    def __init__(self, sabotage: Callable[[Step], None] = lambda step: None) -> None:
        self.sabotage, self.steps, self.waiting = sabotage, [], []
        self.closed: list[bool] = []

    def has_room(self) -> bool:
        return not self.waiting

    def submit(self, step: Step) -> None:
        self.waiting.append(step)
        self.steps.append((step.kind, step.id))

    def wait(self, timeout: float) -> list[Outcome | Advance]:
        step = self.waiting.pop()
        events: list[Outcome | Advance] = []
        try:
            self.sabotage(step)
            perform(step, lambda stage, done, total, **facts: events.append(Advance(step, done, total)))
        except Exception as error:
            return [*events, Outcome(step, one_line(error), "the log")]
        return [*events, Outcome(step)]

    def close(self, *, stop: bool = False) -> None:
        self.closed.append(stop)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.steps]


def write(folder: Path, text: str = TINY, name: str = "tiny.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def planned(folder: Path, text: str = TINY) -> StudyPlan:
    return plan_study(read_spec(write(folder, text)))


def tables(folder: Path) -> dict[str, Any]:
    """The tables without the columns that hold times."""
    import pandas as pd

    read = {name: pd.read_parquet(folder / "tables" / f"{name}.parquet") for name in ("runs", "scores", "ranks")}
    return {name: table.drop(columns=["minutes", "seconds"], errors="ignore") for name, table in read.items()}


def same_tables(one: Path, other: Path) -> None:
    import pandas as pd

    first, second = tables(one), tables(other)
    for name in first:
        pd.testing.assert_frame_equal(first[name], second[name], check_exact=True)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tiny study, run to its end in one process; not to be written to."""
    folder = tmp_path_factory.mktemp("study")
    run_study(planned(folder), folder / "out", engine=Inline())
    return folder / "out"


@pytest.fixture
def finished(undisturbed: Path, tmp_path: Path) -> Path:
    """A copy of it to work on."""
    shutil.copytree(undisturbed, tmp_path / "out")
    return tmp_path / "out"
