import math

import pytest
import torch
from torch import nn

from unknot.models.beta_vae import VAE
from unknot.models.factor_vae import FactorVAE, discriminator, permute_dims
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise

SMALL = Setting(pixels=32, latents=3)
NOISE = torch.Generator().manual_seed(0)
BATCH = Batch(torch.rand(6, 1, 32, 32, generator=NOISE), other=torch.rand(6, 1, 32, 32, generator=NOISE))


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Constant(nn.Module):
    """A discriminator that always says the same."""

    def __init__(self, logits: tuple[float, float]) -> None:
        super().__init__()
        self.logits = torch.tensor([logits])

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(z), 2)


@pytest.mark.parametrize(("layers", "count"), [(6, 5_018_002), (5, 4_017_002)])
def test_the_discriminator_has_the_published_size_and_leak(layers, count):
    net = discriminator(10, layers)
    assert sum(parameter.numel() for parameter in net.parameters()) == count
    assert {layer.negative_slope for layer in net if isinstance(layer, nn.LeakyReLU)} == {0.2}


def test_permuting_keeps_each_column_and_forgets_what_went_with_what():
    z = torch.randn(4000, 1, generator=seeded()).expand(4000, 3).contiguous()
    permuted = permute_dims(z, seeded())
    assert torch.equal(permuted.sort(0).values, z.sort(0).values)
    correlations = torch.corrcoef(permuted.T)
    assert (correlations - torch.eye(3)).abs().max() < 0.06
    assert torch.equal(permuted, permute_dims(z, seeded()))


def test_the_penalty_is_gamma_times_the_difference_of_logits():
    model = FactorVAE(SMALL, gamma=7.0, discriminator_layers=1)
    model.discriminator = Constant((2.5, 1.0))
    assert model.loss(BATCH, 0, seeded())["total_correlation"].item() == pytest.approx(7 * 1.5)


def test_a_blind_discriminator_loses_ln_2():
    model = FactorVAE(SMALL, discriminator_layers=1)
    model.discriminator = Constant((0.3, 0.3))
    assert model.discriminator_loss(BATCH, 0, seeded())["cross_entropy"].item() == pytest.approx(math.log(2))


def test_class_zero_is_codes_and_class_one_is_permuted_codes():
    # Logits that call everything a code: right for the first half, 10 nats wrong for the second.
    model = FactorVAE(SMALL, discriminator_layers=1)
    seen: list[torch.Tensor] = []

    class Watching(Constant):
        def forward(self, z: torch.Tensor) -> torch.Tensor:
            seen.append(z)
            return super().forward(z)

    model.discriminator = Watching((10.0, 0.0))
    assert model.discriminator_loss(BATCH, 0, seeded())["cross_entropy"].item() == pytest.approx(5, abs=1e-3)
    code = model.represent(BATCH.images)
    z = code.mean + (0.5 * code.logvar).exp() * torch.randn(6, 3, generator=seeded())
    torch.testing.assert_close(seen[0][:6], z)


def test_gamma_zero_is_the_vae_with_its_kl_at_full_weight():
    totals = []
    for model in (VAE(SMALL), FactorVAE(SMALL, gamma=0.0, discriminator_layers=1)):
        initialise(model, "glorot", seeded(0))
        totals.append(sum(model.loss(BATCH, 0, seeded()).values()).item())
    assert totals[0] == totals[1]


def test_no_gradient_of_the_discriminator_reaches_the_encoder():
    model = FactorVAE(SMALL, discriminator_layers=1)
    sum(model.discriminator_loss(BATCH, 0, seeded()).values()).backward()
    assert all(parameter.grad is None for parameter in (*model.encoder.parameters(), *model.decoder.parameters()))
    assert all(parameter.grad is not None for parameter in model.discriminator.parameters())


def test_players_share_no_weights_and_leave_none_out():
    model = FactorVAE(SMALL, discriminator_layers=2)
    vae, critic = model.players()
    moved = [{id(p) for module in player.modules for p in module.parameters()} for player in (vae, critic)]
    assert not moved[0] & moved[1]
    assert moved[0] | moved[1] == {id(parameter) for parameter in model.parameters()}
    assert (critic.lr, critic.betas) == (1e-4, (0.5, 0.9))


def test_the_penalty_reaches_the_encoder():
    model = FactorVAE(SMALL, discriminator_layers=1)
    penalty = model.loss(BATCH, 0, seeded())["total_correlation"]
    gradients = torch.autograd.grad(penalty, list(model.encoder.parameters()))
    assert all(gradient.any() for gradient in gradients)


def test_a_second_batch_is_asked_for_unless_the_same_one_will_do():
    assert FactorVAE(SMALL, discriminator_layers=1).wants_other
    model = FactorVAE(SMALL, discriminator_layers=1, same_batch=True)
    assert not model.wants_other
    assert math.isfinite(model.discriminator_loss(Batch(BATCH.images), 0, seeded())["cross_entropy"].item())


def test_annealing_ramps_gamma():
    model = FactorVAE(SMALL, gamma=6.0, anneal=100, discriminator_layers=1)
    model.discriminator = Constant((1.0, 0.0))
    penalties = [model.loss(BATCH, t, seeded())["total_correlation"].item() for t in (0, 50, 200)]
    assert penalties == pytest.approx([0, 3, 6])


def test_a_trained_discriminator_finds_the_total_correlation_of_a_gaussian():
    rho = 0.9
    model = FactorVAE(Setting(pixels=32, latents=2), discriminator_layers=1)
    initialise(model, "glorot", seeded(0))
    generator = seeded()
    optimiser = torch.optim.Adam(model.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def draw(n: int) -> torch.Tensor:
        z = torch.randn(n, 2, generator=generator)
        return torch.stack([z[:, 0], rho * z[:, 0] + (1 - rho**2) ** 0.5 * z[:, 1]], 1)

    for _ in range(250):
        z = torch.cat([draw(256), permute_dims(draw(256), generator)])
        truth = torch.arange(2).repeat_interleave(256)
        optimiser.zero_grad()
        nn.functional.cross_entropy(model.discriminator(z), truth).backward()
        optimiser.step()
    with torch.no_grad():
        estimate = model.log_ratio(draw(20_000)).mean().item()
    assert estimate == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.1)  # 0.8304
