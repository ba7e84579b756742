"""Training: exact whatever happens to the process, and clear about what went wrong."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import unknot
from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.models.codes import represent
from unknot.models.model import Batch, Model, Player, Setting
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.trainer import Trainer
from unknot.runs.training import build_model, feed, load_model, train
from unknot.worlds import open_world

SMALL: dict[str, Any] = {"world": "dsprites_rendered", "image_size": 32, "batch_size": 8, "steps": 60, "lr": 1e-3}
FEW_LAYERS = {"discriminator_layers": 2}

# A process that kills itself as hard as the system can, at a point of its own choice.
KILLED = """
import itertools, json, os, pathlib, signal, sys, time
import unknot
from unknot.runs.trainer import Trainer

where, folder, spec = sys.argv[1], sys.argv[2], unknot.RunSpec(**json.loads(sys.argv[3]))

jumps = itertools.count(4e9, -1e8)
time.time = lambda: next(jumps)

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if where == "in a step":  # after the update of the first player, before that of the last
    update = Trainer._update
    def _update(self, index, player, batch):
        update(self, index, player, batch)
        if self.step == 37 and index == 0:
            die()
    Trainer._update = _update
else:  # the second checkpoint is on the disk but has not taken its name
    replace = pathlib.Path.replace
    def _replace(self, target):
        if target.name == "checkpoint.pt" and target.exists():
            die()
        return replace(self, target)
    pathlib.Path.replace = _replace
unknot.train(spec, folder, checkpoint_every=13)
"""


def _same(one: Run, other: Run) -> None:
    assert one.weights.read_bytes() == other.weights.read_bytes()
    assert one.curve().equals(other.curve())
    assert one.kl().equals(other.kl())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs that were never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    specs = {
        "beta_vae": RunSpec(**SMALL),
        "factor_vae": RunSpec(**SMALL, model="factor_vae", options=FEW_LAYERS),
    }
    return {name: train(spec, folder) for name, spec in specs.items()}


@pytest.mark.parametrize(("model", "where"), [("factor_vae", "in a step"), ("beta_vae", "while writing")])
def test_a_run_killed_while_the_clock_jumps_goes_on_elsewhere_and_ends_with_the_same_bits(
    model: str, where: str, whole: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = whole[model].spec
    command = [sys.executable, "-c", KILLED, where, str(tmp_path / "here"), spec.model_dump_json()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for number, path in enumerate(sorted(tmp_path.rglob("*"))):
        os.utime(path, (number * 10**8 % 2**31,) * 2)  # what is newer was written before
    monkeypatch.setattr(time, "time", lambda: 0.0)
    folder = (tmp_path / "here").rename(tmp_path / "there")
    left = Run(folder / spec.id)
    assert not left.finished
    assert left.checkpoint.is_file()
    seen: list[int] = []
    again = train(spec, folder, checkpoint_every=1000, progress=lambda _, done, *__, **facts: seen.append(done))
    assert seen[0] == (26 if where == "in a step" else 13)
    _same(again, whole[model])
    assert not again.checkpoint.exists()
    assert not list(again.folder.glob(".*.part"))


def test_ctrl_c_lets_the_step_end_and_the_run_goes_on_there(whole: dict[str, Run], tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)

    def press(stage: str, done: int, total: int, **facts: object) -> None:
        if done == 50:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="stopped after step 50 of 60; the same command goes on there"):
        train(whole["beta_vae"].spec, tmp_path, progress=press)
    assert signal.getsignal(signal.SIGINT) is before
    seen: list[tuple[object, ...]] = []
    again = train(whole["beta_vae"].spec, tmp_path, progress=lambda *now, **facts: seen.append((*now, {*facts})))
    assert [now[:3] for now in seen] == [("training", 50, 60), ("training", 60, 60)]
    assert seen[0][3] == set() and seen[1][3] >= {"loss", "reconstruction", "kl", "images_per_second"}
    _same(again, whole["beta_vae"])


def test_ctrl_c_in_a_step_waits_for_its_end(
    whole: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Trainer._update

    def interrupted(self: Trainer, index: int, player: Player, batch: Batch) -> None:
        if self.step == 22 and index == 1:
            signal.raise_signal(signal.SIGINT)
        update(self, index, player, batch)

    monkeypatch.setattr(Trainer, "_update", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped after step 23 of 60"):
        train(whole["factor_vae"].spec, tmp_path)
    _same(train(whole["factor_vae"].spec, tmp_path), whole["factor_vae"])


def test_a_finished_run_is_returned_at_once(whole: dict[str, Run]) -> None:
    run, seen = whole["beta_vae"], []
    stamp = run.weights.stat().st_mtime_ns
    again = train(  # options left out are the defaults
        RunSpec(**SMALL), run.folder.parent, progress=lambda *now, **facts: seen.append(now)
    )
    assert again.folder == run.folder
    assert not seen
    assert run.weights.stat().st_mtime_ns == stamp


def test_the_trainer_agrees_with_a_plain_loop(tmp_path: Path) -> None:
    """Same data and noise, but images and weights in the usual layout, and Adam one parameter at a time."""
    spec = RunSpec(**SMALL).replace(steps=8, batch_size=16)
    world = open_world(spec.world)
    model, full = build_model(spec, world)
    batches = feed(full, model, world)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False, fused=False)
    losses = []
    for step in range(8):
        images = batches.batch(step).images.contiguous(memory_format=torch.contiguous_format)
        generator = torch.Generator().manual_seed(unknot.runs.trainer.seed_of(0, step, 1))
        loss = sum(model.loss(Batch(images), step, generator).values(), torch.zeros(()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    run = train(spec, tmp_path)
    assert run.curve().loss.tolist() == pytest.approx([np.mean(losses)], rel=1e-5)
    for name, weight in load_file(run.weights).items():
        # Adam turns rounding of a gradient near zero into a whole step, so single weights may differ.
        assert (weight - model.state_dict()[name]).abs().mean() < 1e-5, name


class Tug(Model):
    """Two players that share a loss; each may move only its own weight."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        self.skipped = nn.Parameter(torch.ones(1))

    def players(self) -> tuple[Player, ...]:
        return (
            Player("a", (self.a, self.skipped), self.loss),
            Player("b", (self.b,), lambda *args: None if args[1] % 2 else self.loss(*args), lr=0.5),
        )

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> dict[str, Tensor]:
        return {"product": (self.a * self.b).sum()}

    def represent(self, images: Tensor) -> Tensor:
        return images.flatten(1)[:, :3]


