"""PCL, permutation-contrastive learning."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.models.model import Batch, Model, Preset, Setting, Supervision, Terms, required
from unknot.models.networks import encoder_body


class PCL(Model):
    """An encoder that tells neighbours from strangers through a score that is separate for each latent.

    r(x1, x2) = -sum_i |a_i h_i(x1) + b_i h_i(x2) + c_i| + a sum_i h_i(x1)^2 + m,  a >= 0
    loss = mean of -ln sigmoid(r) over the pairs and -ln sigmoid(-r) over pairs with another's second image

    There is no decoder, and nothing to tune. `a` is projected onto a >= 0 after every step. A pair is never its own
    stranger: second images move on by one along a random ring through the batch.

    Args:
        setting: what to build for.
        batch_norm: standardise h over the batch, as the authors' code does; what Schott et al. 2022 did is not known.

    Departs from the authors' code: c starts at 0 as its comment says, and not at random; no average of the weights
    over steps; the encoder and Adam of Schott et al. 2022 instead of maxout layers and SGD.
    Reference: Hyvärinen & Morioka 2017, Nonlinear ICA of Temporally Dependent Stationary Sources, AISTATS.
    """

    supervision: ClassVar[Supervision] = "pairs"
    pairs: ClassVar[str] = "laplace"
    by_rows: ClassVar[tuple[str, ...]] = ("body",)
    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset(
            "Schott et al. 2022, appendix H.3; batches of 64 pairs",
            fixed={"steps": 500_000, "batch_size": 64, "pairs": "laplace"},
        ),
    }

    def __init__(self, setting: Setting, *, batch_norm: bool = True) -> None:
        super().__init__()
        self.body, width = encoder_body(setting)
        self.head = nn.Linear(width, setting.latents, bias=False)
        self.norm = nn.BatchNorm1d(setting.latents) if batch_norm else nn.Identity()
        # The names of the formula; plain parameters, which keep these initial values.
        self.a_i = nn.Parameter(torch.ones(setting.latents))
        self.b_i = nn.Parameter(-torch.ones(setting.latents))
        self.c_i = nn.Parameter(torch.zeros(setting.latents))
        self.a = nn.Parameter(torch.ones(()))
        self.m = nn.Parameter(torch.zeros(()))

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The logistic loss of pairs against as many pairs with another's second image."""
        pair = required(batch.pair, "pcl", "pairs")
        if len(pair) < 2:
            raise UnknotError("pcl: a batch of one pair has no stranger; use batches of two or more.")
        first, second = self.represent(torch.cat([batch.images, pair])).chunk(2)
        strangers = second[others(len(pair), generator).to(second.device)]
        scores = torch.cat([self.score(first, second), self.score(first, strangers)])
        truth = torch.cat([torch.ones_like(scores[: len(pair)]), torch.zeros_like(scores[len(pair) :])])
        return {"contrast": functional.binary_cross_entropy_with_logits(scores, truth)}

    def score(self, first: Tensor, second: Tensor) -> Tensor:
        """The logit r (b,) of being a pair, of codes (b, d)."""
        apart = (self.a_i * first + self.b_i * second + self.c_i).abs().sum(1)
        return self.a * first.pow(2).sum(1) - apart + self.m

    def represent(self, images: Tensor) -> Tensor:
        """The code h of images; standardised by running statistics in evaluation mode."""
        h: Tensor = self.norm(self.head(self.body(images)).float())
        return h

    @torch.no_grad()
    def after_step(self) -> None:
        """Keep a >= 0."""
        self.a.clamp_(min=0)


def others(n: int, generator: torch.Generator) -> Tensor:
    """Another index (n,) for each of n: the next along a random ring."""
    ring = torch.randperm(n, generator=generator, device=generator.device)
    following = torch.empty_like(ring)
    following[ring] = ring.roll(-1)
    return following
