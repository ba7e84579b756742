"""What a model is to the training loop: a loss, a representation, and who is updated by what.

Anyone's `torch.nn.Module` with `loss(batch, step, generator)` and `represent(images)` is a model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.factors import FactorSpace

Terms = Mapping[str, Tensor]  # named scalars whose sum is the loss, weights included
Supervision = Literal["none", "pairs", "labels", "few_labels"]


@dataclass(frozen=True)
class Setting:
    """What a model must know of its world and its run to build itself.

    Attributes:
        channels: of the images.
        pixels: height and width of the images.
        latents: size of the representation.
        n_images: how many training images there are (the N of stratified estimators).
        steps: how long the run is, for schedules expressed as a share of it.
        factors: names and sizes of the factors, for models that see labels.
        architecture: "conv64", "conv64_k2", "burgess64", "fc1200" or "coat128".
        decoder: "bernoulli" (logits) or "gaussian".
    """

    channels: int = 1
    pixels: int = 64
    latents: int = 10
    n_images: int = 737_280
    steps: int = 300_000
    factors: FactorSpace | None = None
    architecture: str = "conv64"
    decoder: Literal["bernoulli", "gaussian"] = "bernoulli"


@dataclass(frozen=True)
class Batch:
    """One step's data; what a model did not ask for is None.

    Attributes:
        images: (b, channels, pixels, pixels) float32 in [0, 1].
        pair: the second image of each pair.
        other: an independent second batch of images.
        labels: (b, n_factors) factor classes of `images`, for fully supervised models.
        labelled: images of a small labelled subset, for semi-supervised models.
        labelled_labels: (b, n_factors) their factor classes.
    """

    images: Tensor
    pair: Tensor | None = None
    other: Tensor | None = None
    labels: Tensor | None = None
    labelled: Tensor | None = None
    labelled_labels: Tensor | None = None


class Posterior(NamedTuple):
    """A diagonal Gaussian over latents, (b, d) each; `logvar` is None for a deterministic code."""

    mean: Tensor
    logvar: Tensor | None = None


@dataclass(frozen=True)
class Player:
    """One optimiser of a model: the parameters it moves, and the loss it moves them by.

    Gradients are taken of this loss with respect to these parameters alone, so that nothing leaks from one
    player to another.

    Attributes:
        name: for the curve and for messages.
        modules: whose parameters it moves.
        loss: called as `loss(batch, step, generator)`; None leaves out the step (see `None` results).
        lr: learning rate; None means the run's.
        betas: of Adam.
        optimiser: "adam", "sgd" or "rmsprop".
        momentum: of SGD.
        weight_decay: added to the gradient of SGD.
        clip: the norm that gradients are cut back to; 0 leaves them as they are.
        schedule: what the learning rate is multiplied by at a step.
    """

    name: str
    modules: Sequence[nn.Module | nn.Parameter]
    loss: Callable[[Batch, int, torch.Generator], Terms | None]
    lr: float | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    optimiser: Literal["adam", "sgd", "rmsprop"] = "adam"
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip: float = 0.0
    schedule: Callable[[int], float] | None = None


@runtime_checkable
class Model(Protocol):
    """A `torch.nn.Module` that can be trained and read.

    Optional members:
        supervision: what batches must carry: "none" (default), "pairs", "labels" or "few_labels".
        pairs: the law of its pairs, such as "one_factor", "k_factors[k=2]" or "laplace"; see `batches.pair_law`.
        n_labelled: size of the labelled subset of a "few_labels" model.
        wants_other: whether it needs an independent second batch.
        players(): several optimisers, see `Player`.
        decode(latents): images in [0, 1], for pictures.
        after_step(): projections, such as of a weight that must not be negative.
        predict(images): (n, n_factors) factors scaled to [0, 1], for models trained on factors.
        load_pretrained(): start from published weights, called before a run's first step; what tells them from others.
        after_initialise(): parts that start as copies of others, once all weights are drawn.
        masks(images): (n, k, h, w) which slot owns which pixel, for models of objects.
        slots_decoded(slots): what each slot draws and where, for pictures; see `slot_attention`.
        presets: published settings, name -> `Preset`.
    """

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Named terms whose sum is minimised."""

    def represent(self, images: Tensor) -> Posterior | Tensor:
        """The code of images, deterministic."""


def players(model: nn.Module) -> Sequence[Player]:
    """The optimisers of a model: its own, or one that moves everything by `loss`."""
    own: Callable[[], Sequence[Player]] | None = getattr(model, "players", None)
    return own() if own is not None else (Player("model", (model,), cast(Model, model).loss),)


@dataclass(frozen=True)
class Preset:
    """A published setting of a model: where it is from, and its values.

    Attributes:
        source: such as "S1 Table 5".
        sweep: option -> the values tried, one run for each combination.
        fixed: option or run field -> value.
    """

    source: str
    sweep: Mapping[str, Sequence[float]] = field(default_factory=dict)
    fixed: Mapping[str, float | int | str] = field(default_factory=dict)


def not_negative(model: str, **weight: float) -> float:
    """The one weight named, or an error if it is below zero."""
    ((name, value),) = weight.items()
    if not value >= 0:
        raise UnknotError(f"{model}: {name} is {value}; a weight cannot be negative.", field=name)
    return value


def at_least_one(model: str, **count: int) -> int:
    """The one count named, or an error if it is below one."""
    ((name, value),) = count.items()
    if not value >= 1:
        raise UnknotError(f"{model}: {name} is {value}; expected at least one.", field=name)
    return value


def above_zero(model: str, **number: float) -> float:
    """The one number named, or an error if it is not above zero."""
    ((name, value),) = number.items()
    if not value > 0:
        raise UnknotError(f"{model}: {name} is {value}; expected a number above zero.", field=name)
    return value


def given(part: Tensor | None, model: str, what: str) -> Tensor:
    """The part of a batch that a model asked for, or an error if the batch came without it."""
    if part is None:
        raise UnknotError(f"{model}: the batch has no {what}; this model learns from them.")
    return part
