"""IODINE: slots whose posteriors are found by looking again and again at what is still wrong."""

import math
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError, unknown
from unknot.models._refinement import Look, Refinement
from unknot.models._slot_grouping import noise_of
from unknot.models.model import (
    Batch,
    DrawnSlots,
    Model,
    Player,
    Preset,
    Setting,
    Terms,
    above_zero,
    at_least_one,
    not_negative,
)
from unknot.models.terms import gaussian_log_density

LIKELIHOODS = ("logistic", "gaussian")
HISTORICAL = 5.0  # a constant that the reference code appends to every latent
PRIOR_VARIANCE = math.log(2)  # softplus(0): the prior is that of parameters that are all zero


class Step(NamedTuple):
    """One step of inference: the posterior's parameters (n, k, 2 d), and the two parts of its loss, (n,) each."""

    parameters: Tensor
    nll: Tensor
    kl: Tensor


class IODINE(Model):
    """Each slot has a posterior, refined a few times by a recurrent network that sees the loss and its gradients.

    L_t = - sum over pixels of log sum_k mask_k p(image; picture_k, sigma) + sum_k KL(q_t(z_k) || N(0, softplus(0)))

    loss = sum_(t = 0..T) w_t L_t,   w = 0, 1 / T, ..., 1

    The posterior of a slot is N(m, softplus(v)), and parameters that are all zero are the prior, whose variance is
    therefore 0.693 and not 1. All slots start from one learned vector; noise tells them apart. What the network sees
    is listed in `_refinement`. The representation is the means (n, k, d) after the last step, with noise that depends
    on the image alone.

    Every step decodes every slot at full size: expect several times the cost of slot attention.

    Args:
        setting: what to build for; `latents` and `architecture` are not used.
        slots: how many.
        slot_size: latents of a slot.
        refinements: T.
        likelihood: of pixels, "logistic" (reference code) or "gaussian" (the paper; Xie et al. 2022).
        sigma: its scale; 0.03 logistic, 0.1 Gaussian.
        channels: of convolutions.
        hidden: units of the recurrent network.
        clip: norm that gradients are cut back to; 0 leaves them.

    Departs from the reference: normalisations have no weights of their own; without a slot, the others share its
    pixels by the softmax of their logits.
    Reference: Greff et al. 2019, Multi-Object Representation Learning with Iterative Variational Inference,
    arXiv:1903.00450.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "reference": Preset(
            "the public code of Greff et al. 2019, CLEVR6",
            fixed={"image_size": 128, "lr": 1e-3, "batch_size": 32, "steps": 1_000_000},
        ),
        "xie2022": Preset(
            "comments in hydra_cfg of the code of Xie et al. 2022; 1,000 epochs of 23,000 images",
            fixed={
                "likelihood": "gaussian",
                "sigma": 0.1,
                "image_size": 128,
                "lr": 3e-4,
                "batch_size": 32,
                "steps": 718_750,
            },
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        slots: int = 7,
        slot_size: int = 64,
        refinements: int = 5,
        likelihood: str = "logistic",
        sigma: float = 0.03,
        channels: int = 64,
        hidden: int = 256,
        clip: float = 5.0,
    ) -> None:
        super().__init__()
        self.slots = at_least_one("iodine", slots=slots)
        self.slot_size = at_least_one("iodine", slot_size=slot_size)
        self.refinements = at_least_one("iodine", refinements=refinements)
        self.sigma = above_zero("iodine", sigma=sigma)
        self.clip = not_negative("iodine", clip=clip)
        if likelihood not in LIKELIHOODS:
            raise unknown("likelihood of iodine", likelihood, LIKELIHOODS, field="likelihood")
        if setting.pixels < 16:
            raise UnknotError(
                f"iodine: images of {setting.pixels} pixels; expected at least 16.", field="image_size"
            )
        self.likelihood = likelihood
        at_least_one("iodine", channels=channels)
        at_least_one("iodine", hidden=hidden)
        self.start = nn.Parameter(torch.zeros(2 * slot_size))
        self.decoder = SpreadDecoder(setting, slot_size, channels)
        self.refinement = Refinement(setting.channels, 2 * slot_size, channels, hidden)

    def players(self) -> tuple[Player, ...]:
        """Adam that forgets faster than by default, clipped, a tenth as fast after a million steps."""
        return (
            Player(
                "model",
                (self,),
                self.loss,
                betas=(0.95, 0.999),
                clip=self.clip,
                schedule=lambda step: 0.1 ** (step / 1e6),
            ),
        )

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The weighted sum of all steps' losses."""
        shape = (len(batch.images), self.refinements + 1, self.slots, self.slot_size)
        noise = torch.randn(shape, generator=generator, device=generator.device).to(batch.images.device)
        with torch.enable_grad():
            steps = list(self.steps(batch.images, noise))
        weights = [t / self.refinements for t in range(self.refinements + 1)]
        return {
            "reconstruction": sum_of(w * each.nll.mean() for w, each in zip(weights, steps, strict=True)),
            "kl": sum_of(w * each.kl.mean() for w, each in zip(weights, steps, strict=True)),
        }

    def steps(self, images: Tensor, noise: Tensor, *, learning: bool = True) -> Iterator[Step]:
        """The steps of inference; gradients must be enabled, for they are among its inputs.

        Args:
            images: (n, c, h, w).
            noise: (n, T + 1, k, d), of the samples that are decoded.
            learning: keep what a gradient through all steps needs.
        """
        parameters = self.start.expand(len(images), self.slots, -1)
        memory: tuple[Tensor, Tensor] | None = None
        for t in range(noise.shape[1]):
            if not learning:
                parameters = parameters.detach().requires_grad_()
            mean, variance = posterior(parameters)
            pictures, logits = self.decoder(mean + variance.sqrt() * noise[:, t])
            density = self.density(images, pictures)
            nll = -(logits.log_softmax(1) + density).logsumexp(1).sum((1, 2))
            kl = kl_to_prior(mean, variance).sum((1, 2))
            yield Step(parameters, nll, kl)
            if t == noise.shape[1] - 1:
                return
            gradients = torch.autograd.grad(
                (nll + kl).sum(), [pictures, logits, parameters], retain_graph=learning
            )
            look = Look(pictures, logits, density, parameters, *gradients)
            with torch.set_grad_enabled(learning):
                change, memory = self.refinement(images, look, memory)
                parameters = parameters + change

    def density(self, images: Tensor, pictures: Tensor) -> Tensor:
        """The log-density (n, k, h, w) of every pixel, all channels together, under each slot."""
        scale = images.new_tensor(self.sigma).log()
        if self.likelihood == "gaussian":
            return gaussian_log_density(images[:, None], pictures, 2 * scale).sum(2)
        away = (images[:, None] - pictures) / self.sigma
        return (-away - scale - 2 * functional.softplus(-away)).sum(2)

    def represent(self, images: Tensor) -> Tensor:
        """The means (n, k, d) after the last step."""
        draws = noise_of(images, (self.refinements + 1) * self.slots, self.slot_size)
        # Inference needs gradients, also where the caller has switched them off.
        with torch.inference_mode(False), torch.enable_grad():
            noise = draws.clone().view(len(images), self.refinements + 1, self.slots, self.slot_size)
            *_, last = (step.parameters.detach() for step in self.steps(images.clone(), noise, learning=False))
        return posterior(last)[0]

    def masks(self, images: Tensor) -> Tensor:
        """How far each pixel is drawn by each slot, (n, k, h, w)."""
        return self.slots_decoded(self.represent(images)).masks

    def slots_decoded(self, slots: Tensor) -> DrawnSlots:
        """What each slot (n, k, d) draws, and where."""
        pictures, logits = self.decoder(slots)
        return DrawnSlots(pictures.clamp(0, 1), logits.softmax(1))

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of slots (n, k, d)."""
        pictures, logits = self.decoder(latents)
        return DrawnSlots(pictures, logits.softmax(1)).combined().clamp(0, 1)


def posterior(parameters: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of posteriors with parameters (..., 2 d); zeros give N(0, softplus(0)).

    >>> posterior(torch.zeros(2))
    (tensor([0.]), tensor([0.6931]))
    """
    mean, raw = parameters.chunk(2, dim=-1)
    return mean, functional.softplus(raw)


