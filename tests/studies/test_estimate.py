"""How long a study will take."""

import time
from types import SimpleNamespace

import pytest

from unknot.runs.recipes import recipe_spec
from unknot.runs.trainer import Trainer
from unknot.studies import estimate


def test_a_trial_counts_work_and_not_what_a_busy_machine_makes_it_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "TRIAL", 0.2)
    monkeypatch.setattr(Trainer, "advance", lambda self: time.sleep(0.05))
    spec = recipe_spec("quick", world="dsprites_rendered", model="vae", architecture="slim")
    assert estimate.trial(spec).step < 0.02


def test_what_only_the_first_step_costs_is_not_counted_for_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that are loaded in the first step made 6 runs of 300 steps seem to take 8 hours."""
    clock = {"now": 0.0, "steps": 0}

    def advance(_: Trainer) -> None:
        clock["now"] += 0.01 if clock["steps"] else 3.0
        clock["steps"] += 1

    monkeypatch.setattr(estimate, "TRIAL", 0.05)
    monkeypatch.setattr(Trainer, "advance", advance)
    monkeypatch.setattr(
        estimate, "time", SimpleNamespace(process_time=lambda: clock["now"], perf_counter=time.perf_counter)
    )
    spec = recipe_spec("quick", world="dsprites_rendered", model="vae", architecture="slim")
    assert estimate.trial(spec).step == pytest.approx(0.01)
