"""A run to play with: what a page of sliders asks of a model."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.reports.explorer import drawing
from unknot.reports.explorer.drawing import ExploredRun
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model
from unknot.worlds import open_world
from unknot.zoo import zoo_folder

WORLD = "dsprites_rendered"
SLOTS = {"slots": 3, "slot_size": 8, "channels": 8}
SMALLER: dict[str, dict[str, Any]] = {
    "slot_attention": {**SLOTS, "stride": 2, "full_layers": 0},
    "iodine": {**SLOTS, "refinements": 2, "hidden": 16},
    "monet": SLOTS,
}


def ended(folder: Path, model: str, **fields: Any) -> Run:
    """A run that looks trained: its weights are those it begins with."""
    given = {"image_size": 32, "latents": 8, "steps": 1, "options": SMALLER.get(model, {})} | fields
    network, spec = build_model(RunSpec(world=WORLD, model=model, **given), open_world(WORLD))
    run = Run.create(folder, spec)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, run.weights)
    return run


@pytest.mark.parametrize("model", [name for name, kind in MODELS.items() if kind.decodes])
def test_every_model_with_a_decoder_can_be_explored(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "ASKED", 50)
    explored = ExploredRun(ended(tmp_path, model))
    slots = 3 if model in SMALLER else 0
    assert explored.slots == slots
    assert sorted(slider.index for slider in explored.sliders) == list(range(len(explored.sliders)))
    assert all(slider.low < slider.high for slider in explored.sliders)
    code = explored.draw(np.random.default_rng(0))
    assert code.shape == (max(1, slots), len(explored.sliders))
    shown = explored.decode(code)
    assert shown.picture.shape == (32, 32, 1)
    assert len(shown.slots) == slots
    if slots:
        assert sum(mask for _, mask in shown.slots) == pytest.approx(1, abs=1e-5)
        whole = sum(picture * mask[..., None] for picture, mask in shown.slots)
        assert shown.picture == pytest.approx(whole, abs=1e-5)


def test_an_image_has_the_code_that_encoding_gives_and_its_true_factors(tmp_path: Path) -> None:
    run, world = ended(tmp_path, "beta_vae"), open_world(WORLD)
    explored = ExploredRun(run)
    seen = explored.image(200_000)
    classes = world.factors.classes([200_000])
    expected = Source.of(run).latents(classes)
    np.testing.assert_allclose(seen.code, expected, atol=1e-6)
    assert list(seen.factors) == ["shape", "scale", "orientation", "x", "y"]
    assert seen.factors["shape"] == world.factors["shape"].label(int(classes[0, 0]))
    assert seen.picture.shape == (32, 32, 1)
    assert explored.n_images == 737_280


def test_latents_are_in_the_order_of_their_kl_and_those_that_say_nothing_are_off(tmp_path: Path) -> None:
    run = ended(tmp_path, "beta_vae")
    weights = load_file(run.weights)
    weights["encoder.head.weight"].zero_()
    weights["encoder.head.bias"] = torch.cat([torch.tensor([0, 3, 0.0, 1, 0, 0, 0, 0]), torch.zeros(8)])
    save_file(weights, run.weights)
    sliders = ExploredRun(run).sliders
    assert [slider.name for slider in sliders][:2] == ["z1", "z3"]
    assert [slider.off for slider in sliders] == [False] * 2 + [True] * 6
    assert sliders[0].remark == "KL 4.50"
    assert (sliders[0].low, sliders[0].high) == (-3, 3)


def test_sliders_of_a_run_that_nobody_scored_say_what_their_latents_carry() -> None:
    explored = ExploredRun(zoo_folder("beta_tc_vae_dsprites"))
    says = [slider.carries for slider in explored.sliders if not slider.off]
    assert [text.split()[0] for text in says] == ["y", "x", "scale"], says
    assert all(re.match(r"\w+ [4-9]\d%", text) for text in says), says


def test_without_a_prior_a_draw_is_made_of_codes_of_images(tmp_path: Path) -> None:
    explored = ExploredRun(ended(tmp_path, "autoencoder"))
    assert "from a random image" in explored.draws
    code = explored.draw(np.random.default_rng(0))
    assert all(code[0, i] in explored._codes[:, 0, i] for i in range(8))
    assert "prior" in ExploredRun(ended(tmp_path, "vae")).draws


def test_what_cannot_be_explored_is_refused_with_what_can(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="is not a run; it has no run"):
        ExploredRun(tmp_path)
    for model in ("cnn", "moco_v2"):
        with pytest.raises(
            UnknotError, match=rf"{model} has no decoder.*Models that can be explored: vae, beta_vae"
        ):
            ExploredRun(ended(tmp_path, model))
    with pytest.raises(UnknotError, match="is not finished"):
        ExploredRun(Run.create(tmp_path, RunSpec(world=WORLD, steps=7)))
