import pytest
import torch

from unknot.models.beta_vae import VAE
from unknot.models.dip_vae import DIPVAEI, DIPVAEII, covariance_penalties, latent_covariance
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.networks import initialise

SMALL = Setting(pixels=32, latents=2)
BATCH = Batch(torch.rand(4, 1, 32, 32))
TWINS = torch.tensor([[1.0, 1.0], [-1.0, -1.0]] * 2)  # covariance all ones


def terms(model: torch.nn.Module, mean: torch.Tensor, logvar: torch.Tensor) -> dict[str, torch.Tensor]:
    model.represent = lambda images: Posterior(mean, logvar)
    return dict(model.loss(BATCH, 0, torch.Generator().manual_seed(0)))


def penalty(model: torch.nn.Module, mean: torch.Tensor, logvar: torch.Tensor) -> torch.Tensor:
    found = terms(model, mean, logvar)
    return found["off_diagonal"] + found["diagonal"]


def test_two_equal_latents_cost_dip_i_twice_lambda_od():
    assert penalty(DIPVAEI(SMALL, lambda_od=5.0), TWINS, torch.zeros(4, 2)).item() == pytest.approx(10)


def test_dip_ii_counts_the_noise_as_variance():
    # S = [[2, 1], [1, 2]]: 2 lambda_od off the diagonal, 2 lambda_d on it.
    model = DIPVAEII(SMALL, lambda_od=5.0, lambda_d_factor=3.0)
    assert penalty(model, TWINS, torch.zeros(4, 2)).item() == pytest.approx(2 * 5 + 2 * 15)


def test_the_prior_costs_dip_i_lambda_d_for_each_latent_and_dip_ii_nothing():
    prior = torch.zeros(4, 2), torch.zeros(4, 2)
    assert penalty(DIPVAEI(SMALL, lambda_od=5.0), *prior).item() == pytest.approx(2 * 50)
    assert penalty(DIPVAEII(SMALL, lambda_od=5.0), *prior).item() == 0


def test_lambda_d_is_ten_times_lambda_od_in_dip_i_and_equal_in_dip_ii():
    assert DIPVAEI(SMALL, lambda_od=2.0).lambda_d == 20
    assert DIPVAEII(SMALL, lambda_od=2.0).lambda_d == 2


def test_penalties_do_not_see_a_shift_of_the_means():
    mean, logvar = torch.randn(2, 4, 2, generator=torch.Generator().manual_seed(0))
    for cls in (DIPVAEI, DIPVAEII):
        at_home, away = penalty(cls(SMALL), mean, logvar), penalty(cls(SMALL), mean + 3, logvar)
        torch.testing.assert_close(at_home, away, rtol=1e-4, atol=1e-4)


def test_the_latent_covariance_is_that_of_samples():
    generator = torch.Generator().manual_seed(0)
    mean, logvar = torch.randn(2, 5, 3, generator=generator)
    noise = torch.randn(200_000, 5, 3, generator=generator)
    samples = (mean + (0.5 * logvar).exp() * noise).reshape(-1, 3)
    expected = torch.cov(samples.T, correction=0)
    torch.testing.assert_close(latent_covariance(Posterior(mean, logvar)), expected, rtol=0.02, atol=0.02)


def test_only_dip_ii_moves_the_variances_by_its_penalty():
    mean = torch.randn(4, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for cls, moved in ((DIPVAEI, False), (DIPVAEII, True)):
        logvar = torch.ones(4, 2, requires_grad=True)
        _, gradient = torch.autograd.grad(penalty(cls(SMALL), mean, logvar), (mean, logvar), allow_unused=True)
        assert (gradient is not None and bool(gradient.any())) == moved


def test_a_penalty_is_the_sum_over_entries():
    matrix = torch.tensor([[2.0, 3.0, 0.0], [3.0, 1.0, -1.0], [0.0, -1.0, 0.0]])
    off, on = covariance_penalties(matrix)
    assert (off.item(), on.item()) == (2 * 9 + 2 * 1, 1 + 0 + 1)


@pytest.mark.parametrize("cls", [DIPVAEI, DIPVAEII])
def test_lambda_zero_is_the_vae(cls):
    totals = []
    for model in (VAE(SMALL), cls(SMALL, lambda_od=0.0)):
        initialise(model, "glorot", torch.Generator().manual_seed(0))
        totals.append(sum(model.loss(BATCH, 0, torch.Generator().manual_seed(1)).values()).item())
    assert totals[0] == totals[1]
