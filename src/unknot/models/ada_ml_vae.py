"""Ada-ML-VAE."""

from typing import ClassVar

from unknot.models._shared_latents import (
    LOCATELLO2020,
    SharedLatentsVAE,
    mean_of_precisions,
    product_of_gaussians,
)
from unknot.models.model import Preset, Setting


class AdaMLVAE(SharedLatentsVAE):
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

    presets: ClassVar[dict[str, Preset]] = {"locatello2020": LOCATELLO2020}

    def __init__(
        self, setting: Setting, *, beta: float = 1.0, product: bool = False, divergence: str = "kl"
    ) -> None:
        average = product_of_gaussians if product else mean_of_precisions
        super().__init__(setting, "ada_ml_vae", beta, divergence, average)
