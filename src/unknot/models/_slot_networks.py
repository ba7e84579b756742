"""The networks around slot attention: images to sets of features, and slots to what each of them draws."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.models._slot_grouping import positions
from unknot.models._slot_options import WHO, SlotOptions
from unknot.models.model import Setting

HIDDEN = 64  # units of the coordinate decoder's layers
OCTAVES = 3  # of the waves that it knows places by


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


def slot_encoder(setting: Setting, options: SlotOptions) -> nn.Sequential:
    """Images to a set of features, one for each pixel."""
    stride, channels, activation = options.stride, options.channels, options.activated
    if setting.pixels % stride:
        raise UnknotError(
            f"{WHO}: stride is {stride}; it must divide the {setting.pixels} pixels.", field="stride"
        )
    layers: list[nn.Module] = []
    for i, kernel in enumerate(options.kernel_sizes):
        inputs, step = (channels, 1) if i else (setting.channels, stride)
        layers += [nn.Conv2d(inputs, channels, kernel, stride=step, padding=kernel // 2), activation()]
    return nn.Sequential(
        *layers,
        Positions(setting.pixels // stride, channels),
        PixelSet(),
        nn.LayerNorm(channels, eps=options.norm_epsilon),
        nn.Linear(channels, channels),
        activation(),
        nn.Linear(channels, channels),
    )


class BroadcastDecoder(nn.Module):
    """Slots (n, k, d) spread over a small square, and drawn by transposed convolutions that double it."""

    def __init__(self, setting: Setting, options: SlotOptions) -> None:
        super().__init__()
        size, broadcast = options.target or setting.pixels, options.broadcast
        doublings = math.log2(size / broadcast)
        if doublings < 0 or not doublings.is_integer():
            raise UnknotError(
                f"{WHO}: broadcast is {broadcast}; it must double to the {size} pixels of the images, such as 8 to "
                "32, 64 or 128.",
                field="broadcast",
            )
        self.broadcast = broadcast
        self.place = Positions(broadcast, options.slot_size)
        layers: list[nn.Module] = []
        width = options.slot_size
        for i in range(int(doublings) + options.full_layers):
            stride = 2 if i < doublings else 1
            layer = nn.ConvTranspose2d(width, options.channels, 5, stride, padding=2, output_padding=stride - 1)
            layers += [layer, options.activated()]
            width = options.channels
        self.body = nn.Sequential(*layers, nn.ConvTranspose2d(width, setting.channels + 1, 3, padding=1))

    def forward(self, slots: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Pictures (n, k, c, size, size), not squashed, and mask logits (n, k, size, size)."""
        n, k, width = slots.shape
        spread = slots.reshape(n * k, width, 1, 1).expand(-1, -1, self.broadcast, self.broadcast)
        out = self.body(self.place(spread).contiguous(memory_format=torch.channels_last)).float()
        if out.shape[-1] != size:
            out = functional.interpolate(out, size=(size, size), mode="bilinear", align_corners=False)
        out = out.unflatten(0, (n, k))
        return out[:, :, :-1], out[:, :, -1]


class CoordinateDecoder(nn.Module):
    """An MLP from a slot and a place to the colour and the mask logit there, so that it draws at any size.

    Places are centres of pixels, y and x from -1 to 1, so that those of a small picture lie among those of a large
    one; sines and cosines of them, of three octaves, let shapes be small.
    """

    def __init__(self, setting: Setting, options: SlotOptions) -> None:
        super().__init__()
        self.slot = nn.Linear(options.slot_size, HIDDEN)
        self.place = nn.Linear(2 + 4 * OCTAVES, HIDDEN, bias=False)
        self.body = nn.Sequential(
            options.activated(),
            nn.Linear(HIDDEN, HIDDEN),
            options.activated(),
            nn.Linear(HIDDEN, setting.channels + 1),
        )

    def forward(self, slots: Tensor, size: int, chosen: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Pictures (n, k, c, size, size), not squashed, and mask logits (n, k, size, size).

        Of pixels that are chosen by their numbers (p,), if any are, (n, k, c, p) and (n, k, p).
        """
        places = waves(size).to(slots.device)
        if chosen is not None:
            places = places.flatten(0, 1)[chosen]
        given = self.slot(slots).unflatten(1, (-1, *[1] * (places.ndim - 1)))
        out = self.body(given + self.place(places)).float()
        return out[..., :-1].movedim(-1, 2), out[..., -1]


def waves(size: int) -> Tensor:
    """The places (size, size, 14) of pixels: y and x, then sines and cosines of pi, 2 pi and 4 pi of both."""
    line = (torch.arange(size) + 0.5) * (2 / size) - 1
    places = torch.stack(torch.meshgrid(line, line, indexing="ij"), dim=-1)
    angles = [math.pi * 2**octave * places for octave in range(OCTAVES)]
    return torch.cat([places, *(wave(angle) for angle in angles for wave in (torch.sin, torch.cos))], dim=-1)


def slot_decoder(setting: Setting, options: SlotOptions) -> nn.Module:
    """Slots, and the size of a picture, to what each of the slots draws there and its mask logits."""
    kind = CoordinateDecoder if options.slot_decoder == "mlp" else BroadcastDecoder
    return kind(setting, options)
