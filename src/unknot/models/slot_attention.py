"""Slot attention: an autoencoder whose code is a set of slots that compete for the pixels of an image."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError, unknown
from unknot.models._slot_grouping import LAYER_NORM, Grouping, noise_of, positions
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
from unknot.models.terms import warm_up_and_decay

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU}
NOISES = ("image", "shared")


class SlotAttention(Model):
    """Slots explain an image together: each draws a picture and a mask, and masks compete at every pixel.

    loss = mean over pixels of (image - sum_k mask_k picture_k)^2,   images in [-1, 1]

    Encoder: 5 x 5 convolutions, positions added, a LayerNorm and an MLP for each pixel. Slots start as
    mu + exp(log_sigma) noise, the same law for all, and are refined by attention (see `_slot_grouping`). Decoder:
    each slot is spread over a small square, positions added, and drawn by transposed convolutions that double it up
    to the size of the image; its mask is the softmax over slots of one more channel.

    Slots (n, k, d) are the representation. Their noise depends on the image alone, so that encoding is deterministic;
    `model.slots` and `model.iterations` may be raised after training.

    | variant | options |
    |---|---|
    | reference, 128 pixels (890,308 weights) | the defaults |
    | reference for small images | `channels=32`, `broadcast` the image's size, `full_layers=3` |
    | small, for a CPU | `channels=32`, `stride=2`, `broadcast=16` (8 at 32 pixels), `full_layers=0` |

    Args:
        setting: what to build for; `latents` and `architecture` are not used.
        slots: how many.
        slot_size: numbers in a slot.
        iterations: of attention.
        channels: of convolutions.
        stride: of the encoder's first convolution.
        broadcast: size of the square that a slot is spread over.
        full_layers: 5 x 5 layers of the decoder at the size of the image.
        activation: "relu", or "leaky_relu" as in Xie et al. 2022.
        learned: whether mu and log_sigma are learned; in the code of Xie et al. 2022 they stay as drawn.
        implicit: let the gradient through the last iteration alone.
        warm_up: steps over which the learning rate rises.
        half_life: steps over which it then halves, again and again; 0 never.
        clip: norm that gradients are cut back to; 0 leaves them.
        noise: "image", the noise of slots depends on the image; "shared", all images get the same.
        norm_epsilon: of LayerNorm: that of the reference framework, 0.001, or torch's, 1e-5.
        law_bound: mu and log_sigma are drawn between its negative and this; 0 is Glorot's for one row.

    Reference: Locatello et al. 2020, Object-Centric Learning with Slot Attention, arXiv:2006.15055.
    """

    later: ClassVar[tuple[str, ...]] = ("norm_epsilon", "law_bound")
    presets: ClassVar[dict[str, Preset]] = {
        "reference": Preset(
            "Locatello et al. 2020, CLEVR6",
            fixed={"image_size": 128, "lr": 4e-4, "batch_size": 64, "steps": 500_000},
        ),
        "reference_small": Preset(
            "Locatello et al. 2020, Multi-dSprites",
            fixed={
                "slots": 6,
                "channels": 32,
                "broadcast": 64,
                "full_layers": 3,
                "image_size": 64,
                "lr": 4e-4,
                "batch_size": 64,
                "steps": 500_000,
            },
        ),
        "xie2022": Preset(
            "hydra_cfg/slot-attn.yaml of the code of Xie et al. 2022; 300 epochs of 23,000 images, as its checkpoints",
            fixed={
                "iterations": 4,
                "activation": "leaky_relu",
                "learned": False,
                "norm_epsilon": 1e-5,
                "law_bound": 0.2165,  # sqrt(6 / 128): Glorot's of a tensor (1, 1, 64)
                "init": "torch",
                "image_size": 128,
                "lr": 2e-4,
                "batch_size": 64,
                "steps": 108_000,
            },
        ),
    }

    def __init__(
        self,
        setting: Setting,
        *,
        slots: int = 7,
        slot_size: int = 64,
        iterations: int = 3,
        channels: int = 64,
        stride: int = 1,
        broadcast: int = 8,
        full_layers: int = 1,
        activation: str = "relu",
        learned: bool = True,
        implicit: bool = False,
        warm_up: int = 10_000,
        half_life: int = 100_000,
        clip: float = 0.0,
        noise: str = "image",
        norm_epsilon: float = LAYER_NORM,
        law_bound: float = 0.0,
    ) -> None:
        super().__init__()
        name = "slot_attention"
        self.slots = at_least_one(name, slots=slots)
        self.slot_size = at_least_one(name, slot_size=slot_size)
        self.iterations = at_least_one(name, iterations=iterations)
        self.warm_up = not_negative(name, warm_up=warm_up)
        self.half_life = not_negative(name, half_life=half_life)
        self.clip = not_negative(name, clip=clip)
        epsilon = above_zero(name, norm_epsilon=norm_epsilon)
        if noise not in NOISES:
            raise unknown("noise of slot_attention", noise, NOISES, field="noise")
        if activation not in ACTIVATIONS:
            raise unknown("activation of slot_attention", activation, ACTIVATIONS, field="activation")
        self.noise, self.implicit = noise, implicit
        at_least_one(name, channels=channels)
        self.encoder = _encoder(
            setting, channels, at_least_one(name, stride=stride), ACTIVATIONS[activation], epsilon
        )
        self.grouping = Grouping(channels, slot_size, hidden=2 * slot_size, epsilon=epsilon)
        self.decoder = BroadcastDecoder(
            setting,
            slot_size,
            channels,
            broadcast=at_least_one(name, broadcast=broadcast),
            full_layers=not_negative(name, full_layers=full_layers),
            activation=ACTIVATIONS[activation],
        )
        bound = not_negative(name, law_bound=law_bound) or math.sqrt(6 / (1 + slot_size))
        self.mu = nn.Parameter(torch.empty(slot_size).uniform_(-bound, bound), requires_grad=learned)
        self.log_sigma = nn.Parameter(torch.empty(slot_size).uniform_(-bound, bound), requires_grad=learned)

    def players(self) -> tuple[Player, ...]:
        """Adam, with a learning rate that rises and then halves again and again."""
        return (Player("model", (self,), self.loss, clip=self.clip, schedule=self.rate),)

    def rate(self, step: int) -> float:
        """What the learning rate is multiplied by."""
        return warm_up_and_decay(step, warm_up=self.warm_up, half_life=self.half_life)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The squared error of the slots' image."""
        shape = (len(batch.images), self.slots, self.slot_size)
        noise = torch.randn(shape, generator=generator, device=generator.device).to(batch.images.device)
        pictures, logits = self.decoder(self.slots_of(batch.images, noise))
        drawn = DrawnSlots(pictures, logits.softmax(1)).combined()
        return {"reconstruction": (drawn - _signed(batch.images)).pow(2).mean()}

    def slots_of(self, images: Tensor, noise: Tensor) -> Tensor:
        """The slots (n, k, d) that images end in, from the noise they start from."""
        inputs = self.encoder(_signed(images))
        start = self.mu + self.log_sigma.exp() * noise
        slots: Tensor = self.grouping(inputs, start, self.iterations, implicit=self.implicit)
        return slots

    def represent(self, images: Tensor) -> Tensor:
        """The slots (n, k, d) of images."""
        noise = noise_of(images, self.slots, self.slot_size, shared=self.noise == "shared")
        return self.slots_of(images, noise)

    def masks(self, images: Tensor) -> Tensor:
        """How far each pixel is drawn by each slot, (n, k, h, w)."""
        return self.slots_decoded(self.represent(images)).masks

    def slots_decoded(self, slots: Tensor) -> DrawnSlots:
        """What each slot draws, and where."""
        pictures, logits = self.decoder(slots)
        return DrawnSlots(_unsigned(pictures), logits.softmax(1))

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of slots (n, k, d)."""
        pictures, logits = self.decoder(latents)
        return _unsigned(DrawnSlots(pictures, logits.softmax(1)).combined())


class Positions(nn.Module):
    """A layer that adds a linear map of its place to every pixel."""

    def __init__(self, size: int, channels: int) -> None:
        super().__init__()
        self.register_buffer("grid", positions(size)[None], persistent=False)
        self.linear = nn.Conv2d(4, channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Features (b, c, h, w) that know where they are."""
        out: Tensor = features + self.linear(self.grid)
        return out


