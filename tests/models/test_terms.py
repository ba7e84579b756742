import math

import pytest
import torch

from unknot.models.model import Posterior
from unknot.models.terms import (
    covariance,
    gaussian_kl,
    gaussian_log_density,
    kl,
    kl_per_latent,
    linear_ramp,
    pixels,
    reconstruction,
    sample,
)


@pytest.mark.parametrize(("channels", "nats"), [(1, 2839.13), (3, 8517.39)])
def test_zero_logits_cost_ln_2_a_pixel_whatever_the_image(channels, nats):
    images = torch.rand(5, channels, 64, 64)
    assert reconstruction(images, torch.zeros_like(images)).item() == pytest.approx(nats, abs=0.01)


def test_a_hopeless_logit_still_has_a_gradient():
    logit = torch.full((1, 1, 1, 1), -200.0, requires_grad=True)
    loss = reconstruction(torch.ones(1, 1, 1, 1), logit)
    loss.backward()
    assert loss.item() == pytest.approx(200)
    assert logit.grad.item() == pytest.approx(-1)


def test_a_gaussian_decoder_pays_half_the_squared_error_summed_over_pixels():
    images = torch.zeros(2, 1, 2, 2)
    assert reconstruction(images, images + 3, "gaussian").item() == pytest.approx(4 * 9 / 2)


@pytest.mark.parametrize(("mean", "logvar", "nats"), [(1.0, 0.0, 0.5), (0.0, 1.0, 0.3591409), (0.0, 0.0, 0.0)])
def test_kl_has_its_closed_form(mean, logvar, nats):
    q = Posterior(torch.tensor([[0.0, mean]] * 3), torch.tensor([[0.0, logvar]] * 3))
    assert kl(q).item() == pytest.approx(nats, abs=1e-6)
    assert kl_per_latent(q).tolist() == pytest.approx([0, nats], abs=1e-6)


def test_kl_pulls_means_by_their_share_of_the_batch_and_is_flat_at_the_prior():
    mean = torch.tensor([[1.0, -2.0], [0.0, 4.0]], requires_grad=True)
    logvar = torch.zeros(2, 2, requires_grad=True)
    to_mean, to_logvar = torch.autograd.grad(kl(Posterior(mean, logvar)), (mean, logvar))
    torch.testing.assert_close(to_mean, mean / 2)
    assert not to_logvar.any()


def test_a_deterministic_code_is_its_own_sample_and_has_no_kl():
    code = Posterior(torch.rand(2, 3))
    assert sample(code, torch.Generator()) is code.mean
    with pytest.raises(TypeError):
        kl(code)


def test_samples_have_the_mean_and_the_variance_of_the_posterior():
    q = Posterior(torch.full((20_000, 1), 3.0), torch.full((20_000, 1), math.log(4.0)))
    z = sample(q, torch.Generator().manual_seed(0))
    assert z.mean().item() == pytest.approx(3, abs=0.05)
    assert z.var().item() == pytest.approx(4, rel=0.05)


def test_covariance_is_divided_by_the_number_of_rows():
    rows = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
    assert covariance(rows).tolist() == [[1, 1], [1, 1]]  # the unbiased one is 4/3
    torch.testing.assert_close(covariance(rows + 5), covariance(rows))


def test_log_density_is_that_of_torch_distributions():
    z, mean, logvar = torch.randn(3, 4, 2)
    expected = torch.distributions.Normal(mean, (0.5 * logvar).exp()).log_prob(z)
    torch.testing.assert_close(gaussian_log_density(z, mean, logvar), expected)


def test_kl_of_two_gaussians_is_that_of_torch_distributions_and_to_the_standard_one_by_default():
    q, p = Posterior(*torch.randn(2, 4, 2)), Posterior(*torch.randn(2, 4, 2))
    normal = [torch.distributions.Normal(each.mean, (0.5 * each.logvar).exp()) for each in (q, p)]
    torch.testing.assert_close(gaussian_kl(q, p), torch.distributions.kl_divergence(*normal))
    assert torch.equal(gaussian_kl(q), gaussian_kl(q, Posterior(torch.zeros(2), torch.zeros(2))))
    assert torch.equal(gaussian_kl(q), 0.5 * (q.mean**2 + q.logvar.exp() - q.logvar - 1))  # to the last bit
    with pytest.raises(TypeError, match="has no variance"):
        gaussian_kl(Posterior(q.mean))


def test_a_ramp_starts_ends_and_stays():
    assert [linear_ramp(t, start=1, end=5, over=100) for t in (0, 50, 100, 200)] == [1, 3, 5, 5]
    assert linear_ramp(0, start=1, end=5, over=0) == 5


def test_pixels_are_in_the_unit_interval():
    assert pixels(torch.tensor([-100.0, 0.0, 100.0])).tolist() == [0, 0.5, 1]
    assert pixels(torch.tensor([-1.0, 0.5, 2.0]), "gaussian").tolist() == [0, 0.5, 1]
