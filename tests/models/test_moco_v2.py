"""MoCo v2: the loss by hand, the queue, the network that follows, and views."""

import colorsys
import math

import pytest
import torch
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.models._augment import (
    AUGMENTATIONS,
    Augmentations,
    blurred,
    brightness,
    cropped,
    jittered,
    turned,
    view,
)
from unknot.models.moco_v2 import MoCoV2, info_nce
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise
from unknot.runs import meters, trainer
from unknot.runs.optimisers import optimiser_of
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train
from unknot.worlds import open_world

WORLD = "dsprites_rendered"


def small(**options) -> MoCoV2:
    torch.manual_seed(0)
    model = MoCoV2(
        Setting(channels=3, pixels=32, latents=6, steps=100), **{"queue": 16, "projection": 8, **options}
    )
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def images(n: int = 4) -> torch.Tensor:
    return torch.rand(n, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_info_nce_by_hand():
    queries = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    keys = torch.tensor([[0.0, 1.0], [0.6, 0.8]])
    queue = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    first = -math.log(1 / (1 + math.exp(1 / 0.2) + math.exp(-1 / 0.2) + 1))
    own = math.exp(1 / 0.2)
    second = -math.log(own / (own + math.exp(0.6 / 0.2) + math.exp(-0.6 / 0.2) + math.exp(-0.8 / 0.2)))
    assert info_nce(queries, keys, queue, 0.2).item() == pytest.approx((first + second) / 2, rel=1e-5)


def test_the_second_network_starts_as_the_first_and_follows_it_by_its_momentum():
    model = small(momentum=0.75)
    weights, behind = model.encoder.head.weight, model.key_encoder.head.weight
    assert torch.equal(weights, behind) and weights is not behind
    before = behind.clone()
    with torch.no_grad():
        weights += 1
    model.after_step()
    torch.testing.assert_close(behind, 0.75 * before + 0.25 * (before + 1))
    assert not any(weight.requires_grad for weight in model.key_encoder.parameters())


def test_the_newest_keys_replace_the_oldest_and_the_queue_goes_round():
    model = small(queue=8)
    start = model.queue.clone()
    torch.testing.assert_close(start.norm(dim=1), torch.ones(8))
    seen = []
    for step in range(3):
        model.loss(Batch(images()), step, seeded(step))
        seen.append(model._keys.clone())
        model.after_step()
    assert torch.equal(model.queue[:4], seen[2]) and torch.equal(model.queue[4:], seen[1])
    assert int(model.cursor) == 4
    model.after_step()  # no loss, no keys
    assert int(model.cursor) == 4


def test_asking_for_the_loss_changes_nothing_and_keys_carry_no_gradient():
    model = small()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    loss = model.loss(Batch(images()), 0, seeded())["info_nce"]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert not model._keys.requires_grad
    assert torch.autograd.grad(loss, model.encoder.head.weight)[0].any()


def test_the_loss_compares_two_views_by_both_networks():
    model, generator = small(), seeded(4)
    first = view(images(), AUGMENTATIONS["moco_v2"], generator)
    second = view(images(), AUGMENTATIONS["moco_v2"], generator)
    q = functional.normalize(model.projector(model.encoder(first).mean), dim=1)
    k = functional.normalize(model.key_projector(model.key_encoder(second).mean), dim=1)
    expected = info_nce(q, k, model.queue, 0.2)
    assert model.loss(Batch(images()), 0, seeded(4))["info_nce"].item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_queue_that_is_no_multiple_of_the_batch_is_refused():
    with pytest.raises(UnknotError, match="queue is 16 with batches of 3"):
        small().loss(Batch(images(3)), 0, seeded())
    with pytest.raises(UnknotError, match=r"momentum is 1\.5"):
        small(momentum=1.5)


def test_the_optimiser_is_sgd_along_half_a_cosine():
    (player,) = small().players()
    assert (player.optimiser, player.momentum, player.weight_decay) == ("sgd", 0.9, 1e-4)
    assert [player.schedule(step) for step in (0, 50, 100)] == pytest.approx([1, 0.5, 0])


def test_training_lowers_the_loss_against_one_queue():
    model, batch = small(queue=8), Batch(images(8))
    model.loss(batch, 0, seeded(0))
    model.after_step()  # the first keys were drawn at random and are easily told from those of images
    (player,) = model.players()
    optimiser = optimiser_of(player, [*model.encoder.parameters(), *model.projector.parameters()], 0.03)
    values = []
    for _ in range(12):
        loss = model.loss(batch, 0, seeded(9))["info_nce"]
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        values.append(loss.item())
    assert values[-1] < values[0] - 0.01


def test_a_stopped_run_has_the_same_queue_as_one_that_was_not(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "LOG_EVERY", 4)
    monkeypatch.setattr(meters, "KL_IMAGES", 16)
    spec = RunSpec(world=WORLD, model="moco_v2", options={"queue": 16}, image_size=32, steps=6, batch_size=4)
    world = open_world(WORLD)
    whole = load_model(train(spec, tmp_path / "whole"), world=world).state_dict()

    def stop(stage, done, total, **facts):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path / "halves", checkpoint_every=3, progress=stop)
    halves = load_model(train(spec, tmp_path / "halves"), world=world).state_dict()
    assert int(halves["cursor"]) == 6 * 4 % 16
    assert all(torch.equal(whole[name], halves[name]) for name in whole)


