"""Slots over the features of a frozen encoder: what is learned from, what comes out, mistakes."""

import json
import tracemalloc

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from unknot.cli import app
from unknot.encoders.encoder import Opening, find_encoder
from unknot.encoders.feature_slots import (
    RECORD,
    WEIGHTS,
    FeatureSlotOptions,
    place_features,
    train_feature_slots,
    windows,
)
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.models.feature_slots import FeatureSlots
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.scenes.dataset import SceneSet, write_scenes
from unknot.worlds.scenes.multi_sprites import MultiSprites

CALLS: list[int] = []
WORLD = MultiSprites(n=96, size=32, objects=(2, 3), ground=0.0)
TINY = FeatureSlotOptions(n=8, steps=1, slots=2, slot_size=8, hidden=8)
SMALL = FeatureSlotOptions(slots=4, slot_size=16, hidden=32, n=96, steps=120, batch_size=16, lr=3e-3)


def patches(images):
    """A tiny frozen network: mean and spread of the colours of 8 x 8 patches, (n, 64, 6)."""
    CALLS.append(len(images))
    cells = images.reshape(len(images), 8, 4, 8, 4, 3).swapaxes(2, 3).reshape(len(images), 64, 16, 3) / 255
    return np.concatenate([cells.mean(2), cells.std(2)], axis=2)


def colours(images):
    """One code for an image."""
    return images.mean((1, 2)) / 255


class Layers(torch.nn.Module):
    """Two layers of one shape, whose weights a test may change."""

    scale = 1.0

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.AvgPool2d(8), torch.nn.Softmax(dim=1)

    def forward(self, images):
        return self.last(self.scale * self.first(images))


@torch.no_grad()
def test_the_loss_is_the_error_of_what_slots_draw_together():
    torch.manual_seed(0)
    features, noise = torch.randn(2, 9, 5), torch.randn(2, 3, 8)
    network = FeatureSlots(torch.ones(5), 2 * torch.ones(5), 9, slots=3, slot_size=8, iterations=2, hidden=16)
    drawn, masks = network.decoded(network(features, noise))
    assert drawn.shape == (2, 3, 9, 5)
    torch.testing.assert_close(masks.sum(1), torch.ones(2, 9))
    by_hand = sum(masks[:, k, :, None] * drawn[:, k] for k in range(3)) - (features - 1) / 2
    assert float(network.loss(features, noise)) == pytest.approx(float((by_hand**2).mean()))
    # Exchanging slots at the start exchanges them at the end.
    torch.testing.assert_close(network(features, noise[:, [2, 0, 1]]), network(features, noise)[:, [2, 0, 1]])


