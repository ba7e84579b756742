"""What a model is to the training loop: a loss, a representation, and who is updated by what.

Anyone's `torch.nn.Module` with `loss(batch, step, generator)` and `represent(images)` is a model: see `adapted`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.factors import FactorSpace

Terms = Mapping[str, Tensor]  # named scalars whose sum is the loss, weights included
N = TypeVar("N", int, float)
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
        architecture: "conv64", "conv64_k2", "burgess64", "fc1200", "coat128", "dense256", "separable" or "centred".
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


class DrawnSlots(NamedTuple):
    """What each slot draws, and where.

    Attributes:
        pictures: (n, k, c, h, w) in [0, 1].
        masks: (n, k, h, w), sums to one over slots.
    """

    pictures: Tensor
    masks: Tensor

    def combined(self) -> Tensor:
        """The image (n, c, h, w): each slot's picture where its mask is."""
        return (self.pictures * self.masks[:, :, None]).sum(1)


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


@dataclass(frozen=True)
class Preset:
    """A published setting of a model: where it is from, and its values.

    Attributes:
        source: such as "Duan et al. 2020, Table 5".
        sweep: option -> the values tried, one run for each combination.
        fixed: option or run field -> value.
    """

    source: str
    sweep: Mapping[str, Sequence[float]] = field(default_factory=dict)
    fixed: Mapping[str, float | int | str] = field(default_factory=dict)


OPTIONAL = {"decode": "decodes", "predict": "predicts", "masks": "masks_objects", "slots_decoded": "decodes_slots"}


class Model(nn.Module):
    """A network that can be trained and read: a loss, a code, and a default for all that a model may have besides.

    Some models can do more than others: draw images, predict factors, tell objects apart. Such a method raises an
    error where a model lacks it, and a class that has it says so, also before a model is built: `decodes` for `decode`,
    `predicts` for `predict`, `masks_objects` for `masks`, `decodes_slots` for `slots_decoded`.

    Attributes:
        supervision: what batches must carry: "none", "pairs", "labels" or "few_labels".
        pairs: the law of its pairs, such as "one_factor", "k_factors[k=2]" or "laplace"; see `batches.pair_law`.
        presets: published settings by name.
        option_set: a frozen dataclass of its options, where they are too many for arguments of a function.
        later: options that came after runs were made: a run records them only where they are not at their default, so
            that its hash stays.
        standard_prior: whether the prior of its latents, if it has one, is N(0, I).
        by_rows: networks, as `get_submodule` names them, that treat each row by itself and draw no noise: what several
            processes can share out. Most of the time of a step should be spent in them.
        n_labelled: size of the labelled subset of a "few_labels" model.
        wants_other: whether it needs an independent second batch.
    """

    supervision: ClassVar[Supervision] = "none"
    pairs: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Preset]] = {}
    option_set: ClassVar[type | None] = None
    later: ClassVar[tuple[str, ...]] = ()
    standard_prior: ClassVar[bool] = True
    by_rows: ClassVar[tuple[str, ...]] = ()
    n_labelled: int = 0
    wants_other: bool = False
    decodes: bool = False
    predicts: bool = False
    masks_objects: bool = False
    decodes_slots: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.decodes = cls.decode is not Model.decode
        cls.predicts = cls.predict is not Model.predict
        cls.masks_objects = cls.masks is not Model.masks
        cls.decodes_slots = cls.slots_decoded is not Model.slots_decoded

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in OPTIONAL:  # a network in place of the method, which torch keeps where the method would hide it
            self.__dict__.update({name: value, OPTIONAL[name]: True})

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """Named terms whose sum is minimised; all randomness comes from the generator."""
        raise self._lacks("loss(batch, step, generator)")

    def represent(self, images: Tensor) -> Posterior | Tensor:
        """The code of images, deterministic: (n, d), or slots (n, k, d)."""
        raise self._lacks("represent(images)")

    def players(self) -> Sequence[Player]:
        """The optimisers: one that moves everything by `loss`, unless a model has several."""
        return (Player("model", (self,), self.loss),)

    def after_initialise(self) -> None:
        """Called once all weights are drawn, for parts that start as copies of others."""

    def load_pretrained(self) -> str:
        """Start from published weights, before a run's first step, and return what tells them from others."""
        return ""

    def after_step(self) -> None:
        """Called after every step, for projections such as of a weight that must not be negative."""

    def decode(self, latents: Tensor) -> Tensor:
        """Images (n, c, h, w) in [0, 1] of codes."""
        raise self._lacks("decode(latents)")

    def predict(self, images: Tensor) -> Tensor:
        """Factors (n, n_factors) scaled to [0, 1], of a model trained on factors."""
        raise self._lacks("predict(images)")

    def masks(self, images: Tensor) -> Tensor:
        """How far each pixel belongs to each slot, (n, k, h, w), of a model of objects."""
        raise self._lacks("masks(images)")

    def slots_decoded(self, slots: Tensor) -> DrawnSlots:
        """What each of the slots (n, k, d) draws, and where, of a model of objects."""
        raise self._lacks("slots_decoded(slots)")

    def _lacks(self, method: str) -> UnknotError:
        return UnknotError(f"{type(self).__name__}: has no {method}.")


def adapted(kind: type[nn.Module]) -> type[Model]:
    """A class of models: the class itself, or anyone's own module with the defaults of `Model` behind what it has.

    Its weights, their names and their order are those of the module.
    """
    if issubclass(kind, Model):
        return kind
    own = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return cast(type[Model], type(kind.__name__, (kind, Model), own))


def not_negative(model: str, **weight: N) -> N:
    """The one weight named, or an error if it is below zero."""
    return _checked(model, weight, lambda value: value >= 0, "a weight cannot be negative")


def at_least_one(model: str, **count: int) -> int:
    """The one count named, or an error if it is below one."""
    return _checked(model, count, lambda value: value >= 1, "expected at least one")


def above_zero(model: str, **number: float) -> float:
    """The one number named, or an error if it is not above zero."""
    return _checked(model, number, lambda value: value > 0, "expected a number above zero")


def _checked(model: str, number: Mapping[str, N], fits: Callable[[N], bool], expected: str) -> N:
    ((name, value),) = number.items()
    if not fits(value):
        raise UnknotError(f"{model}: {name} is {value}; {expected}.", field=name)
    return value


def required(part: Tensor | None, model: str, what: str) -> Tensor:
    """The part of a batch that a model asked for, or an error if the batch came without it."""
    if part is None:
        raise UnknotError(f"{model}: the batch has no {what}; this model learns from them.")
    return part
