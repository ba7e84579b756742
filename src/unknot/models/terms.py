"""Terms that objectives are written in.

One convention for all models: sum over pixels and channels, sum over latents, mean over the batch, so that a
published beta, gamma or lambda means what its paper meant.
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from unknot.models.model import Posterior


def reconstruction(
    images: Tensor, output: Tensor, decoder: Literal["bernoulli", "gaussian"] = "bernoulli"
) -> Tensor:
    """Negative log-likelihood of images (b, c, h, w) in [0, 1] under a decoder's output, less constants.

    Bernoulli: cross-entropy of logits; zero logits give c h w ln 2. Gaussian: half the squared error.
    """
    if decoder == "bernoulli":
        total = functional.binary_cross_entropy_with_logits(output, images, reduction="sum")
    else:
        total = 0.5 * (output - images).pow(2).sum()
    return total / len(images)


def logvar(q: Posterior) -> Tensor:
    """The log-variance of a posterior that has one."""
    if q.logvar is None:
        raise TypeError("a deterministic code has no variance")
    return q.logvar


def gaussian_kl(q: Posterior, p: Posterior | None = None) -> Tensor:
    """KL(q || p) of two Gaussians, element by element; p is N(0, 1) if left out.

    1/2 [((m_q - m_p)^2 + v_q) / v_p + ln v_p - ln v_q - 1]
    """
    p = p or Posterior(torch.zeros_like(q.mean), torch.zeros_like(q.mean))
    ratio = ((q.mean - p.mean).pow(2) + logvar(q).exp()) / logvar(p).exp()
    return 0.5 * (ratio + logvar(p) - logvar(q) - 1)


def kl_per_latent(q: Posterior) -> Tensor:
    """KL(q || N(0, 1)) of each latent (d,), averaged over the batch."""
    return gaussian_kl(q).mean(0)


def kl(q: Posterior) -> Tensor:
    """KL(q || N(0, I)), summed over latents, averaged over the batch."""
    return kl_per_latent(q).sum()


def sample(q: Posterior, generator: torch.Generator) -> Tensor:
    """A reparameterised draw from q, with noise from the generator alone."""
    if q.logvar is None:
        return q.mean
    noise = torch.randn(q.mean.shape, generator=generator, device=generator.device)
    return q.mean + (0.5 * q.logvar).exp() * noise.to(q.mean.device)


def covariance(rows: Tensor) -> Tensor:
    """Biased covariance (d, d) of rows (b, d): E[x x^T] - E[x] E[x]^T."""
    centred = rows - rows.mean(0)
    return centred.T @ centred / len(rows)


def gaussian_log_density(z: Tensor, mean: Tensor, logvar: Tensor) -> Tensor:
    """The log-density of N(z; mean, exp(logvar)), element by element."""
    return -0.5 * ((z - mean).pow(2) * (-logvar).exp() + logvar + math.log(2 * math.pi))


def linear_ramp(step: int, *, start: float, end: float, over: int) -> float:
    """A quantity that moves from start to end over the first `over` steps and stays there."""
    return end if over <= 0 else start + (end - start) * min(1.0, step / over)


def warm_up_and_decay(step: int, *, warm_up: int, half_life: int) -> float:
    """A factor of the learning rate that rises linearly to 1 over the first steps and halves every `half_life`.

    >>> [warm_up_and_decay(step, warm_up=4, half_life=8) for step in (0, 3, 8)]
    [0.25, 0.7711054127039704, 0.5]
    """
    rise = min(1.0, (step + 1) / warm_up) if warm_up > 0 else 1.0
    return rise * (0.5 ** (step / half_life) if half_life > 0 else 1.0)


def pixels(output: Tensor, decoder: Literal["bernoulli", "gaussian"] = "bernoulli") -> Tensor:
    """A decoder's output as images in [0, 1]."""
    return output.sigmoid() if decoder == "bernoulli" else output.clamp(0, 1)
