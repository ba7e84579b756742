"""Ada-ML-VAE."""

from typing import ClassVar

import torch

from unknot.errors import unknown
from unknot.models._shared_latents import (
    DIVERGENCES,
    mean_of_precisions,
    product_of_gaussians,
    shared_latents_loss,
)
from unknot.models.model import Batch, Preset, Setting, Supervision, Terms, not_negative
from unknot.models.networks import GaussianAutoencoder


class AdaMLVAE(GaussianAutoencoder):
    """The VAE of pairs that differ in few factors: latents that hardly differ are shared by averaging precisions.

    delta_j = KL(q(z_j|x1) || q(z_j|x2)),  j is shared iff delta_j < (min delta + max delta) / 2
    shared: both posteriors become N((m1/v1 + m2/v2) / (1/v1 + 1/v2), 2 v1 v2 / (v1 + v2))
    loss = mean over x1, x2 of [reconstruction + beta KL(shared posterior || N(0, I))]

    Args:
        setting: what to build for.
        beta: weight of the KL.
        product: leave out the factor 2 of the variance, which makes it the product of the two Gaussians, as the
            evidence of a group adds up in the ML-VAE; all public code has the factor.
        divergence: "kl", from the first image to the second as published, or "symmetric_kl".

    Edge cases: two equal images share nothing; where v1 = v2 it is Ada-GVAE (without `product`).
    Reference: Locatello et al. 2020, Weakly-Supervised Disentanglement Without Compromises, arXiv:2002.02886; the
    grouping is that of Bouchacourt et al. 2018, arXiv:1705.08841.
    """

    supervision: ClassVar[Supervision] = "pairs"
    pairs: ClassVar[str] = "one_factor"
    presets: ClassVar[dict[str, Preset]] = {
        "locatello2020": Preset(
            "Locatello et al. 2020; pairs as its public code draws them",
            {"beta": (1, 2, 4, 6, 8, 16)},
            {"steps": 300_000, "batch_size": 64, "pairs": "k_factors[compat=locatello]"},
        ),
    }

    def __init__(
        self, setting: Setting, *, beta: float = 1.0, product: bool = False, divergence: str = "kl"
    ) -> None:
        super().__init__(setting)
        if divergence not in DIVERGENCES:
            raise unknown("divergence", divergence, DIVERGENCES, field="divergence")
        self.beta, self.divergence = not_negative("ada_ml_vae", beta=beta), divergence
        self.average = product_of_gaussians if product else mean_of_precisions

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction and weighted KL of both images, each the mean of the two."""
        return shared_latents_loss(
            self,
            batch,
            generator,
            name="ada_ml_vae",
            beta=self.beta,
            divergence=self.divergence,
            average=self.average,
        )
