"""Networks trained directly on factors: what they share is the objective of Schott et al. 2022."""

from collections.abc import Sequence
from typing import ClassVar, TypedDict

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models.augmentations import augment, check_augmentation
from unknot.models.model import Batch, Model, Preset, Setting, Supervision, Terms, not_negative, required

# Schott et al. 2022, appendix H.3: from scratch; the law of the first weights is that of the public code.
FROM_SCRATCH: dict[str, float | int | str] = {"lr": 5e-4, "steps": 500_000, "batch_size": 64, "init": "torch"}


class Extras(TypedDict, total=False):
    """Options every such network has, see `FactorRegressor`."""

    dropout: float
    l2: float
    augmentation: str
    freeze: bool


class FactorRegressor(Model):
    """A network body, and a linear head with one output for each factor.

    loss = mean over the batch of sum_i (y_i - f_i)^2,     y_i = class_i / (number of classes_i - 1) in [0, 1]

    Categorical factors are regressed too, as in the paper. The representation is what the head reads: the penultimate
    activations; `predict` gives the factors themselves.

    Args:
        setting: what to build for.
        name: the model's, for messages.
        body: images (b, c, h, w) to units (b, width).
        width: how many.
        dropout: share of penultimate units switched off in training; this and the next are 0 in the paper, other
            values are its ablations.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone; the body stays as it was drawn or loaded, its batch norms included.

    Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same
    Domain, arXiv:2107.08221, appendix H.3 and H.4.
    """

    supervision: ClassVar[Supervision] = "labels"
    later: ClassVar[tuple[str, ...]] = ("freeze",)
    by_rows: ClassVar[tuple[str, ...]] = ("body",)
    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset("Schott et al. 2022, appendix H.3, from scratch", fixed=FROM_SCRATCH)
    }

    def __init__(
        self,
        setting: Setting,
        name: str,
        body: nn.Module,
        width: int,
        *,
        dropout: float = 0.0,
        l2: float = 0.0,
        augmentation: str = "none",
        freeze: bool = False,
    ) -> None:
        super().__init__()
        if setting.factors is None:
            raise UnknotError(f"{name}: the world has no factors, and this model learns from them.")
        if not 0 <= dropout < 1:
            raise UnknotError(
                f"{name}: dropout is {dropout}; expected a share from 0 to below 1.", field="dropout"
            )
        check_augmentation(name, augmentation)
        self.name, self.body = name, body
        self.dropout, self.l2, self.augmentation = dropout, not_negative(name, l2=l2), augmentation
        self.head = nn.Linear(width, len(setting.factors))
        self.freeze = freeze
        body.requires_grad_(not freeze)
        self.register_buffer("sizes", torch.tensor(setting.factors.shape), persistent=False)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The squared error of the factors, and the penalty on weights if there is one."""
        targets = self.targets(required(batch.labels, self.name, "labels"))
        units = self.represent(augment(batch.images, self.augmentation, generator))
        predicted = self.head(_dropped(units, self.dropout, generator)).float()
        terms = {"squared_error": (targets - predicted).pow(2).sum(1).mean()}
        if self.l2:
            terms["l2"] = self.l2 * sum((p.pow(2).sum() for p in self.parameters()), units.new_zeros(()))
        return terms

    def train(self, mode: bool = True) -> "FactorRegressor":
        """The mode of the network; a frozen body is never in training."""
        super().train(mode)
        if self.freeze:
            self.body.eval()
        return self

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