def kl_to_prior(mean: Tensor, variance: Tensor) -> Tensor:
    """KL(N(mean, variance) || N(0, softplus(0))), element by element."""
    ratio = variance / PRIOR_VARIANCE
    return 0.5 * (ratio + mean.pow(2) / PRIOR_VARIANCE - 1 - ratio.log())


def sum_of(terms: Iterator[Tensor]) -> Tensor:
    """The sum of scalars."""
    return torch.stack(list(terms)).sum()


class SpreadDecoder(nn.Module):
    """The decoder of slots (n, k, d), spread over the image, to means (n, k, c, h, w) and mask logits (n, k, h, w)."""

    def __init__(self, setting: Setting, slot_size: int, channels: int) -> None:
        super().__init__()
        self.pixels = setting.pixels
        line = torch.linspace(-1, 1, setting.pixels)
        grid = torch.stack(torch.meshgrid(line, line, indexing="ij"))
        constant = torch.full((1, setting.pixels, setting.pixels), HISTORICAL)
        self.register_buffer("beside", torch.cat([constant, grid])[None], persistent=False)
        layers: list[nn.Module] = []
        for i in range(4):
            layers += [nn.Conv2d(channels if i else slot_size + 3, channels, 3, padding=1), nn.ELU()]
        self.body = nn.Sequential(*layers, nn.Conv2d(channels, 1 + setting.channels, 3, padding=1))

    def forward(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Means and mask logits."""
        n, k, size = slots.shape
        spread = slots.reshape(n * k, size, 1, 1).expand(-1, -1, self.pixels, self.pixels)
        beside = self.beside.expand(n * k, -1, -1, -1)  # type: ignore[operator]
        out = self.body(torch.cat([spread, beside], dim=1)).float().unflatten(0, (n, k))
        return out[:, :, 1:], out[:, :, 0]
