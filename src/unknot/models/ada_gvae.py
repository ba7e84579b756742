"""Ada-GVAE."""

from typing import ClassVar

import torch

from unknot.errors import unknown
from unknot.models._shared_latents import DIVERGENCES, mean_of_variances, shared_latents_loss
from unknot.models.model import Batch, Preset, Setting, Supervision, Terms, not_negative
from unknot.models.networks import GaussianAutoencoder


class AdaGVAE(GaussianAutoencoder):
    """The VAE of pairs that differ in few factors: latents that hardly differ are shared by averaging variances.

    delta_j = KL(q(z_j|x1) || q(z_j|x2)),  j is shared iff delta_j < (min delta + max delta) / 2
    shared: both posteriors become N((m1 + m2) / 2, (v1 + v2) / 2)
    loss = mean over x1, x2 of [reconstruction + beta KL(shared posterior || N(0, I))]

    Which factors changed, and how many, is never told. The decision passes no gradient; the averages do. The
    representation of an image is that of the image alone.

    Args:
        setting: what to build for.
        beta: weight of the KL.
        divergence: "kl", from the first image to the second as published, or "symmetric_kl".

    Edge cases: two equal images share nothing, as all divergences are equal.
    Reference: Locatello et al. 2020, Weakly-Supervised Disentanglement Without Compromises, arXiv:2002.02886; the
    grouping is that of Hosoya 2019, arXiv:1809.02383.
    """

    supervision: ClassVar[Supervision] = "pairs"
    pairs: ClassVar[str] = "one_factor"
    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset(
            "Schott et al. 2022, appendix H.3; pairs that differ in one factor",
            {"beta": (1, 2, 4, 6, 8, 16)},
            {"steps": 500_000, "batch_size": 64, "pairs": "one_factor"},
        ),
        "locatello2020": Preset(
            "Locatello et al. 2020; pairs as its public code draws them",
            {"beta": (1, 2, 4, 6, 8, 16)},
            {"steps": 300_000, "batch_size": 64, "pairs": "k_factors[compat=locatello]"},
        ),
    }

    def __init__(self, setting: Setting, *, beta: float = 1.0, divergence: str = "kl") -> None:
        super().__init__(setting)
        if divergence not in DIVERGENCES:
            raise unknown("divergence", divergence, DIVERGENCES, field="divergence")
        self.beta, self.divergence = not_negative("ada_gvae", beta=beta), divergence

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction and weighted KL of both images, each the mean of the two."""
        return shared_latents_loss(
            self,
            batch,
            generator,
            name="ada_gvae",
            beta=self.beta,
            divergence=self.divergence,
            average=mean_of_variances,
        )
