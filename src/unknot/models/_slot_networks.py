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
AT_ONCE = 2**15  # places of slots that are drawn at once where no gradient is wanted: 8 MB, which are used again
OCTAVES = 3  # of the waves that it knows places by
ROUND = 1  # octaves that the masks of the affine decoder know places by: what they bound is in one piece


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

    def __init__(self, setting: Setting, options: SlotOptions, outputs: int = 0, octaves: int = OCTAVES) -> None:
        super().__init__()
        self.octaves = octaves
        self.slot = nn.Linear(options.slot_size, HIDDEN)
        self.place = nn.Linear(2 + 4 * octaves, HIDDEN, bias=False)
        self.body = nn.Sequential(
            options.activated(),
            nn.Linear(HIDDEN, HIDDEN),
            options.activated(),
            nn.Linear(HIDDEN, outputs or setting.channels + 1),
        )

    def forward(self, slots: Tensor, size: int, chosen: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Pictures (n, k, c, size, size), not squashed, and mask logits (n, k, size, size).

        Of pixels that are chosen by their numbers (p,), if any are, (n, k, c, p) and (n, k, p).
        """
        out = self.values(slots, places_of(size, chosen, self.octaves).to(slots.device))
        return out[:, :, :-1], out[:, :, -1]

    def values(self, slots: Tensor, places: Tensor) -> Tensor:
        """The numbers (n, k, outputs, ...) of slots at places (..., waves)."""
        most = max(1, AT_ONCE // (slots.shape[1] * places[..., 0].numel()))
        if len(slots) > most and not torch.is_grad_enabled():
            return torch.cat([self.values(part, places) for part in torch.split(slots, most)])
        given = self.slot(slots).unflatten(1, (-1, *[1] * (places.ndim - 1)))
        out: Tensor = self.body(given + self.place(places)).float()
        return out.movedim(-1, 2)


class AffineDecoder(nn.Module):
    """Masks as the coordinate decoder draws them, of one octave, and colours that are linear in the place.

    A colour that changes along a line cannot hold both an object and the ground around it, and a mask of one octave is
    round: a slot that draws a place with all that is there pays for it, also where objects have the same colour. Once
    slots have parted, an MLP may add what bends colours, which starts from nothing.
    """

    def __init__(self, setting: Setting, options: SlotOptions) -> None:
        super().__init__()
        self.channels = setting.channels
        self.mask = CoordinateDecoder(setting, options, 1, ROUND)
        self.colour = nn.Sequential(
            nn.Linear(options.slot_size, HIDDEN), options.activated(), nn.Linear(HIDDEN, 3 * setting.channels)
        )
        self.bends = CoordinateDecoder(setting, options, setting.channels)
        for weights in self.bends.body[-1].parameters():
            nn.init.zeros_(weights)

    def forward(
        self, slots: Tensor, size: int, chosen: Tensor | None = None, *, straight: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The same as of the coordinate decoder; where it is told to keep colours straight, nothing bends them."""
        places = places_of(size, chosen).to(slots.device)
        y, x = places[..., 0], places[..., 1]
        given = self.colour(slots).float().unflatten(2, (3, self.channels, *[1] * y.ndim))
        pictures = given[:, :, 0] + given[:, :, 1] * y + given[:, :, 2] * x
        if not straight:
            pictures = pictures + self.bends.values(slots, places)
        return pictures, self.mask.values(slots, places[..., : 2 + 4 * ROUND])[:, :, 0]


def waves(size: int, octaves: int = OCTAVES) -> Tensor:
    """The places (size, size, 2 + 4 octaves) of pixels: y and x, then sines and cosines of pi, 2 pi, 4 pi of both."""
    line = (torch.arange(size) + 0.5) * (2 / size) - 1
    places = torch.stack(torch.meshgrid(line, line, indexing="ij"), dim=-1)
    angles = [math.pi * 2**octave * places for octave in range(octaves)]
    return torch.cat([places, *(wave(angle) for angle in angles for wave in (torch.sin, torch.cos))], dim=-1)


def places_of(size: int, chosen: Tensor | None, octaves: int = OCTAVES) -> Tensor:
    """The places (size, size, waves) of all pixels, or (p, waves) of those that are chosen by their numbers (p,)."""
    places = waves(size, octaves)
    return places if chosen is None else places.flatten(0, 1)[chosen]


def slot_decoder(setting: Setting, options: SlotOptions) -> nn.Module:
    """Slots, and the size of a picture, to what each of the slots draws there and its mask logits."""
    if options.slot_decoder == "mlp":
        return CoordinateDecoder(setting, options)
    if options.slot_decoder == "affine":
        return AffineDecoder(setting, options)
    return BroadcastDecoder(setting, options)