def test_a_view_depends_on_the_generator_alone_and_stays_an_image():
    some = images(8)
    for how in AUGMENTATIONS.values():
        seen = view(some, how, seeded(3))
        assert seen.shape == some.shape
        assert seen.min() >= -1e-6 and seen.max() <= 1 + 1e-6
        assert torch.equal(seen, view(some, how, seeded(3)))
        assert not torch.equal(seen, view(some, how, seeded(4)))
    assert view(some[:, :1], AUGMENTATIONS["moco_v2"], seeded()).shape == (8, 1, 32, 32)


def test_a_view_that_may_change_nothing_is_the_image():
    still = Augmentations(1, 0, 0, 0, 0, 0, 0)
    torch.testing.assert_close(
        cropped(images(), torch.full((4, 4), 0.5), torch.zeros(4, dtype=bool), 1.0), images()
    )
    # Even a crop of the whole area has an aspect of its own, so only the rest is compared here.
    torch.testing.assert_close(jittered(images(), torch.full((4, 5), 0.9), still), images())


def test_a_mirrored_crop_is_the_mirror_image():
    flipped = cropped(images(), torch.full((4, 4), 0.5), torch.ones(4, dtype=bool), 1.0)
    torch.testing.assert_close(flipped, images().flip(3))


def test_a_crop_is_the_part_of_the_image_it_says():
    ramp = torch.linspace(0, 1, 32).expand(1, 1, 32, 32)
    box = torch.tensor([[0.0, 0.5, 0.0, 0.0]])  # a quarter of the area, square, at the left upper corner
    seen = cropped(ramp, box, torch.zeros(1, dtype=bool), 0.25)
    assert seen.min() >= 0 and 0.45 < seen.max() < 0.5


def test_hues_turn_as_those_of_the_standard_library():
    colours = torch.rand(6, 3, generator=seeded(5))
    turns = torch.linspace(-0.1, 0.4, 6)
    found = turned(colours.view(6, 3, 1, 1), turns)
    for rgb, turn, new in zip(colours.tolist(), turns.tolist(), found.view(6, 3).tolist(), strict=True):
        h, s, v = colorsys.rgb_to_hsv(*rgb)
        assert new == pytest.approx(colorsys.hsv_to_rgb((h + turn) % 1, s, v), abs=1e-5)
    grey = torch.full((1, 3, 2, 2), 0.3)
    torch.testing.assert_close(turned(grey, torch.tensor([0.3])), grey)


def test_brightness_is_weighted_as_eyes_do():
    assert brightness(torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1)).item() == pytest.approx(0.299)
    assert brightness(torch.ones(1, 3, 1, 1)).item() == pytest.approx(1)


def test_a_blur_keeps_flat_images_and_spreads_a_point_by_its_deviation():
    flat = torch.full((2, 3, 16, 16), 0.4)
    torch.testing.assert_close(blurred(flat, torch.tensor([0.5, 2.0])), flat)
    point = torch.zeros(2, 1, 33, 33)
    point[:, :, 16, 16] = 1
    seen = blurred(point, torch.tensor([1.0, 1.5]))
    place = torch.arange(33.0) - 16
    for image, sigma in zip(seen[:, 0], (1.0, 1.5), strict=True):
        assert image.sum().item() == pytest.approx(1, rel=1e-5)
        assert (image.sum(0) * place**2).sum().item() == pytest.approx(sigma**2, rel=0.02)
