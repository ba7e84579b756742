"""VAE and beta-VAE."""

from typing import ClassVar

import torch

from unknot.models.model import Batch, Preset, Setting, Terms, not_negative
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl, linear_ramp


class VAE(GaussianAutoencoder):
    """The variational autoencoder.

    loss = reconstruction + KL(q(z|x) || N(0, I))

    Reference: Kingma & Welling 2014, Auto-Encoding Variational Bayes, arXiv:1312.6114.
    """

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction and KL."""
        q, _, fit = self.autoencode(batch.images, generator)
        return {"reconstruction": fit, "kl": kl(q)}


class BetaVAE(GaussianAutoencoder):
    """The VAE with a weighted KL: the higher beta, the fewer informative latents and the blurrier the images.

    loss = reconstruction + beta KL(q(z|x) || N(0, I))

    Args:
        setting: what to build for.
        beta: weight of the KL; 1 is the VAE.
        anneal: steps over which that weight grows from 0, as in the public code that Mahon et al. 2024 ran; the paper
            has none.

    Reference: Higgins et al. 2017, beta-VAE: Learning Basic Visual Concepts with a Constrained Variational Framework.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5, defaults of its public code; 100 epochs",
            fixed={"beta": 4, "anneal": 10_000, "architecture": "burgess64", "lr": 5e-4},
        ),
        "duan2020": Preset("Duan et al. 2020, Table 5", {"beta": (1, 2, 4, 6, 8, 16)}, {"steps": 300_000}),
        "schott2022": Preset(
            "Schott et al. 2022, appendix H.3", {"beta": (1, 2, 4, 6, 8, 16)}, {"steps": 500_000}
        ),
        "vansteenkiste2019": Preset(
            "van Steenkiste et al. 2019, appendix A.1", {"beta": (1, 2, 4, 6, 8, 16)}, {"steps": 300_000}
        ),
    }

    def __init__(self, setting: Setting, *, beta: float = 4.0, anneal: int = 0) -> None:
        super().__init__(setting)
        self.beta = not_negative("beta_vae", beta=beta)
        self.anneal = not_negative("beta_vae", anneal=anneal)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction and weighted KL."""
        q, _, fit = self.autoencode(batch.images, generator)
        beta = linear_ramp(step, start=0, end=self.beta, over=self.anneal)
        return {"reconstruction": fit, "kl": beta * kl(q)}
