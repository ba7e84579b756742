"""Optimisers by name, and learning rates by step."""

import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.models.model import Batch, Player
from unknot.runs.optimisers import optimiser_of, set_rate
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train

WORLD = "dsprites_rendered"


def player(**fields) -> Player:
    return Player("model", (), lambda batch, step, generator: {}, **fields)


@pytest.mark.parametrize(
    ("fields", "kind", "settings"),
    [
        ({}, torch.optim.Adam, {"lr": 0.1, "betas": (0.9, 0.999)}),
        ({"lr": 0.5, "betas": (0.95, 0.9)}, torch.optim.Adam, {"lr": 0.5, "betas": (0.95, 0.9)}),
        (
            {"optimiser": "sgd", "momentum": 0.9, "weight_decay": 1e-4},
            torch.optim.SGD,
            {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4},
        ),
        ({"optimiser": "rmsprop"}, torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.99}),
    ],
)
def test_a_player_gets_the_optimiser_it_asks_for(fields, kind, settings):
    optimiser = optimiser_of(player(**fields), [nn.Parameter(torch.zeros(2))], 0.1)
    assert type(optimiser) is kind
    assert {name: optimiser.defaults[name] for name in settings} == settings


def test_an_unknown_optimiser_is_told_the_known_ones():
    with pytest.raises(UnknotError, match="did you mean 'rmsprop'"):
        optimiser_of(player(optimiser="rmsprob"), [nn.Parameter(torch.zeros(2))], 0.1)


def test_a_schedule_multiplies_the_rate_of_the_run_or_of_the_player():
    for own, base in ((None, 0.1), (0.5, 0.5)):
        moved = player(lr=own, schedule=lambda step: 1 / (1 + step))
        optimiser = optimiser_of(moved, [nn.Parameter(torch.zeros(2))], 0.1)
        set_rate(optimiser, moved, 0.1, 3, 0.5)
        assert optimiser.param_groups[0]["lr"] == pytest.approx(base / 8)
    plain = optimiser_of(player(), [nn.Parameter(torch.zeros(2))], 0.1)
    set_rate(plain, player(), 0.1, 3, 1.0)
    assert plain.param_groups[0]["lr"] == 0.1


class Slope(nn.Module):
    """A weight whose loss is a slope of 3, so that plain SGD moves it by 3 times the rate."""

    def __init__(self, setting, *, clip: float = 0.0, scheduled: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.clip, self.scheduled = clip, scheduled

    def players(self):
        schedule = (lambda step: 0.5**step) if self.scheduled else None
        return (Player("model", (self,), self.loss, optimiser="sgd", clip=self.clip, schedule=schedule),)

    def loss(self, batch: Batch, step: int, generator: torch.Generator):
        return {"slope": 3 * self.weight.sum()}

    def represent(self, images):
        return images.flatten(1)[:, :2] + 0 * self.weight


@pytest.mark.parametrize(
    ("options", "moved"),
    [({}, 3 * 3), ({"clip": 2.0}, 3 * 2), ({"clip": 9.0}, 3 * 3), ({"scheduled": True}, 3 * 1.75)],
)
def test_training_clips_gradients_and_follows_the_schedule(options, moved, tmp_path):
    spec = RunSpec(
        world=WORLD, model=f"{__name__}:Slope", options=options, steps=3, batch_size=2, lr=1.0, image_size=8
    )
    run = train(spec, tmp_path)
    assert load_model(run).weight.item() == pytest.approx(-moved, rel=1e-5)
    assert run.curve()["gradient_norm"].iloc[0] == pytest.approx(3)  # as it was before it was cut
