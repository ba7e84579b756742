"""What goes wrong in training is said clearly, and nothing is lost."""

import errno
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.models.model import Batch, Setting
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train

SMALL: dict[str, Any] = {"world": "dsprites_rendered", "image_size": 32, "batch_size": 8, "steps": 60, "lr": 1e-3}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing happened to."""
    return train(RunSpec(**SMALL), tmp_path_factory.mktemp("whole"))


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
        if step == 27 and self.way == "explosion":
            spike = 1e12 * (spike + 1)
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
        (
            "explosion",
            r"diverged at step 27: the gradient exploded, to a norm of 1e\+12 after a median of \d+; "
            r"the largest term was 'spike' at 9\.\d+e\+11",
        ),
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


def test_an_explosion_is_found_at_the_same_step_by_a_run_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODELS, "fails", Fails)
    spec = RunSpec(**SMALL, model="fails", options={"way": "explosion"})
    said = []
    for checkpoint_every in (13, 60):  # the second goes on after step 26
        with pytest.raises(
            UnknotError, match=r"the gradient exploded.*the checkpoint of step 26 is kept"
        ) as error:
            train(spec, tmp_path, checkpoint_every=checkpoint_every)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_a_learning_rate_far_too_high_is_reported_as_divergence(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"diverged at step .*no checkpoint was written yet.*now 1e"):
        train(RunSpec(**{**SMALL, "lr": 1e10}), tmp_path)


def _stopped(folder: Path, spec: RunSpec) -> Run:
    """A run with a checkpoint after step 50."""

    def press(stage: str, done: int, total: int, **facts: object) -> None:
        if done == 50:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(spec, folder, progress=press)
    return Run(folder / spec.id)


@pytest.fixture(scope="module")
def stopped(whole: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _stopped(tmp_path_factory.mktemp("stopped"), whole.spec)


def test_a_checkpoint_that_cannot_be_used_is_an_error_and_kept(whole: Run, tmp_path: Path) -> None:
    spec = whole.spec
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
    assert train(spec, tmp_path).weights.read_bytes() == whole.weights.read_bytes()


def test_weights_that_do_not_fit_are_an_error(whole: Run, tmp_path: Path) -> None:
    run = Run.create(tmp_path, whole.spec)
    with pytest.raises(UnknotError, match="is not finished"):
        load_model(run)
    save_file({"encoder.head.weight": torch.zeros(2)}, run.weights)
    with pytest.raises(UnknotError, match=r"weights\.safetensors: does not fit beta_vae .*size mismatch"):
        load_model(run)
    options = {**whole.spec.options, "beta": "four"}
    Run(run.folder).note(spec={**run.record["spec"], "options": options})
    with pytest.raises(UnknotError, match=r"run\.json: beta_vae: beta is 'four'; expected float"):
        load_model(Run(run.folder))
    run.weights.write_bytes(b"broken")
    with pytest.raises(UnknotError, match=r"weights\.safetensors: does not fit .*move it away and train"):
        load_model(run)


FULL_DISK = """
import json, resource, sys
import unknot
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    unknot.train(unknot.RunSpec(**json.loads(sys.argv[2])), sys.argv[1], checkpoint_every=7)
except unknot.UnknotError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_and_nothing_is_lost(whole: Run, tmp_path: Path) -> None:
    spec = whole.spec
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
    assert train(spec, tmp_path).weights.read_bytes() == whole.weights.read_bytes()


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (errno.ENOSPC, "checkpoint.pt"),
        (errno.EROFS, "checkpoint.pt"),
        (errno.ENOSPC, "curve.parquet"),
        (errno.ENOSPC, "weights.safetensors"),
        (errno.EROFS, "weights.safetensors"),
    ],
)
def test_a_disk_that_takes_no_more_is_an_error_and_nothing_is_lost(
    number: int, name: str, whole: Run, stopped: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, opened = whole.spec, io.open
    run = Run(Path(shutil.copytree(stopped.folder, tmp_path / spec.id)))

    def refuse(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if name in str(file) and mode != "rb":
            raise OSError(number, os.strerror(number), str(file))
        return opened(file, mode, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(io, "open", refuse)  # what a Path opens files with
        with pytest.raises(UnknotError, match=rf"{name}: cannot be written \({os.strerror(number)}\)"):
            train(spec, tmp_path, checkpoint_every=7)
    assert not run.finished
    assert not list(run.folder.glob(".*.part"))
    assert torch.load(run.checkpoint, weights_only=True)["step"] == (50 if name == "checkpoint.pt" else 56)
    assert train(spec, tmp_path).weights.read_bytes() == whole.weights.read_bytes()


def test_a_run_whose_folder_cannot_be_made_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Any, *_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(UnknotError, match=r"runs.*cannot be written \(Read-only file system\)"):
        train(RunSpec(**SMALL), tmp_path / "runs")


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
        ({"options": {"beta": True}}, {}, "beta_vae: beta is True; expected float"),
        ({"world": "dsprite_rendered"}, {}, "unknown world 'dsprite_rendered'; did you mean 'dsprites_rendered'"),
        ({"split": "compositional"}, {}, "unknown .*'compositional'; did you mean 'composition'"),
        ({"architecture": "conv65"}, {}, "unknown architecture 'conv65'; did you mean 'conv64'"),
        ({"image_size": 48}, {}, "dSprites .rendered.: conv64: images of 48 pixels; expected one of 32, 64, 128"),
        ({"pairs": "laplace"}, {}, "beta_vae: does not learn from pairs"),
        ({"model": "ada_gvae", "pairs": "laplce"}, {}, "unknown law of pairs 'laplce'; did you mean 'laplace'"),
        ({}, {"device": "cuda:99"}, "device 'cuda:99' cannot be used here"),
        ({}, {"device": "abacus"}, "device 'abacus' cannot be used here"),
        ({}, {"device": "meta"}, "device 'meta' cannot be used here"),
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


def test_a_world_in_place_of_a_spec_is_refused() -> None:
    with pytest.raises(UnknotError, match=r"train: spec is 'dsprites_rendered'; expected a RunSpec"):
        train("dsprites_rendered")


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
