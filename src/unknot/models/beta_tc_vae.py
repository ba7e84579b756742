"""beta-TCVAE, and the decomposition of the KL that it weighs."""

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from unknot.errors import UnknotError, unknown
from unknot.models.model import Batch, Posterior, Preset, Setting, Terms, not_negative
from unknot.models.networks import GaussianAutoencoder
from unknot.models.terms import gaussian_log_density, kl, linear_ramp, logvar

ESTIMATORS = ("mws", "mss")
OF_XIE2022: dict[str, float | int | str] = {
    "estimator": "mss",
    "architecture": "coat128",
    "decoder": "gaussian",
    "latents": 256,
    "image_size": 128,
    "lr": 2e-4,
    "batch_size": 128,
    "steps": 54_000,
}


class BetaTCVAE(GaussianAutoencoder):
    """The VAE with extra weight on the total correlation of its latents, the part of the KL that entangles them.

    loss = reconstruction + alpha MI + beta TC + gamma DWKL
         = reconstruction + KL + (alpha - 1) MI + (beta - 1) TC + (gamma - 1) DWKL

    In the second form, which is the one minimised, the KL is exact; only what departs from the VAE is estimated.

    The estimate needs log q(z) for z of a batch of B out of N images:

    | estimator | q(z_b) | |
    |---|---|---|
    | `mws` | mean over the batch of q(z_b; x_i) | gradients of minibatch-weighted sampling |
    | `mss` | the same with weights that stand for all N images | minibatch-stratified sampling |

    Constants are such that the terms of the curve can be read: TC is zero where all posteriors agree.

    Args:
        setting: what to build for.
        beta: weight of the total correlation; 1 is the VAE.
        alpha: weight of the mutual information of image and code.
        gamma: weight of the dimension-wise KL.
        anneal: steps over which gamma grows from 0.
        estimator: "mws" or "mss".

    Departs from public code: the `mss` weights have 1/N on the diagonal, as in the paper; copies in circulation
    have it in the first column.
    Reference: Chen et al. 2018, Isolating Sources of Disentanglement in VAEs, arXiv:1802.04942, eq. 4 and appendix C.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5, defaults of its public code; 100 epochs",
            fixed={"beta": 6, "anneal": 10_000, "estimator": "mss", "architecture": "burgess64", "lr": 5e-4},
        ),
        "duan2020": Preset("Duan et al. 2020, Table 5", {"beta": (1, 2, 4, 6, 8, 10)}, {"steps": 300_000}),
        # The code of Xie et al. 2022 sums squared errors of images in [-1, 1], eight times our half squared error of
        # images in [0, 1]: its weights 0, 1, 2, 3 are an eighth of that here.
        "xie2022": Preset(
            "hydra_cfg/bvae.yaml of the code of Xie et al. 2022, weights in our units; 300 epochs of 23,000 images",
            sweep={"beta": (0.125, 0.25, 0.375)},
            fixed={"alpha": 0.125, "gamma": 0.125, "anneal": 10_000, **OF_XIE2022},
        ),
        "xie2022_ae": Preset(
            "The 'auto-encoder' of Xie et al. 2022, in our units: the noise and the mutual information stay",
            fixed={"alpha": 0.125, "beta": 0, "gamma": 0, **OF_XIE2022},
        ),
        "vansteenkiste2019": Preset(
            "van Steenkiste et al. 2019, appendix A.1", {"beta": (1, 2, 4, 6, 8, 10)}, {"steps": 300_000}
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        beta: float = 6.0,
        alpha: float = 1.0,
        gamma: float = 1.0,
        anneal: int = 0,
        estimator: str = "mws",
    ) -> None:
        super().__init__(setting)
        self.beta = not_negative("beta_tc_vae", beta=beta)
        self.alpha = not_negative("beta_tc_vae", alpha=alpha)
        self.gamma = not_negative("beta_tc_vae", gamma=gamma)
        self.anneal = not_negative("beta_tc_vae", anneal=anneal)
        if estimator not in ESTIMATORS:
            raise unknown("estimator of beta_tc_vae", estimator, ESTIMATORS, field="estimator")
        self.estimator, self.n_images = estimator, setting.n_images

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Reconstruction, KL, and the surplus weight of each part of the KL that has one."""
        q, z, fit = self.autoencode(batch.images, generator)
        parts = kl_parts(z, q, log_weights(self.estimator, len(z), self.n_images).to(z.device))
        terms = {
            "reconstruction": fit,
            "kl": kl(q),
            "total_correlation": (self.beta - 1) * parts.total_correlation,
        }
        if self.alpha != 1:
            terms["mutual_information"] = (self.alpha - 1) * parts.mutual_information
        if self.gamma != 1 or self.anneal:
            gamma = linear_ramp(step, start=0, end=self.gamma, over=self.anneal)
            terms["dimension_wise_kl"] = (gamma - 1) * parts.dimension_wise_kl
        return terms


class KLParts(NamedTuple):
    """KL(q(z|x) || N(0, I)) in three parts, averaged over the batch."""

    mutual_information: Tensor  # E[log q(z|x) - log q(z)]
    total_correlation: Tensor  # E[log q(z) - sum_j log q(z_j)]
    dimension_wise_kl: Tensor  # E[sum_j log q(z_j) - log p(z)]


def kl_parts(z: Tensor, q: Posterior, weights: Tensor) -> KLParts:
    """The parts of the KL at samples z (b, d) of their posteriors.

    Whatever the weights, the parts sum to the mean of log q(z|x) - log p(z). Takes memory of b * b * d numbers.

    Args:
        z: row b is a sample of row b of q.
        q: the posteriors of a batch.
        weights: (b, b) log-weight of posterior i in q(z_b), see `log_weights`.
    """
    density = gaussian_log_density(z[:, None], q.mean[None], logvar(q)[None])  # (b, b, d)
    own = gaussian_log_density(z, q.mean, logvar(q)).sum(1)
    prior = gaussian_log_density(z, torch.zeros_like(z), torch.zeros_like(z)).sum(1)
    joint = (density.sum(2) + weights).logsumexp(1)
    product = (density + weights[:, :, None]).logsumexp(1).sum(1)
    return KLParts((own - joint).mean(), (joint - product).mean(), (product - prior).mean())


def log_weights(estimator: str, batch: int, n_images: int) -> Tensor:
    """The log-weight (b, b) of posterior i in the estimate of q(z_b); each row of weights sums to one.

    "mws": all 1 / b. "mss", with M = b - 1: 1 / N for the own posterior, (N - M) / (N M) for one other, 1 / M for
    the rest.

    >>> log_weights("mss", 3, 8).exp()
    tensor([[0.1250, 0.3750, 0.5000],
            [0.5000, 0.1250, 0.3750],
            [0.3750, 0.5000, 0.1250]])
    """
    if estimator == "mws":
        return torch.full((batch, batch), -math.log(batch))
    others = batch - 1
    if not 1 <= others <= n_images:
        raise UnknotError(
            f"beta_tc_vae: estimator 'mss' with batches of {batch} out of {n_images} images; a batch needs two images "
            "and not more than there are. Change batch_size, or use 'mws'."
        )
    rows = torch.arange(batch)
    weights = torch.full((batch, batch), 1 / others)
    weights[rows, (rows + 1) % batch] = (n_images - others) / (n_images * others)
    weights[rows, rows] = 1 / n_images
    return weights.log()
