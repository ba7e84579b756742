import pytest
import torch

from unknot.models.beta_vae import VAE, BetaVAE
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise
from unknot.models.terms import kl

SMALL = Setting(pixels=32, latents=4)
BATCH = Batch(torch.rand(6, 1, 32, 32, generator=torch.Generator().manual_seed(0)))


def fresh(model: torch.nn.Module) -> torch.nn.Module:
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def losses(model: torch.nn.Module, step: int = 0) -> dict[str, torch.Tensor]:
    return dict(model.loss(BATCH, step, torch.Generator().manual_seed(1)))


def test_beta_one_is_the_vae():
    vae, beta_vae = losses(fresh(VAE(SMALL))), losses(fresh(BetaVAE(SMALL, beta=1.0)))
    assert {name: term.item() for name, term in vae.items()} == {
        name: term.item() for name, term in beta_vae.items()
    }


def test_the_kl_is_weighted_by_beta():
    model = fresh(BetaVAE(SMALL, beta=16.0))
    assert losses(model)["kl"].item() == pytest.approx(16 * kl(model.represent(BATCH.images)).item())


def test_beta_zero_leaves_the_variances_to_the_reconstruction():
    model = fresh(BetaVAE(SMALL, beta=0.0))
    gradients = torch.autograd.grad(losses(model)["kl"], list(model.encoder.parameters()))
    assert not any(gradient.any() for gradient in gradients)


def test_annealing_ramps_the_weight_of_the_kl():
    model = fresh(BetaVAE(SMALL, beta=4.0, anneal=100))
    full = losses(model, 100)["kl"].item()
    assert full > 0
    assert [losses(model, t)["kl"].item() / full for t in (0, 50, 200)] == pytest.approx([0, 0.5, 1])


def test_a_huge_beta_shrinks_the_code_towards_the_prior():
    model = fresh(BetaVAE(SMALL, beta=1e4))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = kl(model.represent(BATCH.images)).item()
    for step in range(20):
        optimiser.zero_grad()
        sum(losses(model, step).values()).backward()
        optimiser.step()
    assert kl(model.represent(BATCH.images)).item() < 0.1 * before
