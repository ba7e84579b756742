"""The plain autoencoder."""

import torch

from unknot.models.model import Batch, Setting, Terms
from unknot.models.networks import GaussianAutoencoder


class Autoencoder(GaussianAutoencoder):
    """An encoder and a decoder with nothing between them: no noise, no prior, no KL.

    loss = reconstruction

    The "autoencoder" of Xie et al. 2022 is another model, a beta-TCVAE with beta 0 that keeps its noise: the preset
    `xie2022_ae` of `beta_tc_vae`.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, deterministic=True)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction alone."""
        return {"reconstruction": self.autoencode(batch.images, generator)[2]}
