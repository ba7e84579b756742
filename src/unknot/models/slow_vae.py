"""SlowVAE."""

import math
from typing import ClassVar

import torch
from torch import Tensor

from unknot.errors import UnknotError, unknown
from unknot.models.model import Batch, Posterior, Preset, Setting, Supervision, Terms, not_negative, required
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import kl, logvar

REDUCTIONS = ("released", "consistent")
_NARROWEST = 1e-10  # standard deviation below which a Gaussian counts as a point, so that nothing is 0/0
_FAR = 12.0  # standard deviations beyond which erf is 1 and the density is 0 in float32


class SlowVAE(GaussianAutoencoder):
    """The VAE of pairs in which every factor moves, mostly by little: latents follow a sparse (Laplace) prior.

    p(z_0) = N(0, I),  p(z_1 | z_0) = prod_j lambda/2 exp(-lambda |z_1j - z_0j|)
    loss = rec_0 + rec_1 + beta (KL_0 + KL_1) / 2 + gamma (w (CE_01 + CE_10) - (H_0 + H_1) / 2)

    KL is to N(0, I); CE_01 is the cross-entropy of q(z_1|x_1) with the Laplace law around the *mean* of q(z_0|x_0),
    CE_10 the other way round, H the entropy of a posterior. With w = 1/2 ("consistent") and beta = gamma = 1 this is
    the bound on log p(x_0, x_1), averaged over the two directions of time, but for that mean. The released code sums
    the two cross-entropies, w = 1 ("released"), and its published gammas were tuned for that.

    The two reconstructions are summed and the two KLs averaged, so that beta counts half of what it does in
    a beta-VAE: gamma = 0 is twice a beta-VAE with beta/2.

    Args:
        setting: what to build for.
        beta: weight of the KL to N(0, I).
        gamma: weight of the Laplace term.
        rate: lambda of the Laplace law.
        laplace_reduction: "released" or "consistent".

    Reference: Klindt et al. 2021, Towards Nonlinear Disentanglement in Natural Data with Temporal Sparse Coding,
    arXiv:2007.10930, and its public code.
    """

    supervision: ClassVar[Supervision] = "pairs"
    pairs: ClassVar[str] = "laplace"
    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset(
            "Schott et al. 2022, appendix H.3; batches of 64 pairs",
            {"gamma": (1, 5, 10, 15, 20, 25)},
            {"beta": 1, "rate": 6, "steps": 500_000, "batch_size": 64, "pairs": "laplace"},
        ),
        "klindt2021": Preset(
            "Klindt et al. 2021; its batch of 64 images is 32 pairs",
            fixed={"beta": 1, "gamma": 10, "rate": 6, "steps": 300_000, "batch_size": 32, "pairs": "laplace"},
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        beta: float = 1.0,
        gamma: float = 10.0,
        rate: float = 6.0,
        laplace_reduction: str = "released",
    ) -> None:
        super().__init__(setting)
        if laplace_reduction not in REDUCTIONS:
            raise unknown("laplace_reduction", laplace_reduction, REDUCTIONS, field="laplace_reduction")
        if not 0 < rate < math.inf:
            raise UnknotError(f"slow_vae: rate is {rate}; expected a number above zero, such as 6.", field="rate")
        self.beta, self.gamma = not_negative("slow_vae", beta=beta), not_negative("slow_vae", gamma=gamma)
        self.rate = rate
        self.share_of_cross_entropy = 1.0 if laplace_reduction == "released" else 0.5

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction of both images, KL to the normal prior, and the Laplace term."""
        q0, _, fit0 = self.autoencode(batch.images, generator)
        q1, _, fit1 = self.autoencode(required(batch.pair, "slow_vae", "pairs"), generator)
        return {
            "reconstruction": fit0 + fit1,
            "kl": self.beta * 0.5 * (kl(q0) + kl(q1)),
            "laplace": self.gamma * self.laplace_term(q0, q1),
        }

    def laplace_term(self, q0: Posterior, q1: Posterior) -> Tensor:
        """The term w (CE_01 + CE_10) - (H_0 + H_1) / 2, summed over latents, averaged over pairs."""
        d = q1.mean - q0.mean
        ahead, back = (laplace_cross_entropy(d, logvar(q), self.rate) for q in (q1, q0))  # even in d
        entropies = 0.5 * (entropy(logvar(q0)) + entropy(logvar(q1)))
        return (self.share_of_cross_entropy * (ahead + back) - entropies).sum(1).mean()


def laplace_cross_entropy(d: Tensor, log_variance: Tensor, rate: float) -> Tensor:
    """The cross-entropy -E[log Laplace(z; 0, 1/rate)] for z ~ N(d, s^2), s^2 = exp(log_variance), element by element.

    -ln(rate/2) + rate (s sqrt(2/pi) exp(-d^2 / (2 s^2)) + d (2 Phi(d/s) - 1)); even in d; -ln(rate/2) + rate |d| as s
    goes to 0.
    """
    s = (0.5 * log_variance).exp().clamp(min=_NARROWEST)
    ratio = (d / s).clamp(-_FAR, _FAR)
    spread = s * math.sqrt(2 / math.pi) * (-0.5 * ratio.pow(2)).exp()
    return rate * (spread + d * torch.erf(ratio / math.sqrt(2))) - math.log(rate / 2)


def entropy(log_variance: Tensor) -> Tensor:
    """The entropy of a Gaussian, 1/2 ln(2 pi e s^2), element by element."""
    return 0.5 * (log_variance + math.log(2 * math.pi * math.e))
