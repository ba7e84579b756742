"""The pictures of a run: drawn while it trains, and changing nothing about it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from unknot.encoders.encoding import encode
from unknot.errors import UnknotWarning
from unknot.models import MODELS
from unknot.runs import pictures
from unknot.runs.pictures import draw, draw_hinton, draw_run, shown_images
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model, feed, load_model, train
from unknot.runs.training_world import open_training_world
from unknot.worlds import open_world

WORLD = "dsprites_rendered"
SPEC = RunSpec(world=WORLD, latents=4, image_size=32, steps=4, batch_size=4)
SMALLER: dict[str, dict[str, float]] = {  # to save time and memory
    "iodine": {"slots": 2, "slot_size": 4, "refinements": 2, "channels": 8, "hidden": 16},
    "bit_resnet101": {"width": 0.5},
}
DRAWN = ["reconstructions.png", "traversals.gif", "traversals.png"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_draws_at_checkpoints_and_at_its_end_and_is_no_other_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []

    def watched(*arguments: object, **options: object) -> object:
        titles.append(str(options["title"]))
        return draw(*arguments, **options)

    monkeypatch.setattr(pictures, "draw", watched)
    drawn = train(SPEC, tmp_path / "a", checkpoint_every=3)
    assert [title.rpartition(", ")[2] for title in titles] == ["step 3", "step 4"]
    assert _names(drawn.folder / "pictures") == DRAWN
    monkeypatch.setattr(pictures, "draw", lambda *_, **__: [])
    plain = train(SPEC, tmp_path / "b", checkpoint_every=3)
    assert plain.weights.read_bytes() == drawn.weights.read_bytes()


def test_a_picture_that_cannot_be_drawn_does_not_cost_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no paint")

    monkeypatch.setattr(pictures, "draw", broken)
    with pytest.warns(UnknotWarning, match="no paint"):
        assert train(SPEC, tmp_path).finished


def test_all_pictures_of_a_run_are_drawn_again_from_its_folder(tmp_path: Path) -> None:
    run = train(SPEC, tmp_path)
    before = (run.folder / "pictures" / "reconstructions.png").read_bytes()
    for path in (run.folder / "pictures").iterdir():
        path.unlink()
    model = load_model(run)
    written = draw_run(run, model, feed(run.spec, model, open_training_world(run)), encode(run, rows=500))
    assert (
        sorted(path.name for path in written) == sorted([*DRAWN, "hinton.png"]) == _names(run.folder / "pictures")
    )
    assert (run.folder / "pictures" / "reconstructions.png").read_bytes() == before


@pytest.mark.parametrize("name", MODELS)
def test_every_model_with_a_decoder_is_drawn_and_left_as_it_was(name: str, tmp_path: Path) -> None:
    world = open_world(WORLD)
    model, spec = build_model(SPEC.replace(model=name, latents=10, options=SMALLER.get(name, {})), world)
    model.train()
    state = torch.random.get_rng_state()
    images = shown_images(feed(spec, model, world))
    written = draw(model, images, tmp_path)
    assert len(written) == (2 if model.decodes else 0)
    assert model.training
    assert torch.equal(torch.random.get_rng_state(), state)
    for path in written:
        with Image.open(path) as picture:
            assert np.asarray(picture).std() > 0


def test_a_representation_without_factors_has_no_hinton_diagram(tmp_path: Path) -> None:
    from unknot.representation import Representation

    assert draw_hinton(Representation(np.zeros((5, 2))), tmp_path) == []


def test_of_many_latents_only_the_most_informative_are_moved(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pictures, "MOVED", 2)
    rows = []
    monkeypatch.setattr(pictures, "traversals", lambda decode, code, plan, title: rows.append(plan.order))
    monkeypatch.setattr(pictures, "write_picture", lambda picture, path: path)
    world = open_world("dsprites_rendered")
    model, _ = build_model(RunSpec(world="dsprites_rendered", steps=1, image_size=64), world)
    kl = np.array([0.1, 3, 0.2, 0, 0, 2, 0, 0, 0, 0])
    pictures.draw(model, torch.rand(4, 1, 64, 64), tmp_path, kl=kl)
    assert rows == [(1, 5)]
