"""DIP-VAE-I and DIP-VAE-II."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from unknot.models.model import Batch, Posterior, Preset, Setting, Terms, not_negative
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import covariance, kl, logvar

_SWEEP = {"lambda_od": (1, 2, 5, 10, 20, 50)}
_SLIP = (
    "van Steenkiste et al. 2019, appendix A.1, with the ratios of its public code (its text says lambda_d = 10)"
)


class DIPVAE(GaussianAutoencoder):
    """What both share: the KL and two penalties on a covariance S, that of the means or of the latents."""

    def __init__(
        self,
        setting: Setting,
        name: str,
        lambda_od: float,
        lambda_d_factor: float,
        S: Callable[[Posterior], Tensor],
    ) -> None:
        super().__init__(setting)
        self.lambda_od = not_negative(name, lambda_od=lambda_od)
        self.lambda_d = lambda_od * not_negative(name, lambda_d_factor=lambda_d_factor)
        self.S = S

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction, KL, and the two penalties on the covariance."""
        q, _, fit = self.autoencode(batch.images, generator)
        off, on = covariance_penalties(self.S(q))
        return {
            "reconstruction": fit,
            "kl": kl(q),
            "off_diagonal": self.lambda_od * off,
            "diagonal": self.lambda_d * on,
        }


class DIPVAEI(DIPVAE):
    """A VAE whose posterior means should be uncorrelated and of variance one over the data.

    loss = reconstruction + KL + lambda_od sum_{i != j} S_ij^2 + lambda_d sum_i (S_ii - 1)^2,   S = Cov[mean(x)]

    The covariance is that of the batch, divided by its size.

    Args:
        setting: what to build for.
        lambda_od: weight of the entries off the diagonal.
        lambda_d_factor: lambda_d / lambda_od.

    Reference: Kumar et al. 2018, Variational Inference of Disentangled Latent Concepts from Unlabeled Observations,
    arXiv:1711.00848, eq. 6.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "duan2020": Preset("Duan et al. 2020, Table 5", _SWEEP, {"lambda_d_factor": 10, "steps": 300_000}),
        "vansteenkiste2019": Preset(_SLIP, _SWEEP, {"lambda_d_factor": 10, "steps": 300_000}),
    }

    def __init__(self, setting: Setting, *, lambda_od: float = 10.0, lambda_d_factor: float = 10.0) -> None:
        super().__init__(setting, "dip_vae_i", lambda_od, lambda_d_factor, mean_covariance)


class DIPVAEII(DIPVAE):
    """A VAE whose latents, samples rather than means, should be uncorrelated and of variance one over the data.

    loss = reconstruction + KL + lambda_od sum_{i != j} S_ij^2 + lambda_d sum_i (S_ii - 1)^2,
    S = E[diag(variance(x))] + Cov[mean(x)]

    Args:
        setting: what to build for.
        lambda_od: weight of the entries off the diagonal.
        lambda_d_factor: lambda_d / lambda_od.

    Reference: Kumar et al. 2018, arXiv:1711.00848, eq. 7.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "duan2020": Preset("Duan et al. 2020, Table 5", _SWEEP, {"lambda_d_factor": 1, "steps": 300_000}),
        "vansteenkiste2019": Preset(_SLIP, _SWEEP, {"lambda_d_factor": 1, "steps": 300_000}),
    }

    def __init__(self, setting: Setting, *, lambda_od: float = 10.0, lambda_d_factor: float = 1.0) -> None:
        super().__init__(setting, "dip_vae_ii", lambda_od, lambda_d_factor, latent_covariance)


def mean_covariance(q: Posterior) -> Tensor:
    """Covariance (d, d) of the means of q over the batch."""
    return covariance(q.mean)


def latent_covariance(q: Posterior) -> Tensor:
    """Covariance (d, d) of samples of q over the batch: mean variance on the diagonal, plus that of the means."""
    return logvar(q).exp().mean(0).diag() + covariance(q.mean)


def covariance_penalties(S: Tensor) -> tuple[Tensor, Tensor]:
    """How far a covariance is from the identity, squared: off the diagonal, and on it."""
    diagonal = S.diagonal()
    return S.pow(2).sum() - diagonal.pow(2).sum(), (diagonal - 1).pow(2).sum()