def test_an_encoder_is_asked_once_for_every_image_and_slots_learn_its_features(tmp_path):
    CALLS.clear()
    slots = train_feature_slots(patches, WORLD, tmp_path, options=SMALL)
    few = CALLS[: -(-SMALL.n // 64) + 2]
    assert CALLS == few and sum(CALLS) <= SMALL.n + 32  # those of training, and a few for its fingerprint
    assert np.mean(slots.losses[-20:]) < 0.95  # the mean of the features alone would give 1
    images = WORLD.images(np.arange(5)[:, None])
    codes, masks = slots(images), slots.masks(images)
    assert codes.shape == (5, 4, 16) and masks.shape == (5, 4, 32, 32)
    np.testing.assert_allclose(masks.sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(slots(images), codes)
    assert set(slots.segmentation(WORLD, n=16)) == {"fg_ari", "ari"}
    CALLS.clear()
    again = train_feature_slots(patches, WORLD, tmp_path, options=SMALL)
    assert sum(CALLS) < SMALL.n and again.losses == slots.losses  # features were kept
    with pytest.raises(UnknotError, match="its encoder was a function without a name"):
        find_encoder(f"slots:{tmp_path}", WORLD.image_shape)


def test_a_command_trains_slots_that_are_an_encoder_by_their_folder(tmp_path):
    write_scenes(tmp_path / "scenes", SceneSet("black_sprites", n=24, size=32))
    words = ["slots", f"{__name__}:colours", "-o", str(tmp_path / "out"), "--world", str(tmp_path / "scenes")]
    small = ["--grid", "4", "--slots", "3", "--slot-size", "8", "--n", "24", "--steps", "5", "--batch-size", "8"]
    result = CliRunner().invoke(app, [*words, *small])
    assert result.exit_code == 0, result.output
    assert "fg_ari" in result.output and f"slots:{tmp_path / 'out'}" in result.output
    encoder = find_encoder(f"slots:{tmp_path / 'out'}", (32, 32, 3))
    images = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)
    assert np.asarray(encoder.encode(images)).shape == (2, 3, 8) and encoder.record["kind"] == "feature_slots"


def test_slots_are_opened_over_the_layer_they_were_trained_on(tmp_path, monkeypatch):
    images = WORLD.images(np.arange(3)[:, None])
    name, opened = f"{__name__}:Layers", f"slots:{tmp_path}"
    slots = train_feature_slots(name, WORLD, tmp_path, options=TINY, opening=Opening(pool="slots", layer="first"))
    np.testing.assert_array_equal(find_encoder(opened, WORLD.image_shape).encode(images), slots(images))
    for wrong in ({"pool": "mean"}, {"layer": "first"}, {"image_size": 8}):
        with pytest.raises(UnknotError, match=f"{next(iter(wrong))} is for timm and hf"):
            find_encoder(opened, WORLD.image_shape, Opening(**wrong))
    train_feature_slots(name, WORLD, tmp_path, options=TINY, opening=Opening(pool="slots"))
    before = Source(opened, WORLD).fingerprint
    assert Source(opened, WORLD).fingerprint == before
    monkeypatch.setattr(Layers, "scale", 9.0)
    assert Source(opened, WORLD).fingerprint != before, "what was computed with the old network is of no use"


def test_slots_over_a_run_are_opened_again(tmp_path):
    how = FeatureSlotOptions(n=4, steps=1, slots=2, slot_size=8, hidden=8, grid=2)
    source = Source("zoo:vae_dsprites")
    slots = train_feature_slots(source, folder=tmp_path, options=how)
    images = source.world.images(source.world.factors.classes(np.arange(2)))
    again = find_encoder(f"slots:{tmp_path}", source.world.image_shape)
    np.testing.assert_array_equal(again.encode(images), slots(images))


def test_damaged_and_foreign_folders_are_named(tmp_path):
    train_feature_slots(f"{__name__}:patches", WORLD, tmp_path, options=TINY)
    whole = json.loads((tmp_path / RECORD).read_text())

    def refused(record, match):
        (tmp_path / RECORD).write_text(json.dumps(record))
        with pytest.raises(UnknotError, match=match):
            find_encoder(f"slots:{tmp_path}", WORLD.image_shape)

    refused({"x": 1}, "cannot be read as slots over features .'encoder'.. Train them again")
    refused({**whole, "options": {"sluts": 3}}, "unexpected keyword argument 'sluts'")
    refused({**whole, "options": [3]}, "cannot be read as slots over features")
    refused({**whole, "options": {**whole["options"], "slot_size": 9}}, "size mismatch")
    for places in (15, 0, 10**12, "64"):
        refused({**whole, "places": places}, "cannot be read as slots over features")
    refused({**whole, "encoder": "this:zen"}, "would run the code")
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:100])
    refused(whole, "cannot be read as slots over features")


def test_windows_of_few_images_are_in_memory_at_a_time():
    encoder, images = find_encoder(colours, WORLD.image_shape), WORLD.images(np.arange(16)[:, None])
    tracemalloc.start()
    features = place_features(encoder, images, 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(features.reshape(-1, 3), colours(windows(images, 16)), rtol=1e-5)
    assert peak < windows(images, 16).nbytes


def test_windows_show_the_neighbourhood_of_each_place():
    image = np.arange(64, dtype=np.uint8).reshape(1, 8, 8, 1)
    cut = windows(image, 4)
    assert cut.shape == (16, 8, 8, 1)
    assert set(cut[0].ravel()) == set(image[0, :4, :4].ravel())  # the first stays inside
    assert set(cut[5].ravel()) == set(image[0, 1:5, 1:5].ravel())
    np.testing.assert_array_equal(windows(image, 1)[0], image[0])


def test_mistakes_are_named(tmp_path):
    images = WORLD.images([[0]])
    with pytest.raises(UnknotError, match="gives one code for an image; say grid=8"):
        place_features(find_encoder(colours, WORLD.image_shape), images, 0)
    with pytest.raises(UnknotError, match="gives 63 places; expected a square number"):
        place_features(find_encoder(lambda x: patches(x)[:, 1:], WORLD.image_shape), images, 0)
    large = ({"seed": 2**70}, {"slot_size": 10**9}, {"hidden": 10**6}, {"batch_size": 10**6})
    small = ({"slots": 0}, {"lr": float("inf")}, {"steps": 2.5}, {"grid": 65}, {"seed": -1}, {"n": "9"})
    for wrong in (*large, *small):
        with pytest.raises(UnknotError, match=next(iter(wrong))):
            FeatureSlotOptions(**wrong)
    with pytest.raises(UnknotError, match="holds no slots over features"):
        find_encoder(f"slots:{tmp_path}", WORLD.image_shape)
    slots = train_feature_slots(patches, WORLD, options=TINY)
    with pytest.raises(UnknotError, match="images is 'empty'; expected one image or more"):
        slots(images[:0])
    with pytest.raises(UnknotError, match="world is 'pictures'; expected a world with true masks"):
        slots.segmentation(ArrayWorld(np.full((2, 32, 32, 3), 9, np.uint8), name="pictures"))
