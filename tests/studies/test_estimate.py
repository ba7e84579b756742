"""How long a study will take."""

import time

import pytest

from unknot.runs.recipes import recipe_spec
from unknot.runs.trainer import Trainer
from unknot.studies import estimate


def test_a_trial_counts_work_and_not_what_a_busy_machine_makes_it_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "TRIAL", 0.2)
    monkeypatch.setattr(Trainer, "advance", lambda self: time.sleep(0.05))
    spec = recipe_spec("quick", world="dsprites_rendered", model="vae", architecture="slim")
    assert estimate.trial(spec).step < 0.02
