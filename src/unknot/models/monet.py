"""MONet: attention cuts an image into parts one after the other, and one VAE explains them all."""

from itertools import pairwise
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models._u_net import UNet
from unknot.models.model import (
    Batch,
    DrawnSlots,
    Model,
    Player,
    Posterior,
    Preset,
    Setting,
    Terms,
    above_zero,
    at_least_one,
    not_negative,
)
from unknot.models.terms import gaussian_log_density, kl, sample

CLAMP = 1e-5  # least probability in the KL of masks


class Parts(NamedTuple):
    """What the component VAE makes of every slot.

    Attributes:
        q: posteriors of the latents, (n k, d).
        pictures: (n, k, c, h, w) in [0, 1].
        logits: (n, k, h, w) of the decoded masks.
    """

    q: Posterior
    pictures: Tensor
    logits: Tensor


class MONet(Model):
    """An image is cut up by attention, and a small VAE explains each part and its outline.

    scope_0 = 1;  alpha_k = attention(image, scope_k);  mask_k = scope_k alpha_k;  scope_(k+1) = scope_k (1 - alpha_k)

    loss = - log sum_k mask_k N(image; picture_k, sigma_k) + beta sum_k KL(q(z_k) || N(0, I)) + gamma KL(masks || p)

    with p the masks that the VAE decodes.

    The last mask is the scope that is left. Likelihoods are those of whole pixels (all channels belong to one slot),
    summed over pixels; the KL of masks is that of a categorical variable at each pixel, probabilities at least 1e-5.
    The representation is the means (n, k, d) of all slots, in the order of attention; `masks` are those of attention.

    Args:
        setting: what to build for; `latents` and `architecture` are not used.
        slots: how many parts; 11 for scenes of ten objects.
        slot_size: latents of a part.
        beta: weight of the KL of latents.
        gamma: weight of the KL of masks.
        sigma_first: deviation of pixels in the first slot, which takes the background.
        sigma: deviation of pixels in the others.
        channels: of the first convolutions; later ones have twice as many.

    Departs from what is known of the paper: pictures pass a sigmoid, as in a public reimplementation.
    Reference: Burgess et al. 2019, MONet: Unsupervised Scene Decomposition and Representation, arXiv:1901.11390. The
    authors released no code: sizes are those of two public reimplementations.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "paper": Preset(
            "Burgess et al. 2019, as reimplemented",
            fixed={"slots": 7, "beta": 0.5, "gamma": 0.5, "lr": 1e-4, "batch_size": 64, "steps": 1_000_000},
        ),
        "clevr": Preset(
            "a public reimplementation tuned on CLEVR",
            fixed={
                "slots": 11,
                "sigma_first": 0.06,
                "sigma": 0.1,
                "image_size": 128,
                "lr": 1e-4,
                "batch_size": 64,
            },
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        slots: int = 7,
        slot_size: int = 16,
        beta: float = 0.5,
        gamma: float = 0.5,
        sigma_first: float = 0.09,
        sigma: float = 0.11,
        channels: int = 32,
    ) -> None:
        super().__init__()
        self.slots = at_least_one("monet", slots=slots)
        self.slot_size = at_least_one("monet", slot_size=slot_size)
        self.beta, self.gamma = not_negative("monet", beta=beta), not_negative("monet", gamma=gamma)
        self.sigma_first = above_zero("monet", sigma_first=sigma_first)
        self.sigma = above_zero("monet", sigma=sigma)
        at_least_one("monet", channels=channels)
        self.attention = UNet("monet", setting.channels + 1, setting.pixels, channels)
        self.encoder = _component_encoder(setting, slot_size, channels)
        self.decoder = ComponentDecoder(setting, slot_size, channels)

    def players(self) -> tuple[Player, ...]:
        """One optimiser, RMSProp."""
        return (Player("model", (self,), self.loss, optimiser="rmsprop"),)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The likelihood of the mixture, and the KLs of latents and of masks."""
        log_masks = self.log_masks(batch.images)
        parts = self.parts(batch.images, log_masks, generator)
        return {
            "reconstruction": -self.log_likelihood(batch.images, parts.pictures, log_masks).mean(),
            "kl": self.beta * self.slots * kl(parts.q),  # `kl` is the mean over images and slots
            "mask_kl": self.gamma * mask_kl(log_masks, parts.logits.log_softmax(1)),
        }

    def log_masks(self, images: Tensor) -> Tensor:
        """Logarithms of the masks (n, k, h, w) of attention; masks sum to one over slots."""
        scope = images.new_zeros(len(images), 1, *images.shape[2:])
        log_masks = []
        for _ in range(self.slots - 1):
            logit = self.attention(torch.cat([images, scope], dim=1)).float()
            log_masks.append(scope + functional.logsigmoid(logit))
            scope = scope + functional.logsigmoid(-logit)
        return torch.cat([*log_masks, scope], dim=1)

    def parts(self, images: Tensor, log_masks: Tensor, generator: torch.Generator | None = None) -> Parts:
        """What the VAE makes of each slot; of the means if there is no generator to draw with."""
        n, k = log_masks.shape[:2]
        q = self.posteriors(images, log_masks)
        z = q.mean if generator is None else sample(q, generator)
        pictures, logits = self.decoder(z)
        return Parts(q, pictures.unflatten(0, (n, k)), logits.unflatten(0, (n, k)))

    def posteriors(self, images: Tensor, log_masks: Tensor) -> Posterior:
        """Posteriors (n k, d) of the latents of slots."""
        n, k, height, width = log_masks.shape
        repeated = images[:, None].expand(-1, k, -1, -1, -1)
        both = torch.cat([repeated, log_masks[:, :, None]], dim=2).reshape(n * k, -1, height, width)
        return Posterior(*self.encoder(both).float().chunk(2, dim=1))

    def log_likelihood(self, images: Tensor, pictures: Tensor, log_masks: Tensor) -> Tensor:
        """The log-likelihood of each image (n,) under the mixture of slots at each pixel."""
        sigmas = images.new_full((pictures.shape[1],), self.sigma)
        sigmas[0] = self.sigma_first
        logvar = 2 * sigmas.log().view(1, -1, 1, 1, 1)
        each = gaussian_log_density(images[:, None], pictures, logvar).sum(2)  # over channels: one pixel, one slot
        return (log_masks + each).logsumexp(1).sum((1, 2))

    def represent(self, images: Tensor) -> Tensor:
        """The means (n, k, d) of all slots."""
        return self.posteriors(images, self.log_masks(images)).mean.view(len(images), self.slots, self.slot_size)

    def masks(self, images: Tensor) -> Tensor:
        """How far each pixel belongs to each slot, (n, k, h, w), by attention."""
        return self.log_masks(images).exp()

    def slots_decoded(self, slots: Tensor) -> DrawnSlots:
        """What each slot (n, k, d) draws, and where its decoded mask wins."""
        pictures, logits = self.decoder(slots.flatten(0, 1))
        n, k = slots.shape[:2]
        return DrawnSlots(pictures.unflatten(0, (n, k)), logits.unflatten(0, (n, k)).softmax(1))

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of slots (n, k, d)."""
        return self.slots_decoded(latents).combined()


def mask_kl(log_masks: Tensor, log_decoded: Tensor) -> Tensor:
    """KL(mask || decoded mask) of (n, k, h, w), summed over pixels, averaged over images."""
    least = torch.tensor(CLAMP).log().item()
    q, p = log_masks.clamp_min(least), log_decoded.clamp_min(least)
    return (q.exp() * (q - p)).sum((1, 2, 3)).mean()


def _component_encoder(setting: Setting, latents: int, channels: int) -> nn.Sequential:
    """The encoder from [image, log mask] to mean and log-variance."""
    widths = [setting.channels + 1, channels, channels, 2 * channels, 2 * channels]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.ReLU()]
    flat = 2 * channels * (setting.pixels // 16) ** 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, 256), nn.ReLU(), nn.Linear(256, 2 * latents))


class ComponentDecoder(nn.Module):
    """The decoder from latents (m, d), spread over the image, to a picture (m, c, h, w) and a mask logit (m, h, w)."""

    def __init__(self, setting: Setting, latents: int, channels: int) -> None:
        super().__init__()
        self.size = setting.pixels + 8  # four convolutions without padding take eight pixels away
        line = torch.linspace(-1, 1, self.size)
        self.register_buffer(
            "grid", torch.stack(torch.meshgrid(line, line, indexing="ij"))[None], persistent=False
        )
        widths = [latents + 2, channels, channels, 2 * channels, 2 * channels]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [nn.Conv2d(inputs, outputs, 3), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Conv2d(2 * channels, setting.channels + 1, 1))

    def forward(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Pictures and mask logits."""
        spread = latents[:, :, None, None].expand(-1, -1, self.size, self.size)
        grid = self.grid.expand(len(latents), -1, -1, -1)  # type: ignore[operator]
        out = self.body(torch.cat([spread, grid], dim=1)).float()
        return out[:, :-1].sigmoid(), out[:, -1]
