"""Slot attention: its arithmetic by hand, its symmetries, its size, and what it shows."""

import math

import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.models._slot_grouping import EPSILON, Grouping, noise_of, positions
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise
from unknot.models.slot_attention import SlotAttention
from unknot.runs.optimisers import optimiser_of, set_rate

SMALL = {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0}


def small(**options) -> SlotAttention:
    torch.manual_seed(0)
    model = SlotAttention(Setting(channels=3, pixels=32), **{**SMALL, **options})
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def images(n: int = 4) -> torch.Tensor:
    return torch.rand(n, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def grouping() -> Grouping:
    torch.manual_seed(0)
    return Grouping(6, 4, hidden=8)


def test_the_reference_at_128_pixels_has_890_308_weights():
    model = SlotAttention(Setting(channels=3, pixels=128))
    assert sum(weight.numel() for weight in model.parameters()) == 890_308
    # encoder 4 + 3 layers, positions, norm, MLP; three norms, q k v, GRU, MLP, mu and sigma; positions, 5 + 1 layers
    layer = 64 * 64 * 25 + 64
    encoder = 3 * 64 * 25 + 64 + 3 * layer + 5 * 64 + 128 + 2 * 65 * 64
    attention = 3 * 128 + 3 * 64 * 64 + 2 * (3 * 64 * 64 + 3 * 64) + 65 * 128 + 129 * 64 + 128
    decoder = 5 * 64 + 5 * layer + 64 * 4 * 9 + 4
    assert encoder + attention + decoder == 890_308


@pytest.mark.parametrize("pixels", [32, 64, 128])
def test_the_decoder_ends_at_the_size_of_the_image(pixels):
    model = SlotAttention(Setting(channels=3, pixels=pixels), slots=2, channels=4, slot_size=4)
    pictures, logits = model.decoder(torch.rand(1, 2, 4), pixels)
    assert pictures.shape == (1, 2, 3, pixels, pixels)
    assert logits.shape == (1, 2, pixels, pixels)


def test_a_square_that_does_not_double_to_the_image_is_refused():
    with pytest.raises(UnknotError, match="broadcast is 12"):
        SlotAttention(Setting(pixels=64), broadcast=12)
    with pytest.raises(UnknotError, match="broadcast is 128"):
        SlotAttention(Setting(pixels=64), broadcast=128)
    with pytest.raises(UnknotError, match="stride is 3"):
        SlotAttention(Setting(pixels=64), stride=3)


def test_attention_is_a_softmax_over_slots():
    module = grouping()
    keys, slots = torch.randn(2, 5, 4), torch.randn(2, 3, 4)
    weights = module.attention(keys, slots)
    torch.testing.assert_close(weights.sum(2), torch.full((2, 5), 1 + 3 * EPSILON))
    queries = module.query(module.norm_slots(slots))
    logit = (keys[1, 4] @ queries[1].T) / math.sqrt(4)
    torch.testing.assert_close(weights[1, 4], logit.softmax(0) + EPSILON)


def test_one_iteration_is_the_gru_of_the_weighted_mean_then_a_residual_mlp():
    module = grouping()
    inputs, slots = torch.randn(1, 5, 6), torch.randn(1, 3, 4)
    normed = module.norm_inputs(inputs)
    keys, values = module.key(normed)[0], module.value(normed)[0]
    weights = module.attention(keys[None], slots)[0]
    found = module(inputs, slots, 1)[0]
    for k in range(3):
        share = weights[:, k] / weights[:, k].sum()
        assert share.sum().item() == pytest.approx(1)
        update = sum(share[n] * values[n] for n in range(5))
        before = slots[0, k]
        # The GRU, gate by gate: reset, update, new.
        from_update = module.cell.weight_ih @ update + module.cell.bias_ih
        from_slot = module.cell.weight_hh @ before + module.cell.bias_hh
        reset = torch.sigmoid(from_update[:4] + from_slot[:4])
        keep = torch.sigmoid(from_update[4:8] + from_slot[4:8])
        new = torch.tanh(from_update[8:] + reset * from_slot[8:])
        moved = (1 - keep) * new + keep * before
        torch.testing.assert_close(found[k], moved + module.mlp(module.norm_mlp(moved)))


def test_exchanging_slots_exchanges_the_result_and_exchanging_inputs_does_nothing():
    module = grouping()
    inputs, slots = torch.randn(2, 5, 6), torch.randn(2, 3, 4)
    found = module(inputs, slots, 3)
    torch.testing.assert_close(module(inputs, slots[:, [2, 0, 1]], 3), found[:, [2, 0, 1]])
    torch.testing.assert_close(module(inputs[:, [4, 2, 0, 1, 3]], slots, 3), found)


def test_an_image_does_not_depend_on_the_order_of_its_slots():
    model = small()
    slots = torch.randn(2, 3, 8)
    torch.testing.assert_close(model.decode(slots[:, [1, 2, 0]]), model.decode(slots))


def test_implicit_gradients_pass_the_last_iteration_alone():
    module = grouping()
    inputs, slots = torch.randn(1, 5, 6), torch.randn(1, 3, 4, requires_grad=True)
    whole = module(inputs, slots, 3)
    torch.testing.assert_close(module(inputs, slots, 3, implicit=True), whole)
    assert torch.autograd.grad(whole.sum(), slots)[0].abs().sum() > 0
    assert torch.autograd.grad(module(inputs, slots, 3, implicit=True).sum(), slots, allow_unused=True) == (None,)


def test_masks_sum_to_one_and_the_image_is_their_mixture():
    model = small()
    drawn = model.slots_decoded(model.represent(images()))
    torch.testing.assert_close(drawn.masks.sum(1), torch.ones(4, 32, 32))
    torch.testing.assert_close(model.masks(images()), drawn.masks)
    assert drawn.pictures.min() >= 0 and drawn.pictures.max() <= 1
    by_hand = sum(drawn.masks[:, k, None] * drawn.pictures[:, k] for k in range(3))
    torch.testing.assert_close(drawn.combined(), by_hand)


def test_the_loss_is_the_mean_squared_error_of_images_between_minus_one_and_one():
    model = small()
    noise = torch.randn((4, 3, 8), generator=torch.Generator().manual_seed(3))
    pictures, logits = model.decoder(model.slots_of(images(), noise), 32)
    made = (pictures * logits.softmax(1)[:, :, None]).sum(1)
    terms = model.loss(Batch(images()), 0, torch.Generator().manual_seed(3))
    assert terms["reconstruction"].item() == pytest.approx(
        ((2 * images() - 1 - made) ** 2).mean().item(), rel=1e-6
    )


def test_slots_start_from_one_law_that_is_learned_unless_told_not_to():
    model = small()
    start = model.mu + model.log_sigma.exp() * torch.zeros(1, 3, 8)
    assert torch.equal(start[0, 0], start[0, 2])
    bound = math.sqrt(6 / 9)
    assert model.mu.abs().max() <= bound and model.log_sigma.abs().max() <= bound
    fixed = small(learned=False)
    assert not fixed.mu.requires_grad and not fixed.log_sigma.requires_grad
    assert {"mu", "log_sigma"} <= set(fixed.state_dict())
    terms = model.loss(Batch(images()), 0, torch.Generator().manual_seed(0))
    for gradient in torch.autograd.grad(terms["reconstruction"], [model.mu, model.log_sigma]):
        assert gradient.abs().sum() > 0


def test_noise_belongs_to_the_image_or_to_all_if_asked():
    some = images(3)
    noise = noise_of(some, 5, 4)
    assert noise.shape == (3, 5, 4)
    assert torch.equal(noise_of(some[1:], 5, 4), noise[1:])
    assert not torch.equal(noise[0], noise[1])
    assert torch.equal(noise_of(some.contiguous(memory_format=torch.channels_last), 5, 4), noise)
    shared = noise_of(some, 5, 4, shared=True)
    assert torch.equal(shared[0], shared[2])


def test_more_slots_and_iterations_may_be_used_after_training():
    model = small()
    model.slots, model.iterations = 6, 5
    assert model.represent(images()).shape == (4, 6, 8)


def test_positions_are_y_x_and_their_complements():
    grid = positions(3)
    assert grid[:, 0, 2].tolist() == [0, 1, 1, 0]
    assert grid[:, 1, 0].tolist() == [0.5, 0, 0.5, 1]


def test_recurrent_weights_are_orthogonal_and_the_rest_of_the_cell_glorot():
    cell = small().grouping.cell
    torch.testing.assert_close(cell.weight_hh.T @ cell.weight_hh, torch.eye(8), atol=1e-5, rtol=0)
    bound = math.sqrt(6 / (8 + 24))
    assert 0.8 * bound < cell.weight_ih.abs().max() <= bound
    assert not cell.bias_ih.any() and not cell.bias_hh.any()
    plain = nn.GRUCell(8, 8)
    initialise(plain, "torch", torch.Generator().manual_seed(0))
    assert all(weight.abs().max() <= 8**-0.5 for weight in plain.parameters())


def test_the_learning_rate_rises_for_ten_thousand_steps_and_halves_every_hundred_thousand():
    model = small(warm_up=10_000, half_life=100_000)
    (player,) = model.players()
    optimiser = optimiser_of(player, list(model.parameters()), 4e-4)
    rates = []
    for step in (0, 4_999, 100_000, 300_000):
        set_rate(optimiser, player, 4e-4, step, 1.0)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([4e-8, 2e-4 * 0.5**0.04999, 2e-4, 5e-5], rel=1e-6)


def test_gradients_reach_the_first_layer_of_the_encoder():
    model = small()
    terms = model.loss(Batch(images()), 0, torch.Generator().manual_seed(0))
    (gradient,) = torch.autograd.grad(terms["reconstruction"], model.encoder[0].weight)
    assert gradient.abs().sum() > 0


QUICK = {"slot_size": 8, "kernels": "5,3,3", "slot_decoder": "mlp", "target": 16, "test_iterations": 5}


def test_a_coordinate_decoder_draws_the_same_scene_at_any_size():
    model = small(**QUICK)
    slots = torch.randn(2, 3, 8)
    coarse, fine = (model.slots_decoded(slots, size) for size in (16, 64))
    assert coarse.masks.shape == (2, 3, 16, 16) and fine.pictures.shape == (2, 3, 3, 64, 64)
    assert model.masks(images()).shape == (4, 3, 32, 32)
    means = nn.functional.avg_pool2d(fine.masks, 4)  # 4 x 4 places whose mean is the place of the coarse pixel
    torch.testing.assert_close(means, coarse.masks, atol=0.05, rtol=0)
    # by hand, at the first pixel of 16: its centre is at -15 / 16 in both directions
    decoder, place = model.decoder, torch.tensor([-15 / 16, -15 / 16])
    angles = [math.pi * place, 2 * math.pi * place, 4 * math.pi * place]
    waves = torch.cat([place, *(wave for angle in angles for wave in (angle.sin(), angle.cos()))])
    hidden = decoder.slot(slots[1, 2]) + decoder.place(waves)
    torch.testing.assert_close(decoder.body(hidden)[:3], decoder(slots, 16)[0][1, 2, :, 0, 0])


@pytest.mark.parametrize("slot_decoder", ["mlp", "affine"])
def test_slots_drawn_in_parts_are_those_drawn_at_once(slot_decoder):
    model, slots = small(slot_decoder=slot_decoder), torch.rand(26, 3, 8)  # 26 x 3 x 32^2 places: three parts
    at_once = model.decoder(slots, 32)
    with torch.no_grad():
        in_parts = model.decoder(slots, 32)
    for once, part in zip(at_once, in_parts, strict=True):
        torch.testing.assert_close(part, once.detach())


@pytest.mark.parametrize("slot_decoder", ["mlp", "broadcast"])
def test_a_target_is_the_picture_averaged_to_its_size(slot_decoder):
    model = small(**QUICK | {"slot_decoder": slot_decoder})
    noise = torch.randn((4, 3, 8), generator=torch.Generator().manual_seed(3))
    pictures, logits = model.decoder(model.slots_of(images(), noise), 16)
    drawn = (pictures * logits.softmax(1)[:, :, None]).sum(1)
    aim = (2 * images() - 1).reshape(4, 3, 16, 2, 16, 2).mean((3, 5))
    terms = model.loss(Batch(images()), 0, torch.Generator().manual_seed(3))
    assert terms["reconstruction"].item() == pytest.approx((aim - drawn).pow(2).mean().item(), rel=1e-5)
    assert model.masks(images()).shape == (4, 3, 32, 32)


def test_learned_queries_need_no_noise_and_get_the_gradient_of_the_last_iteration():
    model = small(start="queries")
    one, other = torch.randn(2, 2, 3, 8)
    assert torch.equal(model.slots_of(images(2), one), model.slots_of(images(2), other))
    assert "mu" not in model.state_dict() and model.queries.shape == (3, 8)
    module, inputs = grouping(), torch.randn(1, 5, 6)
    start = torch.randn(1, 3, 4, requires_grad=True)
    slots = module(inputs, start, 3, through=True)
    torch.testing.assert_close(slots, module(inputs, start, 3))
    before = module(inputs, start, 2).detach().requires_grad_()
    (straight,) = torch.autograd.grad(slots.square().sum(), start)
    (last,) = torch.autograd.grad(module(inputs, before, 1).square().sum(), before)
    torch.testing.assert_close(straight, last)


def test_a_code_may_take_more_iterations_than_training():
    model = small(test_iterations=5)
    noise = noise_of(images(), 3, 8)
    torch.testing.assert_close(model.represent(images()), model.slots_of(images(), noise, 5))
    assert not torch.equal(model.slots_of(images(), noise), model.represent(images()))


def test_kernels_are_odd_sizes_with_commas():
    assert [layer.kernel_size[0] for layer in small(kernels="5,3").encoder if isinstance(layer, nn.Conv2d)] == [
        5,
        3,
    ]
    for word in ("4,3", "5;3", "", "5,", "9" * 5000):
        with pytest.raises(UnknotError, match="kernels"):
            small(kernels=word)


def test_a_loss_of_some_places_is_that_of_the_picture_there():
    whole, some = small(**QUICK), small(**QUICK, places=40)
    noise = torch.randn((4, 3, 8), generator=torch.Generator().manual_seed(3))
    pictures, logits = whole.decoder(whole.slots_of(images(), noise), 16)
    drawn = (pictures * logits.softmax(1)[:, :, None]).sum(1)
    aim = (2 * images() - 1).reshape(4, 3, 16, 2, 16, 2).mean((3, 5))
    generator = torch.Generator().manual_seed(3)
    torch.randn((4, 3, 8), generator=generator)
    chosen = torch.randperm(256, generator=generator)[:40]
    error = (drawn - aim).flatten(2)[:, :, chosen].pow(2).mean().item()
    terms = some.loss(Batch(images()), 0, torch.Generator().manual_seed(3))
    assert terms["reconstruction"].item() == pytest.approx(error, rel=1e-5)
    every = small(**QUICK, places=256).loss(Batch(images()), 0, torch.Generator().manual_seed(3))
    assert every["reconstruction"].item() == pytest.approx((drawn - aim).pow(2).mean().item(), rel=1e-5)
    with pytest.raises(UnknotError, match="places is 40"):
        small(places=40)


def affine(**options) -> SlotAttention:
    torch.manual_seed(0)
    return SlotAttention(Setting(channels=3, pixels=32), **{**SMALL, "slot_decoder": "affine", **options})


def test_colours_of_the_affine_decoder_are_linear_in_the_place_until_they_are_bent():
    model = affine()
    slots = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(2))

    def steps_between_rows() -> torch.Tensor:
        pictures, logits = model.decoder(slots, 16)
        assert pictures.shape == (2, 3, 3, 16, 16) and logits.shape == (2, 3, 16, 16)
        return pictures.diff(dim=3)

    rows = steps_between_rows()
    assert rows.abs().max() > 1e-3
    torch.testing.assert_close(rows, rows[:, :, :, :1].expand_as(rows), atol=1e-5, rtol=0)
    torch.nn.init.normal_(model.decoder.bends.body[-1].weight)
    assert steps_between_rows().diff(dim=3).abs().max() > 1e-2
    straight, _ = model.decoder(slots, 16, straight=True)
    torch.testing.assert_close(straight.diff(dim=3), rows)


@pytest.mark.parametrize(("step", "bent"), [(9, False), (10, True)])
def test_what_bends_colours_learns_only_after_the_straight_steps(step, bent):
    model = affine(straight=10, target=16, places=64)
    terms = model.loss(Batch(images()), step, torch.Generator().manual_seed(0))
    terms["reconstruction"].backward()
    assert model.decoder.colour[0].weight.grad.abs().sum() > 0
    assert (model.decoder.bends.body[-1].weight.grad is not None) == bent


def test_straight_steps_are_for_the_affine_decoder():
    with pytest.raises(UnknotError, match="straight"):
        small(straight=10, slot_decoder="mlp")
