"""Networks trained directly on factors: what they share is the objective of Schott et al. 2022."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models.augmentations import augment, check_augmentation
from unknot.models.model import Batch, Model, Preset, Setting, Supervision, Terms, not_negative, required

# Schott et al. 2022, appendix H.3: from scratch; the law of the first weights is that of the public code.
FROM_SCRATCH: dict[str, float | int | str] = {"lr": 5e-4, "steps": 500_000, "batch_size": 64, "init": "torch"}


@dataclass(frozen=True)
class Extras:
    """Options every such network has; the defaults are the paper's, other values its ablations.

    Attributes:
        model: the model's name, for messages.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, see `augmentations`.
    """

    model: str
    dropout: float = 0.0
    l2: float = 0.0
    augmentation: str = "none"

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise UnknotError(
                f"{self.model}: dropout is {self.dropout}; expected a share from 0 to below 1.", field="dropout"
            )
        not_negative(self.model, l2=self.l2)
        check_augmentation(self.model, self.augmentation)


class FactorRegressor(Model):
    """A network body, and a linear head with one output for each factor.

    loss = mean over the batch of sum_i (y_i - f_i)^2,     y_i = class_i / (number of classes_i - 1) in [0, 1]

    Categorical factors are regressed too, as in the paper. The representation is what the head reads: the penultimate
    activations; `predict` gives the factors themselves.

    Args:
        setting: what to build for.
        body: images (b, c, h, w) to units (b, width).
        width: how many.
        extras: options.

    Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same
    Domain, arXiv:2107.08221, appendix H.3 and H.4.
    """

    supervision: ClassVar[Supervision] = "labels"
    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset("Schott et al. 2022, appendix H.3, from scratch", fixed=FROM_SCRATCH)
    }

    def __init__(self, setting: Setting, body: nn.Module, width: int, extras: Extras) -> None:
        super().__init__()
        if setting.factors is None:
            raise UnknotError(f"{extras.model}: the world has no factors, and this model learns from them.")
        self.body, self.extras = body, extras
        self.head = nn.Linear(width, len(setting.factors))
        self.register_buffer("sizes", torch.tensor(setting.factors.shape), persistent=False)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The squared error of the factors, and the penalty on weights if there is one."""
        targets = self.targets(required(batch.labels, self.extras.model, "labels"))
        units = self.represent(augment(batch.images, self.extras.augmentation, generator))
        predicted = self.head(_dropped(units, self.extras.dropout, generator)).float()
        terms = {"squared_error": (targets - predicted).pow(2).sum(1).mean()}
        if self.extras.l2:
            terms["l2"] = self.extras.l2 * sum((p.pow(2).sum() for p in self.parameters()), units.new_zeros(()))
        return terms

    def targets(self, labels: Tensor) -> Tensor:
        """Factor classes (b, n_factors) scaled to [0, 1]; a constant factor stays at 0."""
        sizes: Tensor = self.sizes  # type: ignore[assignment]
        return labels / (sizes - 1).clamp(min=1)

    def predict(self, images: Tensor) -> Tensor:
        """Factors (b, n_factors) on the scale of `targets`, in the order of the world's factors."""
        predicted: Tensor = self.head(self.represent(images)).float()
        return predicted

    def represent(self, images: Tensor) -> Tensor:
        """Penultimate activations (b, width)."""
        units: Tensor = self.body(images)
        return units


def dense(widths: Sequence[int]) -> list[nn.Module]:
    """Linear layers of these widths, ReLU after each."""
    return [part for n_in, n_out in pairwise(widths) for part in (nn.Linear(n_in, n_out), nn.ReLU())]


def scaled_width(model: str, width: float, channels: Sequence[int]) -> list[int]:
    """Numbers of channels times the width; each must stay a whole number."""
    scaled = [width * n for n in channels]
    if not width > 0 or any(n % 1 for n in scaled):
        raise UnknotError(
            f"{model}: width is {width}; expected a factor of the channels {', '.join(map(str, channels))} that leaves "
            "whole numbers, such as 0.5 or 2.",
            field="width",
        )
    return [int(n) for n in scaled]


def _dropped(units: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Units with a share of them set to zero, the others scaled up."""
    if not share:
        return units
    kept = torch.rand(units.shape, generator=generator, device=generator.device) >= share
    return units * kept.to(units.device) / (1 - share)