def test_a_player_moves_its_own_weights_by_its_own_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "tug", Tug)
    run = train(RunSpec(**{**SMALL, "steps": 2, "lr": 0.25}, model="tug"), tmp_path)
    weights = load_file(run.weights)
    # Adam's first steps are as long as its learning rate: two of a, one of b, which leaves out the second step.
    assert torch.allclose(weights["a"], torch.full((3,), 0.5), atol=0.02)
    assert torch.allclose(weights["b"], torch.full((3,), 0.5), atol=1e-5)
    assert weights["skipped"].item() == 1
    row = run.curve().iloc[0]
    assert row["b.product"] == pytest.approx(3 * 0.75, rel=1e-4)  # seen once, after the move of a
    with pytest.raises(UnknotError, match="has no kl"):
        run.kl()


class Noisy(GaussianAutoencoder):
    """Has parts that take no generator."""

    def __init__(self, setting: Setting, *, rate: float = 0.5) -> None:
        super().__init__(setting)
        self.drop, self.table = nn.Dropout(rate), nn.Embedding(4, setting.latents)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> dict[str, Tensor]:
        q, z, fit = self.autoencode(self.drop(batch.images), generator)
        return {"fit": fit, "pull": (z - self.table.weight[step % 4]).pow(2).mean(), "kl": kl(q)}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_model_with_dropout_and_embeddings_is_reproduced_too(
    precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "noisy", Noisy)
    spec = RunSpec(**{**SMALL, "steps": 12}, model="noisy", precision=precision)
    torch.manual_seed(1)
    one = train(spec, tmp_path / "one")
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    with pytest.raises(KeyboardInterrupt):
        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "read_curve", _pressing(Trainer.read_curve, 5))
            train(spec, tmp_path / "other", checkpoint_every=5)
    _same(train(spec, tmp_path / "other"), one)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert {weight.dtype for weight in load_file(one.weights).values()} == {torch.float32}


def _pressing(read: Any, step: int) -> Any:
    def pressed(self: Trainer) -> None:
        if self.step == step:
            signal.raise_signal(signal.SIGINT)
        read(self)

    return pressed


SMALLER: dict[str, dict[str, Any]] = {  # options that save time here
    "slot_attention": {"slots": 2, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0},
    "iodine": {"slots": 2, "slot_size": 4, "refinements": 2, "channels": 8, "hidden": 16},
    "monet": {"slots": 2, "channels": 4},
    "rot_eq_big": {"width": 0.125},
    "bit_resnet50": {"width": 0.5},
    "bit_resnet101": {"width": 0.5},
    "densenet121": {"growth": 4},
}


@pytest.mark.parametrize("model", MODELS)
def test_every_model_goes_on_exactly(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = RunSpec(**{**SMALL, "steps": 5}, model=model, options=SMALLER.get(model, {}))
    one = train(spec, tmp_path / "one")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="stopped after step 3 of 5"):
        patch.setattr(Trainer, "read_curve", _pressing(Trainer.read_curve, 2))
        train(spec, tmp_path / "other", checkpoint_every=2)
    other = train(spec, tmp_path / "other")
    assert one.weights.read_bytes() == other.weights.read_bytes()
    assert one.curve().equals(other.curve())


def test_trained_weights_are_read_back(whole: dict[str, Run]) -> None:
    run = whole["beta_vae"]
    model = load_model(run)
    assert not model.training
    images = feed(run.spec, model, open_world(run.spec.world)).batch(0).images
    q = represent(model, images, batch_size=3)
    assert q.mean.shape == (8, 10)
    assert not q.mean.requires_grad
    assert torch.allclose(q.mean, represent(model, images).mean, atol=1e-5)


def test_the_loss_of_a_curve_is_the_sum_of_its_terms(whole: dict[str, Run]) -> None:
    curve = whole["factor_vae"].curve()
    assert curve.step.tolist() == [50, 60]
    assert np.allclose(curve.loss, curve.reconstruction + curve.kl + curve.total_correlation, rtol=1e-5)
    assert "discriminator.cross_entropy" in curve
    assert (curve.gradient_norm > 0).all()