class PixelSet(nn.Module):
    """Features (b, c, h, w) as sets (b, h w, c) of pixels."""

    def forward(self, features: Tensor) -> Tensor:
        """One row for each pixel."""
        return features.flatten(2).transpose(1, 2)


def _encoder(
    setting: Setting, channels: int, stride: int, activation: type[nn.Module], epsilon: float
) -> nn.Sequential:
    """Images to a set of features, one for each pixel."""
    if setting.pixels % stride:
        raise UnknotError(
            f"slot_attention: stride is {stride}; it must divide the {setting.pixels} pixels.", field="stride"
        )
    layers: list[nn.Module] = []
    for i in range(4):
        inputs = channels if i else setting.channels
        layers += [nn.Conv2d(inputs, channels, 5, stride=stride if i == 0 else 1, padding=2), activation()]
    return nn.Sequential(
        *layers,
        Positions(setting.pixels // stride, channels),
        PixelSet(),
        nn.LayerNorm(channels, eps=epsilon),
        nn.Linear(channels, channels),
        activation(),
        nn.Linear(channels, channels),
    )


class BroadcastDecoder(nn.Module):
    """The decoder of slots (n, k, d) to what each of them draws, (n, k, c, h, w), and mask logits (n, k, h, w)."""

    def __init__(
        self,
        setting: Setting,
        slot_size: int,
        channels: int,
        *,
        broadcast: int,
        full_layers: int,
        activation: type[nn.Module],
    ) -> None:
        super().__init__()
        doublings = math.log2(setting.pixels / broadcast)
        if doublings < 0 or not doublings.is_integer():
            raise UnknotError(
                f"slot_attention: broadcast is {broadcast}; it must double to the {setting.pixels} pixels of the "
                "images, such as 8 to 32, 64 or 128.",
                field="broadcast",
            )
        self.broadcast = broadcast
        self.place = Positions(broadcast, slot_size)
        layers: list[nn.Module] = []
        width = slot_size
        for i in range(int(doublings) + full_layers):
            stride = 2 if i < doublings else 1
            layer = nn.ConvTranspose2d(width, channels, 5, stride, padding=2, output_padding=stride - 1)
            layers += [layer, activation()]
            width = channels
        self.body = nn.Sequential(*layers, nn.ConvTranspose2d(width, setting.channels + 1, 3, padding=1))

    def forward(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Pictures, not squashed, and mask logits."""
        n, k, size = slots.shape
        spread = slots.reshape(n * k, size, 1, 1).expand(-1, -1, self.broadcast, self.broadcast)
        out = self.body(self.place(spread).contiguous(memory_format=torch.channels_last)).float()
        out = out.unflatten(0, (n, k))
        return out[:, :, :-1], out[:, :, -1]


def _signed(images: Tensor) -> Tensor:
    """Images in [0, 1] as the published networks see them, in [-1, 1]."""
    return images * 2 - 1


def _unsigned(images: Tensor) -> Tensor:
    """Images in [-1, 1], cut off at the ends, in [0, 1] again."""
    return (images.clamp(-1, 1) + 1) / 2
