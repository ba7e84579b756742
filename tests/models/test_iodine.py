"""IODINE: its prior, its likelihoods, what a refinement sees and what gradients pass."""

import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from unknot.models._refinement import Look, Refinement, flat_inputs, normed, spatial_inputs, without_each
from unknot.models.iodine import IODINE, kl_to_prior, posterior
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise


def small(**options) -> IODINE:
    torch.manual_seed(0)
    sizes = {"slots": 2, "slot_size": 3, "refinements": 2, "channels": 4, "hidden": 8, **options}
    model = IODINE(Setting(channels=3, pixels=16), **sizes)
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def images(n: int = 2) -> torch.Tensor:
    return torch.rand(n, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def a_look(k: int = 2, **changes) -> Look:
    torch.manual_seed(2)
    pictures, logits = torch.randn(2, k, 3, 4, 4), torch.randn(2, k, 4, 4)
    parameters = torch.randn(2, k, 6)
    gradients = [torch.randn_like(each) for each in (pictures, logits, parameters)]
    return Look(pictures, logits, torch.randn(2, k, 4, 4), parameters, *gradients)._replace(**changes)


def test_the_prior_has_variance_softplus_of_zero():
    mean, variance = posterior(torch.zeros(4, 6))
    assert not mean.any()
    torch.testing.assert_close(variance, torch.full((4, 3), math.log(2)))
    assert kl_to_prior(mean, variance).abs().max() < 1e-6
    m, v = torch.randn(5), torch.rand(5) + 0.1
    by_torch = kl_divergence(Normal(m, v.sqrt()), Normal(torch.zeros(5), math.log(2) ** 0.5))
    torch.testing.assert_close(kl_to_prior(m, v), by_torch)


def test_all_slots_start_from_one_learned_vector_at_the_prior():
    model = small()
    first = next(model.steps(images(), torch.zeros(2, 3, 2, 3)))
    assert torch.equal(first.parameters, torch.zeros(2, 2, 6))
    assert not first.kl.any()
    loss = sum(model.loss(Batch(images()), 0, torch.Generator().manual_seed(0)).values())
    assert torch.autograd.grad(loss, model.start)[0].abs().sum() > 0


@pytest.mark.parametrize("likelihood", ["logistic", "gaussian"])
def test_densities_are_those_of_torch(likelihood):
    model = small(likelihood=likelihood, sigma=0.2)
    seen, pictures = torch.rand(1, 3, 2, 2), torch.rand(1, 2, 3, 2, 2)
    if likelihood == "gaussian":
        each = Normal(pictures, 0.2).log_prob(seen[:, None])
    else:
        away = (seen[:, None] - pictures) / 0.2
        each = torch.log(torch.exp(-away) / (0.2 * (1 + torch.exp(-away)) ** 2))
    torch.testing.assert_close(model.density(seen, pictures), each.sum(2))


def test_losses_of_steps_are_weighted_from_zero_to_one():
    model = small(refinements=4)
    noise = torch.randn((2, 5, 2, 3), generator=torch.Generator().manual_seed(7))
    taken = list(model.steps(images(), noise))
    terms = model.loss(Batch(images()), 0, torch.Generator().manual_seed(7))
    weights = (0, 0.25, 0.5, 0.75, 1)
    nll = sum(w * step.nll.mean().item() for w, step in zip(weights, taken, strict=True))
    kl = sum(w * step.kl.mean().item() for w, step in zip(weights, taken, strict=True))
    assert terms["reconstruction"].item() == pytest.approx(nll, rel=1e-5)
    assert terms["kl"].item() == pytest.approx(kl, rel=1e-5)


def test_one_step_is_the_mixture_over_slots_at_every_pixel():
    model = small()
    noise = torch.randn(2, 1, 2, 3)
    (step,) = model.steps(images(), noise)
    mean, variance = posterior(step.parameters)
    pictures, logits = model.decoder(mean + variance.sqrt() * noise[:, 0])
    density = model.density(images(), pictures)
    mixture = (logits.softmax(1) * density.double().exp()).sum(1).log().sum((1, 2))
    torch.testing.assert_close(step.nll.double(), -mixture, rtol=1e-4, atol=1e-4)


def test_a_refinement_sees_the_published_inputs():
    look, seen = a_look(), torch.rand(2, 3, 4, 4)
    inputs = spatial_inputs(seen, look)
    assert inputs.shape == (2, 2, 18, 4, 4)
    torch.testing.assert_close(inputs[:, 1, 0:3], seen)
    torch.testing.assert_close(inputs[:, :, 3:6], look.pictures)
    torch.testing.assert_close(inputs[:, :, 6], look.logits)
    torch.testing.assert_close(inputs[:, :, 7], look.logits.softmax(1))
    dense = look.density.exp()
    torch.testing.assert_close(inputs[:, :, 8], dense / (dense.sum(1, keepdim=True) + 1e-6))
    torch.testing.assert_close(inputs[:, :, 9:12], functional.layer_norm(look.picture_gradient, (3, 4, 4)))
    torch.testing.assert_close(inputs[:, :, 12], functional.layer_norm(look.logit_gradient, (4, 4)))
    likelihood = (look.logits.softmax(1) * dense).sum(1).log()
    torch.testing.assert_close(inputs[:, 0, 13], functional.layer_norm(likelihood, (4, 4)), rtol=1e-4, atol=1e-4)
    # Two slots: without one of them, the other owns all pixels.
    gain = likelihood - look.density[:, 1]
    torch.testing.assert_close(inputs[:, 0, 14], functional.layer_norm(gain, (4, 4)), rtol=1e-4, atol=1e-4)
    assert inputs[0, 0, 15, :, 0].tolist() == inputs[0, 0, 16, 0].tolist() == pytest.approx([-1, -1 / 3, 1 / 3, 1])
    assert (inputs[:, :, 17] == 0.5).all()
    flat = flat_inputs(look)
    torch.testing.assert_close(flat[..., :6], look.parameters)
    torch.testing.assert_close(flat[..., 6:12], functional.layer_norm(look.parameter_gradient, (6,)))
    assert (flat[..., 12] == 0.5).all()


def test_without_a_slot_the_others_share_its_pixels():
    logits, density = torch.randn(1, 3, 1, 1), torch.randn(1, 3, 1, 1)
    found = without_each(logits, density)[0, :, 0, 0]
    a, b, c = (logits[0, :, 0, 0].exp()).tolist()
    p, q, r = density[0, :, 0, 0].exp().tolist()
    expected = [(b * q + c * r) / (b + c), (a * p + c * r) / (a + c), (a * p + b * q) / (a + b)]
    assert found.exp().tolist() == pytest.approx(expected, rel=1e-5)


def test_no_gradient_flows_through_gradients_and_likelihoods_but_through_the_rest():
    values = torch.randn(2, 3, requires_grad=True)
    assert not normed(values, 1).requires_grad
    look = a_look(density=torch.randn(2, 2, 4, 4, requires_grad=True), logits=torch.randn(2, 2, 4, 4))
    inputs = spatial_inputs(torch.rand(2, 3, 4, 4), look)
    (gradient,) = torch.autograd.grad(
        inputs[:, :, [*range(8), *range(9, 18)]].sum(), look.density, allow_unused=True
    )
    assert gradient is None or not gradient.any()
    logits = torch.randn(2, 2, 4, 4, requires_grad=True)
    weight = torch.randn(2, 2, 4, 4)
    seen = spatial_inputs(torch.rand(2, 3, 4, 4), a_look(logits=logits))
    assert torch.autograd.grad((seen[:, :, 7] * weight).sum(), logits)[0].any()


def test_the_gradients_a_refinement_sees_are_those_of_each_image_alone(monkeypatch):
    model = small()
    seen = []

    def watched(self, images, look, memory):
        seen.append(look)
        return torch.zeros_like(look.parameters), memory

    monkeypatch.setattr(Refinement, "forward", watched)
    noise = torch.randn(2, 3, 2, 3)
    list(model.steps(images(), noise))
    both = seen[0].parameter_gradient
    seen.clear()
    list(model.steps(images()[:1], noise[:1]))
    torch.testing.assert_close(seen[0].parameter_gradient, both[:1], rtol=1e-4, atol=1e-2)


def test_it_can_be_read_where_gradients_are_switched_off():
    model = small().eval()
    plain = model.represent(images())
    assert plain.shape == (2, 2, 3) and not plain.requires_grad
    with torch.inference_mode():
        inside = model.represent(images())
    assert torch.equal(plain, inside)
    torch.testing.assert_close(model.masks(images()).sum(1), torch.ones(2, 16, 16))
    assert not torch.equal(plain[:, 0], plain[:, 1])  # noise has told the slots apart


def test_its_optimiser_is_the_published_one():
    (player,) = small().players()
    assert player.betas == (0.95, 0.999) and player.clip == 5
    assert player.schedule(0) == 1 and player.schedule(1_000_000) == pytest.approx(0.1)
