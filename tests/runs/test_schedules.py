"""Schedules of a run."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.runs.run import Run
from unknot.runs.schedules import rate, read_pressure, weight
from unknot.runs.spec import RunSpec
from unknot.runs.trainer import Trainer
from unknot.runs.training import build_model, feed
from unknot.worlds import open_world

SPEC = RunSpec(
    world="dsprites_rendered",
    options={"beta": 1.0},
    image_size=32,
    architecture="dense256",
    batch_size=8,
    steps=1000,
)


def test_a_constant_rate_is_whole_from_the_first_step_to_the_last():
    assert {rate("constant", step, 1000) for step in (0, 50, 999)} == {1.0}


def test_a_pressure_falls_by_the_same_share_in_every_step_between_the_ramp_and_70_percent():
    values = [weight((24.0, 2.0), step, 10_000) for step in range(10_000)]
    shares = [later / now for now, later in pairwise(values[149:7000])]
    assert max(shares) == pytest.approx(min(shares))
    assert values[75] == pytest.approx(values[149] / 2, rel=0.05)
    assert values[7000:] == [2.0] * 3000


@pytest.mark.parametrize("text", ["24", "24..", "..2", "24..0", "a..b", "24...2", "-1..2", "24 to 2"])
def test_a_malformed_pressure_is_refused_with_an_example(text):
    with pytest.raises(UnknotError, match=r"such as 24\.\.2") as caught:
        SPEC.replace(pressure=text)
    assert caught.value.field == ("pressure",)
    with pytest.raises(UnknotError):
        read_pressure(text)


def trainer(spec, folder):
    world = open_world(spec.world)
    model, spec = build_model(spec, world)
    return Trainer(Run.create(folder, spec), model, feed(spec, model, world), torch.device("cpu"))


def test_a_trainer_multiplies_all_terms_but_the_reconstruction_and_follows_the_cosine(tmp_path):
    plain, pressed = trainer(SPEC, tmp_path), trainer(SPEC.replace(pressure="30..3", schedule="cosine"), tmp_path)
    rows = []
    for each in (plain, pressed):
        each.advance()
        each.read_curve()
        rows.append(each.curve.close_row(each.step))
    assert rows[1]["reconstruction"] == rows[0]["reconstruction"]
    assert rows[1]["kl"] == pytest.approx(rows[0]["kl"] * 30 / 150, rel=1e-6)
    rates = [each.optimisers[0].param_groups[0]["lr"] for each in (plain, pressed)]
    assert rates == [1e-4, pytest.approx(1e-6)]


def test_pressure_leaves_the_other_players_alone(tmp_path):
    spec = SPEC.replace(model="factor_vae", options={"discriminator_layers": 1, "same_batch": True})
    rows = []
    for each in (trainer(spec, tmp_path), trainer(spec.replace(pressure="30..3"), tmp_path)):
        each.advance()
        each.read_curve()
        rows.append(each.curve.close_row(each.step))
    assert rows[1]["discriminator.cross_entropy"] == pytest.approx(
        rows[0]["discriminator.cross_entropy"], rel=1e-3
    )
    assert rows[1]["total_correlation"] == pytest.approx(rows[0]["total_correlation"] / 5)


def test_a_model_without_a_reconstruction_is_refused_a_pressure(tmp_path):
    with pytest.raises(UnknotError, match="mlp: its loss has no term 'reconstruction'") as caught:
        trainer(SPEC.replace(model="mlp", options={}, pressure="24..2"), tmp_path).advance()
    assert caught.value.field == ("pressure",)


def test_layers_without_a_generator_are_seeded_at_every_step(tmp_path):
    spec = SPEC.replace(model="tests.runs.test_schedules:Noisy", options={})
    seen = []
    for _ in range(2):
        torch.manual_seed(len(seen))
        each = trainer(spec, tmp_path)
        each.advance()
        each.advance()
        each.read_curve()
        seen.append(each.curve.close_row(2)["noise"])
    assert seen[0] == seen[1]


class Noisy(nn.Module):
    """A loss that is noise of torch's own generator."""

    def __init__(self, setting):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def loss(self, batch, step, generator):
        return {"noise": (self.weight + torch.rand(1)).sum()}

    def represent(self, images):
        return images.flatten(1)[:, :3]
