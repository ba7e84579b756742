"""The VAEs of pairs: which latents the two images share, and what becomes of them.

The latents whose posteriors differ little between the images are taken to encode the factors that did not change;
both posteriors get the same average there.
"""

import math
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from unknot.errors import unknown
from unknot.models.model import Batch, Posterior, Preset, Setting, Supervision, Terms, not_negative, required
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl, logvar, reconstruction, sample

Average = Callable[[Posterior, Posterior], Posterior]
DIVERGENCES = ("kl", "symmetric_kl")


LOCATELLO2020 = Preset(
    "Locatello et al. 2020; pairs as its public code draws them",
    {"beta": (1, 2, 4, 6, 8, 16)},
    {"steps": 300_000, "batch_size": 64, "pairs": "k_factors[compat=locatello]"},
)


class SharedLatentsVAE(GaussianAutoencoder):
    """What Ada-GVAE and Ada-ML-VAE share: all but how posteriors are averaged."""

    supervision: ClassVar[Supervision] = "pairs"
    pairs: ClassVar[str] = "one_factor"

    def __init__(self, setting: Setting, name: str, beta: float, divergence: str, average: Average) -> None:
        super().__init__(setting)
        if divergence not in DIVERGENCES:
            raise unknown("divergence", divergence, DIVERGENCES, field="divergence")
        self.name, self.beta = name, not_negative(name, beta=beta)
        self.divergence, self.average = divergence, average

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction and weighted KL of both images, on the averaged posteriors, each the mean of the two."""
        images = (batch.images, required(batch.pair, self.name, "pairs"))
        first, second = (self.represent(x) for x in images)
        both = share(first, second, is_shared(divergences(first, second, self.divergence)), self.average)
        fits = [
            reconstruction(x, self.decoder(sample(q, generator)), self.likelihood)
            for x, q in zip(images, both, strict=True)
        ]
        return {"reconstruction": 0.5 * (fits[0] + fits[1]), "kl": self.beta * 0.5 * (kl(both[0]) + kl(both[1]))}


def divergences(first: Posterior, second: Posterior, kind: str) -> Tensor:
    """How far apart the two posteriors of each latent are, (b, d).

    delta_j = KL(q1_j || q2_j) = 1/2 (v1/v2 + (m2 - m1)^2 / v2 - 1 + ln v2 - ln v1), or the mean of both directions.
    """
    forward = _kl(first, second)
    return forward if kind == "kl" else 0.5 * (forward + _kl(second, first))


def is_shared(delta: Tensor) -> Tensor:
    """The latents (b, d) below the middle of the smallest and the largest divergence of their pair.

    The farthest is never shared; where all are equally far, as for two equal images, none is.
    """
    middle = 0.5 * (delta.amin(1, keepdim=True) + delta.amax(1, keepdim=True))
    return delta < middle


def share(first: Posterior, second: Posterior, shared: Tensor, average: Average) -> tuple[Posterior, Posterior]:
    """The two posteriors with their average where they are shared."""
    middle = average(first, second)
    of_first, of_second = (
        Posterior(torch.where(shared, middle.mean, q.mean), torch.where(shared, logvar(middle), logvar(q)))
        for q in (first, second)
    )
    return of_first, of_second


def mean_of_variances(first: Posterior, second: Posterior) -> Posterior:
    """The Gaussian with mean (m1 + m2) / 2 and variance (v1 + v2) / 2."""
    middle = torch.logaddexp(logvar(first), logvar(second)) - math.log(2)
    return Posterior(0.5 * (first.mean + second.mean), middle)


def mean_of_precisions(first: Posterior, second: Posterior) -> Posterior:
    """The mean weighted by precision, (m1/v1 + m2/v2) / (1/v1 + 1/v2), and variance 2 v1 v2 / (v1 + v2)."""
    product = product_of_gaussians(first, second)
    return Posterior(product.mean, logvar(product) + math.log(2))


def product_of_gaussians(first: Posterior, second: Posterior) -> Posterior:
    """The mean weighted by precision, and variance v1 v2 / (v1 + v2), half that of the mean precision."""
    log1, log2 = logvar(first), logvar(second)
    weight = torch.sigmoid(log2 - log1)  # (1/v1) / (1/v1 + 1/v2)
    mean = weight * first.mean + (1 - weight) * second.mean
    return Posterior(mean, log1 + log2 - torch.logaddexp(log1, log2))


def _kl(first: Posterior, second: Posterior) -> Tensor:
    # Not `gaussian_kl`, which rounds otherwise: between posteriors that nearly agree, rounding decides what is shared.
    log_ratio = logvar(first) - logvar(second)
    return 0.5 * (log_ratio.exp() + (second.mean - first.mean).pow(2) * (-logvar(second)).exp() - 1 - log_ratio)
