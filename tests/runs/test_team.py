"""Several processes: the step of one, whatever the loss makes of a batch; and what cannot be shared is refused."""

import subprocess
import sys
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.models.model import Model
from unknot.runs.spec import RunSpec
from unknot.runs.team import ALONE, Team, joined, must_be_shareable
from unknot.runs.training import build_model, feed, train
from unknot.worlds import open_world

CPU = torch.device("cpu")
ROUNDING = 1e-4  # of the largest gradient of a weight, by which the order of sums may move it
NOT_SHARED = {  # and why
    "parted_vae": "its encoder draws noise",
    "parted_vae_ss": "its encoder draws noise",
    "weak_de": "batch normalisation",
    "densenet121": "batch normalisation",
    "slot_attention": "not taken apart yet",
    "iodine": "not taken apart yet",
    "monet": "not taken apart yet",
    "moco_v2": "not taken apart yet",
}
SMALLER: dict[str, dict[str, Any]] = {
    "factor_vae": {"discriminator_layers": 1},
    "rot_eq_big": {"width": 0.125},
    "bit_resnet50": {"width": 0.5},
    "cnn": {"l2": 0.1, "dropout": 0.5},  # a weight that is also used outside, and noise over the batch
}
SHARED = [name for name in MODELS if name not in {*NOT_SHARED, "bit_resnet101"}]
# What the other process does: the same steps as `gradients`, as number 1 of 2.
OTHER = """
import sys
from pathlib import Path
import torch
sys.path.insert(0, str(Path(sys.argv[1]).parent))
from test_team import CPU, SHARED, gradients
from unknot.runs.team import joined
torch.set_num_threads(1)
with joined(1, 2, Path(sys.argv[2]), CPU) as team:
    for name in SHARED:
        gradients(name, team)
"""


def gradients(name: str, team: Team) -> list[Tensor]:
    """The gradient of every player of a freshly built model, on its first batch."""
    options = SMALLER.get(name, {})
    base = {"world": "shapes3d_rendered", "model": name, "options": options, "latents": 6, "image_size": 32}
    world = open_world("shapes3d_rendered")
    model, spec = build_model(RunSpec(**base, steps=10, batch_size=4), world)
    batch = feed(spec, model, world).batch(0)
    found = []
    for player in model.players():
        with team.sharing(model):
            terms = player.loss(batch, 5, torch.Generator().manual_seed(0))
        moved = [weight for module in player.modules for weight in module.parameters() if weight.requires_grad]
        torch.autograd.backward(torch.stack(list(terms.values())).sum(), inputs=moved)
        own = [weight.grad for weight in moved if weight.grad is not None]
        team.average(own)
        found += [gradient.clone() for gradient in own]
        model.zero_grad()
    return found


def test_gradients_of_two_processes_are_those_of_one_for_every_model_that_is_shared(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", OTHER, __file__, str(tmp_path / "the meeting")])
    try:
        with joined(0, 2, tmp_path / "the meeting", CPU) as team:
            for name in SHARED:
                together, alone = gradients(name, team), gradients(name, ALONE)
                assert len(together) == len(alone) > 0
                largest = max(float(gradient.abs().max()) for gradient in alone)
                for ours, theirs in zip(together, alone, strict=True):
                    assert float((ours - theirs).abs().max()) <= ROUNDING * largest, name
        assert other.wait(60) == 0
    finally:
        other.kill()
        other.wait()


def test_a_run_of_two_processes_goes_on_after_one_was_killed_and_ends_as_that_of_one(tmp_path: Path) -> None:
    spec = RunSpec(world="dsprites_rendered", model="beta_tc_vae", image_size=32, batch_size=8, steps=60, lr=1e-3)

    def kill(stage: str, done: int, total: int, /, **facts: Any) -> None:
        if done == 50:
            (companion,) = active_children()
            companion.kill()

    with pytest.raises(UnknotError, match="another process of this run is gone"):
        train(spec, tmp_path / "two", processes=2, checkpoint_every=40, progress=kill)
    assert not active_children()
    begun: list[int] = []
    run = train(spec, tmp_path / "two", progress=lambda stage, done, total, /, **facts: begun.append(done))
    assert begun[0] == 40
    together, alone = load_file(run.weights), load_file(train(spec, tmp_path / "one").weights)
    first = build_model(spec, open_world(spec.world))[0].state_dict()
    # Adam divides by the size of a gradient, so that one near zero is moved by its rounding; all together are not.
    apart, way = (_distance(alone, other) for other in (together, first))
    assert 0 < apart < 1e-3 * way


def _distance(first: dict[str, Tensor], second: dict[str, Tensor]) -> float:
    return float(sum((first[name] - second[name]).pow(2).sum() for name in first)) ** 0.5


class Own(Model):
    by_rows = ("body",)

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(*layers)


@pytest.mark.parametrize(
    ("model", "batch_size", "words"),
    [
        (Model(), 8, "does not say which of its networks treat each row by itself"),
        (Own(nn.BatchNorm1d(3)), 8, "'body' of own has a BatchNorm1d"),
        (Own(nn.Dropout(0.5)), 8, "has a Dropout"),
        (Own(nn.Linear(2, 2)), 9, "batches of 9 cannot be shared out evenly among 2"),
    ],
)
def test_what_several_processes_would_train_otherwise_is_refused(
    model: Model, batch_size: int, words: str
) -> None:
    with pytest.raises(UnknotError, match=words):
        must_be_shareable(model, "own", 2, batch_size, CPU)


@pytest.mark.parametrize("name", NOT_SHARED)
def test_models_that_are_not_shared_say_so_before_anything_is_trained(name: str, tmp_path: Path) -> None:
    spec = RunSpec(
        world="shapes3d_rendered", model=name, image_size=32 if name != "densenet121" else 64, batch_size=8
    )
    with pytest.raises(UnknotError, match="cannot be trained by 2 processes"):
        train(spec, tmp_path, processes=2)


def test_absurd_numbers_of_processes_are_refused(tmp_path: Path) -> None:
    spec = RunSpec(world="dsprites_rendered")
    for processes, words in ((0, "at least 1"), (5000, "at most 1024")):
        with pytest.raises(UnknotError, match=words):
            train(spec, tmp_path, processes=processes)
    with pytest.raises(UnknotError, match="compiled"):
        train(spec, tmp_path, processes=2, compiled=True)
