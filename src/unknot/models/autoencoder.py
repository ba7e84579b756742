"""The plain autoencoder."""

import torch
from torch import Tensor

from unknot.models.model import Batch, Model, Posterior, Setting, Terms
from unknot.models.networks import Decoder, Encoder
from unknot.models.terms import pixels, reconstruction


class Autoencoder(Model):
    """An encoder and a decoder with nothing between them: no noise, no prior, no KL.

    loss = reconstruction

    The "autoencoder" of Xie et al. 2022 is another model, a beta-TCVAE with beta 0 that keeps its noise: the preset
    `xie2022_ae` of `beta_tc_vae`.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(setting, deterministic=True), Decoder(setting)
        self.likelihood = setting.decoder

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction alone."""
        output = self.decoder(self.represent(batch.images).mean)
        return {"reconstruction": reconstruction(batch.images, output, self.likelihood)}

    def represent(self, images: Tensor) -> Posterior:
        """The code of images."""
        code: Posterior = self.encoder(images)
        return code

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of latents."""
        return pixels(self.decoder(latents), self.likelihood)
