"""FG-ARI while a model of objects trains."""

import numpy as np
import pytest
import torch

from unknot.factors import space
from unknot.models.model import Model
from unknot.runs import meters, trainer
from unknot.runs.batches import Feed
from unknot.runs.meters import SegmentationMeter, true_segments
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.worlds import WorldDefaults, open_world

CPU = torch.device("cpu")


class Halves(WorldDefaults):
    """Two squares, red and green, on black: the first in the left half, the second in the right, x pixels from it."""

    name, image_shape = "halves", (32, 32, 3)
    factors = space({"x": 8, "y": 8})

    def masks(self, classes):
        ids = np.zeros((len(classes), 32, 32), np.uint8)
        for image, (x, y) in zip(ids, np.asarray(classes), strict=True):
            image[y + 4 : y + 12, x : x + 8] = 1
            image[y + 8 : y + 16, x + 16 : x + 24] = 2
        return ids

    def images(self, classes, *, rng=None):
        colours = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0]], np.uint8)
        return colours[self.masks(classes)]


class Oracle(Model):
    """Red, green and the rest are its slots."""

    def masks(self, images):
        red, green = images[:, 0], images[:, 1]
        return torch.stack([1 - red - green, red, green], dim=1)


class Lump(Model):
    """One slot takes all."""

    def masks(self, images):
        return torch.stack([torch.ones_like(images[:, 0]), torch.zeros_like(images[:, 0])], dim=1)


def batches(**fields) -> Feed:
    return Feed(world=Halves(), batch_size=4, seed=0, **fields)


def row(model: Model, feed: Feed, n: int = 4) -> dict[str, float]:
    return SegmentationMeter(feed, every=1, n=n).row(model, CPU)


def test_a_model_that_knows_the_objects_scores_one_and_one_that_knows_nothing_zero():
    assert row(Oracle(), batches(), 8) == {"fg_ari": 1.0, "ari": 1.0}
    assert row(Lump(), batches(), 8) == {"fg_ari": 0.0, "ari": 0.0}


def test_there_is_no_row_where_model_or_world_have_no_masks():
    assert row(Model(), batches()) == {}
    world = open_world("dsprites_rendered")
    assert row(Oracle(), Feed(world=world, batch_size=4, seed=0)) == {}


def test_ids_are_resized_by_the_nearest_pixel():
    classes = np.array([[0, 0], [4, 2]])
    half = true_segments(batches(image_size=16), classes)
    assert half.shape == (2, 16, 16)
    assert np.array_equal(half, Halves().masks(classes)[:, 1::2, 1::2])
    assert set(np.unique(true_segments(batches(image_size=48), classes))) == {0, 1, 2}
    assert row(Oracle(), batches(image_size=64))["fg_ari"] > 0.95


def test_measuring_leaves_the_random_state_alone():
    before = torch.get_rng_state()
    row(Oracle(), batches())
    assert torch.equal(torch.get_rng_state(), before)


SMALL = {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0, "warm_up": 0}


def test_a_run_writes_its_curve_and_its_sheet_of_slots_and_keeps_both_over_a_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(meters, "MEASURE_EVERY", 2)
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)
    monkeypatch.setattr("unknot.runs.training.open_world", lambda name, data=None: Halves())
    spec = RunSpec(world="halves", model="slot_attention", options=SMALL, steps=5, batch_size=4)
    whole = train(spec, tmp_path / "whole")
    table = whole.segmentation()
    assert table["step"].tolist() == [2, 4, 5]
    assert table.columns.tolist() == ["step", "fg_ari", "ari"]
    assert (whole.folder / "pictures" / "slots.png").is_file()
    assert not (whole.folder / "kl.parquet").exists()

    def stop(stage, done, total, **facts):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path / "halves", checkpoint_every=2, progress=stop)
    assert train(spec, tmp_path / "halves").segmentation().equals(table)
