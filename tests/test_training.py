"""Training: exact whatever happens to the process, and clear about what went wrong."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import unknot
from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.models.model import Batch, Player, Setting
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl
from unknot.runs import Run, RunSpec
from unknot.trainer import Progress, Trainer
from unknot.training import build_model, feed, load_model, represent, train
from unknot.worlds import open_world

SMALL: dict[str, Any] = {"world": "dsprites_rendered", "image_size": 32, "batch_size": 8, "steps": 60, "lr": 1e-3}
FEW_LAYERS = {"discriminator_layers": 2}

# A process that kills itself as hard as the system can, at a point of its own choice.
KILLED = """
import json, os, pathlib, signal, sys
import unknot
from unknot.trainer import Trainer

where, folder, spec = sys.argv[1], sys.argv[2], unknot.RunSpec(**json.loads(sys.argv[3]))

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


@pytest.mark.parametrize(
    ("model", "where"), [("beta_vae", "in a step"), ("factor_vae", "in a step"), ("beta_vae", "while writing")]
)
def test_a_killed_run_ends_with_the_same_bits_as_one_never_stopped(
    model: str, where: str, whole: dict[str, Run], tmp_path: Path
) -> None:
    spec = whole[model].spec
    command = [sys.executable, "-c", KILLED, where, str(tmp_path), spec.model_dump_json()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = Run(tmp_path / spec.id)
    assert not left.finished
    assert left.checkpoint.is_file()
    seen: list[Progress] = []
    again = train(spec, tmp_path, checkpoint_every=1000, watch=seen.append)
    assert seen[0].step == (26 if where == "in a step" else 13)
    _same(again, whole[model])
    assert not again.checkpoint.exists()
    assert not list(again.folder.glob(".*.part"))


def test_ctrl_c_lets_the_step_end_and_the_run_goes_on_there(whole: dict[str, Run], tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)

    def press(progress: Progress) -> None:
        if progress.step == 50:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="stopped after step 50 of 60; the same command goes on there"):
        train(whole["beta_vae"].spec, tmp_path, watch=press)
    assert signal.getsignal(signal.SIGINT) is before
    seen: list[Progress] = []
    again = train(whole["beta_vae"].spec, tmp_path, watch=seen.append)
    assert [progress.step for progress in seen] == [50, 60]
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
    again = train(RunSpec(**SMALL), run.folder.parent, watch=seen.append)  # options left out are the defaults
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
        generator = torch.Generator().manual_seed(unknot.trainer.seed_of(0, step, 1))
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


class Tug(nn.Module):
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


@pytest.mark.parametrize("model", MODELS)
def test_every_model_goes_on_exactly(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = RunSpec(**{**SMALL, "steps": 5}, model=model)
    one = train(spec, tmp_path / "one")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="stopped after step 3 of 5"):
        patch.setattr(Trainer, "read_curve", _pressing(Trainer.read_curve, 2))
        train(spec, tmp_path / "other", checkpoint_every=2)
    other = train(spec, tmp_path / "other")
    assert one.weights.read_bytes() == other.weights.read_bytes()
    assert one.curve().equals(other.curve())


class Fails(GaussianAutoencoder):
    """Goes wrong at step 27, in the way asked for."""

    def __init__(self, setting: Setting, *, way: str = "loss") -> None:
        super().__init__(setting)
        self.way, self.weight, self.steps = way, nn.Parameter(torch.zeros(1)), 0

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> dict[str, Tensor]:
        q, _, fit = self.autoencode(batch.images, generator)
        if self.way == "later" and not bool(torch.isfinite(self.weight).all()):
            raise ValueError("expected finite weights")
        spike = self.weight.sum()
        if step == 27 and self.way in ("loss", "later"):
            spike = spike / 0
        if step == 27 and self.way == "gradient":
            spike = (0 * spike).abs().sqrt()
        self.steps = step
        return {"reconstruction": fit, "kl": kl(q), "spike": spike}

    def after_step(self) -> None:
        if self.way == "weights" and self.steps == 39:
            self.weight.data.fill_(torch.nan)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("loss", "diverged at step 27: the term 'spike' became"),
        ("later", "diverged at step 27: the term 'spike' became"),
        ("gradient", "diverged at step 27: the gradient is no longer finite"),
        ("weights", "diverged at step 40: the weights 'weight' are no longer finite"),
    ],
)
def test_divergence_names_the_step_and_the_term_and_keeps_the_last_good_checkpoint(
    way: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "fails", Fails)
    spec = RunSpec(**SMALL, model="fails", options={"way": way})
    with pytest.raises(UnknotError, match=message + ".*the checkpoint of step 20 is kept.*smaller learning rate"):
        train(spec, tmp_path, checkpoint_every=20)
    run = Run(tmp_path / spec.id)
    assert not run.finished
    state = torch.load(run.checkpoint, weights_only=True)
    assert state["step"] == 20
    assert all(bool(torch.isfinite(weight).all()) for weight in state["model"].values())


