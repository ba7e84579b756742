"""The options of slot attention, checked."""

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass

from torch import nn

from unknot.errors import UnknotError, unknown
from unknot.models._slot_grouping import LAYER_NORM
from unknot.models.model import above_zero, at_least_one, not_negative

WHO = "slot_attention"
ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU}
NOISES = ("image", "shared")
SLOT_DECODERS = ("broadcast", "mlp", "affine")
STARTS = ("noise", "queries")
LEAST_SIGMA = 1e-3  # of posterior masks: below it pixels are too far from all slots to be told apart


@dataclass(frozen=True, kw_only=True)
class SlotOptions:
    """The options of slot attention; `SlotAttention` says what each of them is."""

    slots: int = 7
    slot_size: int = 64
    iterations: int = 3
    channels: int = 64
    stride: int = 1
    broadcast: int = 8
    full_layers: int = 1
    activation: str = "relu"
    learned: bool = True
    implicit: bool = False
    warm_up: int = 10_000
    half_life: int = 100_000
    clip: float = 0.0
    noise: str = "image"
    norm_epsilon: float = LAYER_NORM
    law_bound: float = 0.0
    kernels: str = "5,5,5,5"
    slot_decoder: str = "broadcast"
    target: int = 0
    start: str = "noise"
    test_iterations: int = 0
    test_starts: int = 1
    merge: float = 0.0
    places: int = 0
    mask_sigma: float = 0.0
    straight: int = 0
    smooth: float = 0.0

    def __post_init__(self) -> None:
        values = asdict(self)
        for name in ("slots", "slot_size", "iterations", "channels", "stride", "broadcast", "test_starts"):
            at_least_one(WHO, **{name: values[name]})
        for name in ("full_layers", "warm_up", "half_life", "clip", "law_bound"):
            not_negative(WHO, **{name: values[name]})
        for name in ("target", "test_iterations", "merge", "places", "mask_sigma", "straight", "smooth"):
            not_negative(WHO, **{name: values[name]})
        above_zero(WHO, norm_epsilon=self.norm_epsilon)
        _must_be_one_of(NOISES, noise=self.noise)
        _must_be_one_of(ACTIVATIONS, activation=self.activation)
        _must_be_one_of(SLOT_DECODERS, slot_decoder=self.slot_decoder)
        _must_be_one_of(STARTS, start=self.start)
        if self.places and self.slot_decoder == "broadcast":
            raise UnknotError(
                who=WHO,
                field="places",
                value=self.places,
                expected="0 with the decoder 'broadcast', which draws whole pictures",
                hint="Set slot_decoder to mlp or affine, or leave out places.",
            )
        if self.straight and self.slot_decoder != "affine":
            raise UnknotError(
                who=WHO,
                field="straight",
                value=self.straight,
                expected=f"0 with the decoder {self.slot_decoder!r}, whose colours are never straight",
                hint="Set slot_decoder to affine, or leave out straight.",
            )
        if self.test_starts > 1 and (self.start == "queries" or self.noise == "shared"):
            raise UnknotError(
                who=WHO,
                field="test_starts",
                value=self.test_starts,
                expected="1 with learned queries or shared noise, which line up the slots of all images",
            )
        if 0 < self.mask_sigma < LEAST_SIGMA:
            raise UnknotError(
                who=WHO, field="mask_sigma", value=self.mask_sigma, expected=f"0, or {LEAST_SIGMA} and more"
            )
        if not re.fullmatch(r"\d?[13579](,\d?[13579])*", self.kernels):
            raise UnknotError(
                who=WHO,
                field="kernels",
                value=self.kernels,
                expected="odd sizes below 100 with commas, such as 5,3,3",
            )

    @property
    def kernel_sizes(self) -> list[int]:
        """The sizes of the encoder's kernels."""
        return [int(size) for size in self.kernels.split(",")]

    @property
    def activated(self) -> type[nn.Module]:
        """The class of its activations."""
        return ACTIVATIONS[self.activation]


def _must_be_one_of(known: Collection[str], **word: str) -> None:
    ((name, value),) = word.items()
    if value not in known:
        raise unknown(f"{name} of {WHO}", value, known, field=name)
