"""CCI-VAE, also called AnnealedVAE."""

from typing import ClassVar

import torch

from unknot.models.model import Batch, Preset, Setting, Terms, not_negative
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl, linear_ramp


class CCIVAE(GaussianAutoencoder):
    """The VAE with controlled capacity: the KL is held at C nats, and C grows, so that factors enter one by one.

    loss = reconstruction + gamma |KL(q(z|x) || N(0, I)) - C(t)|,   C(t) = c_max min(1, t / c_steps)

    The absolute value is taken of the KL of the whole batch, not of each image's.

    Args:
        setting: what to build for.
        c_max: the capacity at the end, in nats.
        gamma: how firmly the KL is held.
        c_steps: steps until the capacity is reached.

    Reference: Burgess et al. 2018, Understanding disentangling in beta-VAE, arXiv:1804.03599.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5, defaults of its public code; 100 epochs",
            fixed={"c_max": 25, "gamma": 100, "c_steps": 10_000, "architecture": "burgess64", "lr": 5e-4},
        ),
        "duan2020": Preset(
            "Duan et al. 2020, Table 5",
            {"c_max": (5, 10, 25, 50, 75, 100)},
            {"gamma": 1000, "c_steps": 100_000, "steps": 300_000},
        ),
        "vansteenkiste2019": Preset(
            "van Steenkiste et al. 2019, appendix A.1",
            {"c_max": (5, 10, 25, 50, 75, 100)},
            {"gamma": 1000, "c_steps": 100_000, "steps": 300_000},
        ),
    }

    def __init__(
        self, setting: Setting, *, c_max: float = 25.0, gamma: float = 1000.0, c_steps: int = 100_000
    ) -> None:
        super().__init__(setting)
        self.c_max = not_negative("cci_vae", c_max=c_max)
        self.gamma = not_negative("cci_vae", gamma=gamma)
        self.c_steps = not_negative("cci_vae", c_steps=c_steps)

    def capacity(self, step: int) -> float:
        """C at a step, in nats."""
        return linear_ramp(step, start=0, end=self.c_max, over=self.c_steps)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction and the distance of the KL from the capacity."""
        q, _, fit = self.autoencode(batch.images, generator)
        return {"reconstruction": fit, "capacity": self.gamma * (kl(q) - self.capacity(step)).abs()}
