"""MTD, multi-type disentanglement: an MTD-style reimplementation, not the authors' model."""

from itertools import accumulate, pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.models.model import Batch, Model, Preset, Setting, Supervision, Terms, not_negative, required
from unknot.models.networks import Decoder, Encoder
from unknot.models.pcl import others
from unknot.models.terms import pixels, reconstruction


class MTD(Model):
    """MTD-style reimplementation, not the authors' model: one block of latents per factor, each held by its labels.

    The code z is cut into one block z_f for each factor f that varies, and a content block if wanted. Every value v
    of a factor has a learned prototype p_f(v); r_f = z_f - p_f(v_f) is what a block says beyond its value.

    loss = reconstruction
         + labels       sum_f CE(softmax_v(-|z_f - p_f(v)|^2 / 2), v_f)
         + prototypes   sum_f |r_f|^2 / 2
         + independence sum_{f != g} (sum_v P(v_g = v) |E[r_f | v_g = v] - E[r_f]|^2 - c_g E|r_f - E[r_f]|^2)
         + swap         |encoder(decoder(z')) - z'|^2 / 2

    In order: a block tells its own factor; it lies where its value belongs, in Gaussians of variance one; what it
    says beyond that no other label explains, which stays true when factors are correlated in training; and z', which
    has one block of another image, decodes to an image with that code. No adversary is involved. P and E are those of
    the batch, and c_g = (values of g in the batch - 1) / (images - 1) is the share that labels explain by chance.

    Args:
        setting: what to build for; every factor that varies needs at least one latent.
        labels: weight of the second term.
        prototypes: weight of the third.
        independence: weight of the fourth; the content block counts there with r = z.
        swap: weight of the fifth.
        content: latents that belong to no factor; blocks share the others as evenly as can be.

    Departs from the paper: Sha & Lukasiewicz 2021 disentangle styles of text; Mahon et al. 2024 used an image version
    that is not public. Known of it are the blocks, the supervision by all labels, unique representations of values and
    losses against co-occurrence without an adversary. The form and weights of all terms here are ours.
    Reference: Sha & Lukasiewicz 2021, Multi-type Disentanglement without Adversarial Training, AAAI,
    doi:10.1609/aaai.v35i11.17146.
    """

    supervision: ClassVar[Supervision] = "labels"
    by_rows: ClassVar[tuple[str, ...]] = ("encoder", "decoder")
    presets: ClassVar[dict[str, Preset]] = {
        "mahon2024": Preset(
            "Mahon et al. 2024, section 5: 10 epochs, here of dSprites; MTD-style reimplementation, not the authors' "
            "model: all other values are ours",
            fixed={"steps": 115_200, "batch_size": 64},
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        labels: float = 10.0,
        prototypes: float = 1.0,
        independence: float = 1.0,
        swap: float = 1.0,
        content: int = 0,
    ) -> None:
        super().__init__()
        if setting.factors is None:
            raise UnknotError("mtd: the world has no factors, and this model learns from labels.")
        self.columns = [i for i, size in enumerate(setting.factors.shape) if size > 1]
        if not self.columns:
            raise UnknotError("mtd: all factors of the world are constant; there is nothing to tell apart.")
        free = setting.latents - content
        if content < 0 or free < len(self.columns):
            raise UnknotError(
                f"mtd: {setting.latents} latents, {content} of them content, for {len(self.columns)} factors; every "
                "factor needs a latent of its own. Set latents (--latents) higher.",
                field="latents",
            )
        self.weights = {
            "labels": not_negative("mtd", labels=labels),
            "prototypes": not_negative("mtd", prototypes=prototypes),
            "independence": not_negative("mtd", independence=independence),
            "swap": not_negative("mtd", swap=swap),
        }
        each, more = divmod(free, len(self.columns))
        self.widths = [each + (i < more) for i in range(len(self.columns))]
        self.content, self.likelihood = content, setting.decoder
        self.encoder, self.decoder = Encoder(setting, deterministic=True), Decoder(setting)
        sizes = [setting.factors.shape[column] for column in self.columns]
        self.tables = nn.ModuleList(nn.Embedding(n, width) for n, width in zip(sizes, self.widths, strict=True))

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The five terms."""
        labels = required(batch.labels, "mtd", "labels")[:, self.columns]
        z = self.represent(batch.images)
        rest = self.residuals(z, labels)
        return {
            "reconstruction": reconstruction(batch.images, self.decoder(z), self.likelihood),
            "labels": self.weights["labels"] * self.label_terms(z, labels).sum(),
            "prototypes": self.weights["prototypes"] * 0.5 * rest[:, : sum(self.widths)].pow(2).sum(1).mean(),
            "independence": self.weights["independence"] * self.independence_term(z, labels),
            "swap": self.weights["swap"] * self.swap_term(z, generator),
        }

    def blocks(self, z: Tensor) -> tuple[Tensor, ...]:
        """The blocks of codes, one for each factor that varies, then the content block if there is one."""
        ends = [*accumulate(self.widths), *([z.shape[1]] if self.content else [])]
        return tuple(z[:, start:end] for start, end in pairwise([0, *ends]))

    def label_terms(self, z: Tensor, labels: Tensor) -> Tensor:
        """The cross-entropy (n_factors,) of each block's own labels (b, n_factors)."""
        return torch.stack(
            [functional.cross_entropy(logits, labels[:, f]) for f, logits in enumerate(self.value_logits(z))]
        )

    def value_logits(self, z: Tensor) -> list[Tensor]:
        """How near the block of each factor lies to each prototype, (b, n_values) for each."""
        return [
            -0.5 * (block[:, None, :] - _rows(table)).pow(2).sum(2)
            for block, table in zip(self.blocks(z), self.tables, strict=False)
        ]

    def residuals(self, z: Tensor, labels: Tensor) -> Tensor:
        """What codes say beyond the prototypes of their labels, (b, d); content stays as it is."""
        held = [_rows(table)[labels[:, f]] for f, table in enumerate(self.tables)]
        return z - functional.pad(torch.cat(held, 1), (0, self.content))

    def independence_term(self, z: Tensor, labels: Tensor) -> Tensor:
        """How much of each block's residual variance the labels of the other factors explain, beyond chance."""
        rest = self.residuals(z, labels)
        centred = self.blocks(rest - rest.mean(0))
        explained = z.new_zeros(())
        for g, table in enumerate(self.tables):
            n_values = len(_rows(table))
            sizes = functional.one_hot(labels[:, g], n_values).sum(0)
            foreign = torch.cat([block for f, block in enumerate(centred) if f != g] or [z[:, :0]], 1)
            sums = z.new_zeros(n_values, foreign.shape[1]).index_add(0, labels[:, g], foreign)
            # sum_v P(v) |mean of group v|^2 = sum_v |sum of group v|^2 / (its size b)
            between = (sums.pow(2).sum(1) / sizes.clamp(min=1)).sum() / len(z)
            chance = ((sizes > 0).sum() - 1) / max(len(z) - 1, 1)
            explained = explained + between - chance * foreign.pow(2).sum(1).mean()
        return explained

    def swap_term(self, z: Tensor, generator: torch.Generator) -> Tensor:
        """Whether a code with one block of another image is the code of the image it decodes to."""
        swapped = self.swapped(z.detach(), generator)
        again = self.represent(self.decode(swapped))
        return 0.5 * (again - swapped).pow(2).sum(1).mean()

    def swapped(self, z: Tensor, generator: torch.Generator) -> Tensor:
        """Codes in each of which the block of one factor, chosen at random, is that of another image."""
        n = len(z)
        factor = torch.randint(len(self.widths), (n,), generator=generator, device=generator.device)
        owner = torch.arange(len(self.widths) + 1).repeat_interleave(torch.tensor([*self.widths, self.content]))
        mask = factor.to(z.device)[:, None] == owner.to(z.device)
        return torch.where(mask, z[others(n, generator).to(z.device)], z)

    def represent(self, images: Tensor) -> Tensor:
        """The code of images: all blocks, one after the other."""
        code: Tensor = self.encoder(images).mean
        return code

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of codes."""
        return pixels(self.decoder(latents), self.likelihood)


def _rows(table: nn.Module) -> Tensor:
    """The prototypes (n_values, width) of a factor."""
    weight: Tensor = table.weight  # type: ignore[assignment]
    return weight