def test_a_learning_rate_far_too_high_is_reported_as_divergence(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"diverged at step .*no checkpoint was written yet.*now 1e"):
        train(RunSpec(**{**SMALL, "lr": 1e10}), tmp_path)


def _stopped(folder: Path, spec: RunSpec) -> Run:
    """A run with a checkpoint after step 50."""

    def press(progress: Progress) -> None:
        if progress.step == 50:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(spec, folder, watch=press)
    return Run(folder / spec.id)


def test_a_checkpoint_that_cannot_be_used_is_an_error_and_kept(whole: dict[str, Run], tmp_path: Path) -> None:
    spec = whole["beta_vae"].spec
    run = _stopped(tmp_path, spec)
    good = run.checkpoint.read_bytes()
    other = _stopped(tmp_path, spec.replace(seed=1)).checkpoint.read_bytes()
    for content, message in [
        (good[: len(good) // 2], r"checkpoint\.pt: is damaged"),
        (b"", r"checkpoint\.pt: is damaged"),
        (b"not a checkpoint", r"checkpoint\.pt: is damaged"),
        (other, r"checkpoint\.pt: belongs to another spec"),
    ]:
        run.checkpoint.write_bytes(content)
        with pytest.raises(UnknotError, match=message + ".*move it away to start this run anew"):
            train(spec, tmp_path)
        assert run.checkpoint.read_bytes() == content
    run.checkpoint.write_bytes(good)
    _same(train(spec, tmp_path), whole["beta_vae"])


def test_weights_that_do_not_fit_are_an_error(whole: dict[str, Run], tmp_path: Path) -> None:
    run = Run.create(tmp_path, whole["beta_vae"].spec)
    with pytest.raises(UnknotError, match="is not finished"):
        load_model(run)
    save_file({"encoder.head.weight": torch.zeros(2)}, run.weights)
    with pytest.raises(UnknotError, match=r"weights\.safetensors: does not fit beta_vae .*size mismatch"):
        load_model(run)
    run.weights.write_bytes(b"broken")
    with pytest.raises(UnknotError, match=r"weights\.safetensors: does not fit .*move it away and train"):
        load_model(run)


def test_trained_weights_are_read_back(whole: dict[str, Run]) -> None:
    run = whole["beta_vae"]
    model = load_model(run)
    assert not model.training
    images = feed(run.spec, model, open_world(run.spec.world)).batch(0).images
    q = represent(model, images, batch_size=3)
    assert q.mean.shape == (8, 10)
    assert not q.mean.requires_grad
    assert torch.allclose(q.mean, represent(model, images).mean, atol=1e-5)


FULL_DISK = """
import json, resource, sys
import unknot
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    unknot.train(unknot.RunSpec(**json.loads(sys.argv[2])), sys.argv[1], checkpoint_every=7)
except unknot.UnknotError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_and_nothing_is_lost(whole: dict[str, Run], tmp_path: Path) -> None:
    spec = whole["beta_vae"].spec
    good = _stopped(tmp_path, spec).checkpoint.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path), spec.model_dump_json()], capture_output=True, text=True
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == limits
    assert "checkpoint.pt: cannot be written (File too large)" in done.stdout, done.stderr
    run = Run(tmp_path / spec.id)
    assert run.checkpoint.read_bytes() == good
    assert not list(run.folder.glob(".*.part"))
    _same(train(spec, tmp_path), whole["beta_vae"])


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UnknotError, match="cannot be written"):
            train(RunSpec(**SMALL), tmp_path / "runs")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"model": "beta_vea"}, {}, "unknown model 'beta_vea'; did you mean 'beta_vae'"),
        ({"model": "nowhere:Model"}, {}, "model 'nowhere:Model': cannot be imported"),
        ({"options": {"bata": 4}}, {}, "unknown option of beta_vae 'bata'; did you mean 'beta'"),
        ({"options": {"beta": -1.0}}, {}, "beta_vae: beta is -1.0; a weight cannot be negative"),
        ({"options": {"beta": "high"}}, {}, "beta_vae: beta is 'high'; expected float"),
        ({"world": "dsprite_rendered"}, {}, "unknown world 'dsprite_rendered'; did you mean 'dsprites_rendered'"),
        ({"split": "compositional"}, {}, "unknown .*'compositional'; did you mean 'composition'"),
        ({"architecture": "conv65"}, {}, "unknown architecture 'conv65'; did you mean 'conv64'"),
        ({"image_size": 48}, {}, "conv64: images of 48 pixels; expected one of 32, 64, 128"),
        ({"pairs": "laplace"}, {}, "beta_vae: does not learn from pairs"),
        ({"model": "ada_gvae", "pairs": "laplce"}, {}, "unknown law of pairs 'laplce'; did you mean 'laplace'"),
        ({}, {"device": "cuda:99"}, "device 'cuda:99' cannot be used here"),
        ({}, {"device": "abacus"}, "device 'abacus' cannot be used here"),
        ({}, {"checkpoint_every": 0}, "train: checkpoint_every is 0; expected at least 1"),
        ({}, {"threads": 0}, "train: threads is 0; expected at least 1"),
    ],
)
def test_a_wrong_input_is_named_before_a_folder_is_made(
    fields: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknotError, match=message):
        train(RunSpec(**{**SMALL, **fields}), tmp_path / "runs", **options)
    assert not (tmp_path / "runs").exists()


def test_images_without_factors_train_only_models_that_need_none(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8))
    spec = RunSpec(world=str(tmp_path / "images.npy"), batch_size=4, steps=2)
    assert train(spec, tmp_path).finished
    with pytest.raises(UnknotError, match="has no factors, and this model learns from pairs"):
        train(spec.replace(model="ada_gvae"), tmp_path)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (torch.zeros(()), "its loss is Tensor; expected a dict of named terms"),
        ({}, "its loss is dict; expected a dict of named terms, not empty"),
        ({"fit": torch.zeros(8)}, r"the term 'fit' of its loss is a tensor of shape \(8,\); expected a scalar"),
        ({"fit": 0.5}, "the term 'fit' of its loss is float; expected a scalar tensor"),
    ],
)
def test_a_loss_that_is_no_loss_is_explained(
    terms: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "own", type("Own", (GaussianAutoencoder,), {"loss": lambda *_: terms}))
    with pytest.raises(UnknotError, match=message):
        train(RunSpec(**SMALL, model="own"), tmp_path)


def test_a_run_of_a_model_whose_file_has_changed_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from unknot.models.beta_vae import VAE\nclass Changing(VAE): pass\n"
    (tmp_path / "changing_model.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = RunSpec(**{**SMALL, "steps": 2}, model="changing_model:Changing")
    assert train(spec, tmp_path).finished
    (tmp_path / "changing_model.py").write_text(source + "    beta = 2\n")
    with pytest.raises(UnknotError, match="the file of changing_model:Changing has changed since this run"):
        train(spec, tmp_path)


def test_the_loss_of_a_curve_is_the_sum_of_its_terms(whole: dict[str, Run]) -> None:
    curve = whole["factor_vae"].curve()
    assert curve.step.tolist() == [50, 60]
    assert np.allclose(curve.loss, curve.reconstruction + curve.kl + curve.total_correlation, rtol=1e-5)
    assert "discriminator.cross_entropy" in curve
    assert (curve.gradient_norm > 0).all()
