import pytest
import torch

from unknot.models.cci_vae import CCIVAE
from unknot.models.model import Batch, Posterior, Setting

SMALL = Setting(pixels=32, latents=2)
BATCH = Batch(torch.rand(2, 1, 32, 32))


def with_means(model: CCIVAE, means: torch.Tensor) -> CCIVAE:
    """The model with posteriors of given means and unit variance."""
    model.represent = lambda images: Posterior(means, torch.zeros_like(means))
    return model


def capacity_term(model: CCIVAE, step: int) -> torch.Tensor:
    return model.loss(BATCH, step, torch.Generator().manual_seed(0))["capacity"]


def test_capacity_grows_linearly_and_stays():
    model = CCIVAE(SMALL, c_max=25.0, c_steps=1000)
    assert [model.capacity(t) for t in (0, 500, 1000, 2000)] == [0, 12.5, 25, 25]


def test_a_kl_of_10_at_a_capacity_of_25_costs_15_gamma():
    means = torch.full((2, 2), 10**0.5)  # KL = 2 * 10 / 2
    assert capacity_term(with_means(CCIVAE(SMALL), means), 100_000).item() == pytest.approx(15_000)


def test_the_absolute_value_is_taken_after_averaging_over_the_batch():
    # Per image the KL is 0 and 10 nats: 5 on average, exactly the capacity.
    means = torch.tensor([[0.0, 0.0], [10**0.5, 10**0.5]])
    model = with_means(CCIVAE(SMALL, c_max=5.0), means)
    assert capacity_term(model, 100_000).item() == pytest.approx(0, abs=1e-2)


@pytest.mark.parametrize(("step", "slope"), [(0, +1000), (100_000, -1000)])
def test_the_kl_is_pushed_towards_the_capacity_from_both_sides(step, slope):
    means = torch.full((2, 2), 10**0.5, requires_grad=True)
    (gradient,) = torch.autograd.grad(capacity_term(with_means(CCIVAE(SMALL), means), step), means)
    torch.testing.assert_close(gradient, slope * means / 2)  # d KL / d mean = mean / b


def test_gamma_zero_leaves_the_reconstruction():
    terms = CCIVAE(SMALL, gamma=0.0).loss(BATCH, 10, torch.Generator().manual_seed(0))
    assert terms["capacity"].item() == 0
