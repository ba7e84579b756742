"""What is measured while a model trains."""

import json
from pathlib import Path

import pytest
import torch

from unknot.errors import UnknotError, UnknotWarning
from unknot.runs import trainer
from unknot.runs.meters import KLMeter, usual_meters
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.trainer import Trainer
from unknot.runs.training import build_model, feed, train
from unknot.worlds import open_world

SPEC = RunSpec(world="dsprites_rendered", latents=3, image_size=32, steps=4, batch_size=4)
CPU = torch.device("cpu")


class Counter:
    """A meter of anybody's own."""

    name, every, identity, about = "counter", 2, "", {}

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def row(self, model: torch.nn.Module, device: torch.device) -> dict[str, float]:
        self.seen.append(model.training)
        if len(self.seen) == 2:
            raise UnknotError("nothing can be counted")
        return {"n": float(len(self.seen))}


def test_a_meter_of_ones_own_has_its_table_and_its_refusal_costs_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter()
    with pytest.warns(UnknotWarning, match=r"counter could not be measured at step 4 \(nothing can be counted\)"):
        run = train(SPEC, tmp_path, meters=[counter])
    assert counter.seen == [False, False]  # in evaluation mode
    assert run.table("counter").to_dict("list") == {"step": [2], "n": [1.0]}
    assert run.kl()["step"].tolist() == [4]


def test_a_meter_that_is_never_asked_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    counter = Counter()
    counter.every = 0
    with pytest.raises(UnknotError, match="train: counter_every is 0; expected at least 1"):
        train(SPEC, tmp_path / "runs", meters=[counter])
    assert not (tmp_path / "runs").exists()


def _trainer(run: Run) -> Trainer:
    world = open_world(SPEC.world)
    model, spec = build_model(SPEC, world)
    batches = feed(spec, model, world)
    return Trainer(run, model, batches, CPU, meters=usual_meters(model, batches))


def test_a_checkpoint_of_an_older_version_is_gone_on_from(tmp_path: Path) -> None:
    run = Run.create(tmp_path, build_model(SPEC, open_world(SPEC.world))[1])
    first = _trainer(run)
    first.advance()
    first._checkpoint()
    state = torch.load(run.checkpoint, weights_only=True)
    tables = json.loads(state["tables"])
    assert set(tables) == {"curve", "latents"}  # the name it always had
    kl = [{"step": 1, "latent_0": 0.5, "latent_1": 0.25, "latent_2": 0.0}]
    coat = [{"step": 1, "l2_coat": 0.5}]
    old = {"curve": tables["curve"], "latents": kl, "segmentation": [], "coat": coat, "coat_corpus": "abc"}
    torch.save(state | {"tables": json.dumps(old)}, run.checkpoint)
    again = _trainer(run)
    assert again.step == 1
    assert again.tables == {"kl": kl, "segmentation": [], "coat": coat}
    again._checkpoint()
    assert json.loads(torch.load(run.checkpoint, weights_only=True)["tables"]) == old
    done = train(SPEC, tmp_path)
    assert done.kl()["step"].tolist() == [1, 4]
    assert done.coat().to_dict("records") == coat
    assert not (done.folder / "segmentation.parquet").exists()


def test_a_checkpoint_from_before_there_were_other_curves_is_read(tmp_path: Path) -> None:
    run = Run.create(tmp_path, build_model(SPEC, open_world(SPEC.world))[1])
    first = _trainer(run)
    first.advance()
    first._checkpoint()
    assert _trainer(run).tables == {"kl": []}


def test_the_kl_is_that_of_the_model_s_posterior_and_nothing_without_one() -> None:
    world = open_world(SPEC.world)
    model, spec = build_model(SPEC, world)
    row = KLMeter(feed(spec, model, world)).row(model.eval(), CPU)
    assert list(row) == ["latent_0", "latent_1", "latent_2"]
    assert all(value >= 0 for value in row.values())
    plain, spec = build_model(SPEC.replace(model="autoencoder"), world)
    assert KLMeter(feed(spec, plain, world)).row(plain.eval(), CPU) == {}


def test_the_trainer_knows_neither_pages_nor_tasks() -> None:
    text = Path(trainer.__file__).read_text(encoding="utf-8")
    assert "unknot.reports" not in text and "unknot.tasks" not in text
