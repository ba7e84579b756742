"""Runs that are trained on all images but those of one combination."""

from pathlib import Path

import numpy as np
import pytest

from unknot.encoders.encoding import encode
from unknot.errors import UnknotError
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model, feed, load_model, train
from unknot.worlds import open_world

WORLD = "dsprites_rendered"
SPEC = RunSpec(world=WORLD, latents=3, image_size=32, steps=3, batch_size=8, split="combination:shape=0,scale=0")


def test_a_spec_has_one_id_however_its_combination_is_written() -> None:
    assert SPEC.split == "combination:scale=0,shape=0"
    assert SPEC.replace(split="combination: scale=0, shape=0").id == SPEC.id
    assert SPEC.replace(split="combination:scale=1,shape=0").id != SPEC.id
    assert RunSpec(**SPEC.model_dump()) == SPEC
    assert SPEC.title == "beta_vae on dsprites_rendered, combination:scale=0,shape=0 split, seed 0"


def test_no_training_image_shows_the_combination() -> None:
    world = open_world(WORLD)
    for spec in (SPEC, SPEC.replace(model="ada_gvae")):
        model, spec = build_model(spec, world)
        made = feed(spec, model, world)
        drawn = made.region.sample(5000, np.random.default_rng(0))
        shape, scale = drawn[:, 0], drawn[:, 1]
        assert not ((shape == 0) & (scale == 0)).any()
        assert (shape == 0).any() and (scale == 0).any()
    assert build_model(SPEC.replace(model="beta_tc_vae"), world)[0].n_images == 696_320


def test_a_run_is_trained_read_back_and_encoded_by_its_split(tmp_path: Path) -> None:
    run = train(SPEC, tmp_path)
    assert train(SPEC.replace(split="combination:scale=0,shape=0"), tmp_path).folder == run.folder
    assert Run(run.folder).spec.split == SPEC.split
    assert load_model(run) is not None
    made = encode(run, rows=60, split="combination:shape=0,scale=0")
    assert made.source["split"] == SPEC.split
    assert (made.factors_test[:, :2] == 0).all() and len(made.factors_test) == 60
    assert not (made.factors[:, :2] == 0).all(axis=1).any()


@pytest.mark.parametrize(
    ("split", "complaint"),
    [
        ("combination", "which one"),
        ("combination:scale=0", "two factors or more"),
        ("combination:scale=9,shape=0", "no image has the combination scale=9, shape=0"),
        ("combination:size=0,shape=0", "unknown factor 'size'"),
        ("combination:scale=a,shape=0", "'scale=a' is not a factor and its class"),
        ("combinations:scale=0,shape=0", "did you mean 'combination'"),
    ],
)
def test_a_combination_that_cannot_be_left_out_is_an_error_before_training(
    split: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknotError, match=complaint):
        train(SPEC.replace(split=split), tmp_path)
    assert not list(tmp_path.iterdir())
