"""The networks and terms of PartedVAE: latents that belong to classes, beside latents that do not."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError, unknown
from unknot.models.model import Posterior, Setting
from unknot.models.networks import encoder_body
from unknot.models.terms import gaussian_kl, linear_ramp, logvar

TEMPERATURE = 0.67  # of the relaxed classes
SHARPEST = 8.0  # slope of the attention's sigmoid at the end


class Code(NamedTuple):
    """What the encoder says of images: q(z|x), and for each class variable k, q(u_k|x, c_k) and log q(c_k|x)."""

    z: Posterior
    u: list[Posterior]
    log_c: list[Tensor]

    @property
    def joint(self) -> Posterior:
        """All latents side by side, z first."""
        parts = [self.z, *self.u]
        return Posterior(
            torch.cat([part.mean for part in parts], 1), torch.cat([logvar(part) for part in parts], 1)
        )


class PartedEncoder(nn.Module):
    """The encoder from images to z, to class variables c_k, and to one Gaussian u_k for each c_k.

    u_k is read from the hidden units through an attention that its class sets: mean, logvar = W (h * sigmoid(s A c_k)).
    Each class variable has layers of its own, which is what block masks on joint layers would amount to.
    """

    def __init__(self, setting: Setting, n_classes: Sequence[int], u_size: int) -> None:
        super().__init__()
        z_size = setting.latents - len(n_classes) * u_size
        if z_size < 1:
            raise UnknotError(
                f"parted_vae: {setting.latents} latents, of which {len(n_classes)} x {u_size} belong to classes; at "
                "least one must be left. Set latents (--latents) higher.",
                field="latents",
            )
        self.trunk, width = encoder_body(setting)
        for index in [i for i, layer in enumerate(self.trunk) if isinstance(layer, nn.ReLU)][-2:]:
            self.trunk[index] = nn.LeakyReLU(0.1)
        self.z_head = nn.Linear(width, 2 * z_size)
        self.class_heads = nn.ModuleList(nn.Linear(width, n) for n in n_classes)
        self.attention = nn.ModuleList(nn.Linear(n, width) for n in n_classes)
        self.u_heads = nn.ModuleList(nn.Linear(width, 2 * u_size) for _ in n_classes)

    def class_log_probabilities(self, images: Tensor) -> list[Tensor]:
        """The log-probabilities log q(c_k|x) of images, (b, n_k) each."""
        return self._log_c(self.trunk(images))

    def forward(self, images: Tensor, step: int, generator: torch.Generator) -> Code:
        """The code in training: classes are relaxed samples, and the attention is as sharp as the step says."""
        slope = linear_ramp(step, start=1, end=SHARPEST, over=35_000)
        hidden = self.trunk(images)
        log_c = self._log_c(hidden)
        return self._code(hidden, log_c, [gumbel_softmax(each, generator) for each in log_c], slope)

    def most_likely(self, images: Tensor) -> Code:
        """The code without noise: each image has its most likely classes."""
        hidden = self.trunk(images)
        log_c = self._log_c(hidden)
        classes = [nn.functional.one_hot(each.argmax(1), each.shape[1]).to(each) for each in log_c]
        return self._code(hidden, log_c, classes, SHARPEST)

    def _log_c(self, hidden: Tensor) -> list[Tensor]:
        return [head(hidden).float().log_softmax(1) for head in self.class_heads]

    def _code(self, hidden: Tensor, log_c: list[Tensor], classes: list[Tensor], slope: float) -> Code:
        u = [
            _gaussian(head(hidden * (slope * attention(c)).sigmoid()))
            for head, attention, c in zip(self.u_heads, self.attention, classes, strict=True)
        ]
        return Code(_gaussian(self.z_head(hidden)), u, log_c)


class ClassPrior(nn.Module):
    """The learned prior of a u: one Gaussian for each class, with log-variance 2 tanh(.) - 1, between -3 and 1."""

    def __init__(self, n_classes: int, u_size: int) -> None:
        super().__init__()
        self.means, self.raw = nn.Embedding(n_classes, u_size), nn.Embedding(n_classes, u_size)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Means and log-variances, (n_classes, u_size) each."""
        return self.means.weight, 2 * self.raw.weight.tanh() - 1


def class_variables(model: str, classes: str, setting: Setting) -> tuple[list[int], list[int | None]]:
    """Sizes of the class variables that a text names, and the columns of the factors they stand for.

    The text has names of factors or numbers of classes, with commas; empty, it is the first categorical factor.
    """
    factors = () if setting.factors is None else tuple(setting.factors)
    if not classes:
        classes = next((factor.name for factor in factors if factor.kind == "categorical"), "")
        if not classes:
            raise UnknotError(
                f"{model}: the world has no categorical factor for its class variable; set classes to the name of a "
                "factor or to a number of classes, such as 3.",
                field="classes",
            )
    names = [factor.name for factor in factors]
    sizes: list[int] = []
    columns: list[int | None] = []
    for word in (word.strip() for word in classes.split(",")):
        if not word.isdigit() and word not in names:
            raise unknown(f"factor for the classes of {model}", word, names, field="classes")
        columns.append(None if word.isdigit() else names.index(word))
        sizes.append(int(word) if word.isdigit() else factors[names.index(word)].size)
    if min(sizes) < 2:
        raise UnknotError(
            f"{model}: classes is {classes!r}; a class variable has at least two classes.", field="classes"
        )
    return sizes, columns


def gumbel_softmax(log_c: Tensor, generator: torch.Generator) -> Tensor:
    """A relaxed sample of classes (b, n) with log-probabilities log_c."""
    waiting = torch.empty(log_c.shape, device=generator.device).exponential_(generator=generator)
    gumbel = -waiting.clamp_min(torch.finfo(waiting.dtype).tiny).log()
    return ((log_c + gumbel.to(log_c.device)) / TEMPERATURE).softmax(1)


def expected_kl(u: Posterior, log_c: Tensor, prior: tuple[Tensor, Tensor]) -> Tensor:
    """The expected KL, E_{q(c|x)} KL(q(u|x) || p(u|c)), averaged over the batch."""
    of_classes = gaussian_kl(Posterior(u.mean[:, None], logvar(u)[:, None]), Posterior(*prior)).sum(2)
    return (log_c.exp() * of_classes).sum(1).mean()


def class_kl(log_c: Tensor) -> Tensor:
    """KL of the batch's mean q(c|x) from the uniform prior: zero if all classes are used alike."""
    mean = log_c.exp().mean(0)
    return torch.xlogy(mean, mean * len(mean)).sum()


def class_entropy(log_c: Tensor) -> Tensor:
    """Entropy of q(c|x), averaged over the batch: zero if every image has one class."""
    return -(log_c.exp() * log_c).sum(1).mean()


def overlaps(prior: tuple[Tensor, Tensor]) -> Tensor:
    """Bhattacharyya coefficients (n_pairs,) of all pairs of Gaussians, rows of means and log-variances."""
    mean, logvar = prior
    first, second = torch.triu_indices(len(mean), len(mean), offset=1, device=mean.device)
    middle = 0.5 * (logvar[first].exp() + logvar[second].exp())
    apart = (mean[first] - mean[second]).pow(2) / middle / 8
    wider = 0.5 * (middle.log() - 0.5 * (logvar[first] + logvar[second]))
    return (-(apart + wider).sum(1)).exp()


def _gaussian(out: Tensor) -> Posterior:
    return Posterior(*out.float().chunk(2, dim=1))
