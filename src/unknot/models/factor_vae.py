"""FactorVAE and its discriminator."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models.model import Batch, Player, Preset, Setting, Terms, above_zero, at_least_one, not_negative
from unknot.models.networks import GaussianAutoencoder, dense
from unknot.models.terms import kl, linear_ramp, sample

_STUDY = "150k updates each of VAE and discriminator in its public code, which counts both"


class FactorVAE(GaussianAutoencoder):
    """The VAE with a penalty on the total correlation of its latents, as a discriminator sees it.

    VAE:            loss = reconstruction + KL + gamma E[l_0(z) - l_1(z)]
    discriminator:  loss = 1/2 CE(l(z), 0) + 1/2 CE(l(z'), 1)

    l are the two logits of the discriminator, which tells codes of images (0) from codes z' of other images with
    every latent permuted over the batch by itself (1); l_0 - l_1 estimates log q(z) / prod_j q(z_j). The KL keeps
    its weight of one. No gradient of one player reaches the other's weights.

    Args:
        setting: what to build for.
        gamma: weight of the total correlation.
        anneal: steps over which gamma grows from 0.
        discriminator_layers: hidden layers of 1000 units.
        discriminator_lr: learning rate of the discriminator.
        same_batch: permute codes of the same images, instead of another batch.

    Departs from the paper: the discriminator sees codes after the VAE's update of the step, not before.
    Reference: Kim & Mnih 2018, Disentangling by Factorising, arXiv:1802.05983, algorithm 2.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5, defaults of its public code; 100 epochs; batches of 64 of which each player "
            "sees half",
            fixed={
                "gamma": 6,
                "anneal": 10_000,
                "discriminator_layers": 5,
                "discriminator_lr": 5e-5,
                "architecture": "burgess64",
                "lr": 5e-4,
                "batch_size": 32,
            },
        ),
        "duan2020": Preset(
            f"Duan et al. 2020, Table 5; {_STUDY}",
            {"gamma": (10, 20, 30, 40, 50, 100)},
            {"same_batch": True, "steps": 300_000},
        ),
        "vansteenkiste2019": Preset(
            f"van Steenkiste et al. 2019, appendix A.1; {_STUDY}",
            {"gamma": (10, 20, 30, 40, 50, 100)},
            {"same_batch": True, "steps": 300_000},
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        gamma: float = 10.0,
        anneal: int = 0,
        discriminator_layers: int = 6,
        discriminator_lr: float = 1e-4,
        same_batch: bool = False,
    ) -> None:
        super().__init__(setting)
        self.gamma = not_negative("factor_vae", gamma=gamma)
        self.anneal = not_negative("factor_vae", anneal=anneal)
        self.discriminator_lr = above_zero("factor_vae", discriminator_lr=discriminator_lr)
        at_least_one("factor_vae", discriminator_layers=discriminator_layers)
        self.discriminator = discriminator(setting.latents, discriminator_layers)
        self.wants_other = not same_batch

    def players(self) -> Sequence[Player]:
        """The VAE, then the discriminator."""
        return (
            Player("vae", (self.encoder, self.decoder), self.loss),
            Player(
                "discriminator",
                (self.discriminator,),
                self.discriminator_loss,
                lr=self.discriminator_lr,
                betas=(0.5, 0.9),
            ),
        )

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction, KL, and the total correlation that the discriminator sees."""
        q, z, fit = self.autoencode(batch.images, generator)
        gamma = linear_ramp(step, start=0, end=self.gamma, over=self.anneal)
        return {"reconstruction": fit, "kl": kl(q), "total_correlation": gamma * self.log_ratio(z).mean()}

    def discriminator_loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """How badly the discriminator tells codes from permuted codes."""
        with torch.no_grad():
            z = sample(self.represent(batch.images), generator)
            other = z if batch.other is None else sample(self.represent(batch.other), generator)
            permuted = permute_dims(other, generator)
        logits = self.discriminator(torch.cat([z, permuted])).float()
        truth = torch.arange(2, device=z.device).repeat_interleave(len(z))
        return {"cross_entropy": functional.cross_entropy(logits, truth)}

    def log_ratio(self, z: Tensor) -> Tensor:
        """The estimate of log q(z) / prod_j q(z_j) at codes (b, d)."""
        logits: Tensor = self.discriminator(z).float()
        return logits[:, 0] - logits[:, 1]


def discriminator(latents: int, layers: int) -> nn.Sequential:
    """Hidden layers of 1000 units with leaks of 0.2, then two logits."""
    stack = dense([latents, *[1000] * layers], lambda: nn.LeakyReLU(0.2))
    return nn.Sequential(*stack, nn.Linear(1000, 2))


def permute_dims(z: Tensor, generator: torch.Generator) -> Tensor:
    """Every column of z (b, d) permuted over the batch by itself: a sample of the product of marginals."""
    noise = torch.rand(z.shape, generator=generator, device=generator.device)
    return z.gather(0, noise.argsort(0).to(z.device))
