"""Encoders and decoders of the literature, at 32, 64 or 128 pixels.

| name | encoder | from |
|---|---|---|
| `conv64` | 4x4 convolutions 32, 32, 64, 64, then 256 units | Locatello et al. 2019 |
| `conv64_k2` | the same with 2x2 kernels in the third and fourth | its public checkpoints |
| `burgess64` | four 4x4 convolutions of 32, then 256, 256 units | Burgess et al. 2018; Mahon et al. 2024 |
| `fc1200` | two layers of 1200 units, decoder of three with tanh | Higgins et al. 2017 |
| `coat128` | four 5x5 convolutions of 64, then 256 linear units | the code of Xie et al. 2022, at 128 pixels |
| `dense256` | two layers of 256 units, decoder of two | our recipes, at 32 pixels |
| `separable` | the same, with a decoder that is separable in rows and columns | our recipes, at 32 pixels |
| `centred` | one object in a frame of its own beside its x, y and size, then 256, 256 | our recipes, at 32 pixels |
| `slim` | 32 linear units, then 128 and 64; a separable decoder of half the size | our zoo, at 32 pixels |

At 32 pixels the first convolution is left out, at 128 one of the first kind is added, so that the code is always
read from a 4x4 map; that of `coat128` is always 8x8. Duan et al. 2020 (Table 4), van Steenkiste et al. 2019 and Schott
et al. 2022 print `conv64`; the public checkpoints behind the first two are `conv64_k2`.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError, unknown
from unknot.models._centred import PLACE, POSE, CentredDecoder, CentredEncoder
from unknot.models.model import Model, Posterior, Setting
from unknot.models.terms import pixels, reconstruction, sample

Init = Literal["glorot", "torch"]
ARCHITECTURES = (
    "conv64",
    "conv64_k2",
    "burgess64",
    "fc1200",
    "coat128",
    "dense256",
    "separable",
    "centred",
    "slim",
)
ANY_SIZE = ("fc1200", "dense256", "separable", "centred", "slim")  # architectures without convolutions
SIZES = (32, 64, 128)
RANK = 8  # products of a column and a row that a separable picture is the sum of
LINEAR, SLIM = 32, 64  # numbers that `slim` takes of an image; units of its hidden layers
DARK = -2.0  # logit that a separable picture, or the ground of a centred one, starts from


class Encoder(nn.Module):
    """Images to a Gaussian over latents; or to a plain code, without a variance head."""

    def __init__(self, setting: Setting, *, deterministic: bool = False) -> None:
        super().__init__()
        self.body, width = encoder_body(setting)
        self.head = nn.Linear(width, setting.latents * (1 if deterministic else 2))
        self.deterministic = deterministic

    def forward(self, images: Tensor) -> Posterior:
        """The posterior of images (b, c, h, w)."""
        out = self.head(self.body(images)).float()
        if self.deterministic:
            return Posterior(out)
        return Posterior(*out.chunk(2, dim=1))


class Decoder(nn.Module):
    """Latents to logits (Bernoulli) or means (Gaussian) of pixels."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.body = decoder_body(setting)

    def forward(self, latents: Tensor) -> Tensor:
        """Output (b, c, h, w) before any squashing."""
        out: Tensor = self.body(latents)
        return out.float()


class SeparableDecoder(nn.Module):
    """A picture as a sum of eight products of a column and a row, in each channel: logits = R C + b.

    Two networks draw the two factors. It builds in the two axes of the picture, as a spatial broadcast decoder does:
    scores of its codes owe something to that.
    """

    def __init__(self, setting: Setting, *, units: int = 128, rank: int = RANK) -> None:
        super().__init__()
        self.shape = (setting.channels, setting.pixels, rank)
        size = setting.channels * setting.pixels * rank
        self.rows, self.columns = (
            nn.Sequential(*dense([setting.latents, units, units]), nn.Linear(units, size)) for _ in range(2)
        )
        self.bias = nn.Parameter(torch.full((setting.channels, 1, 1), _dark(setting)))

    def forward(self, latents: Tensor) -> Tensor:
        """Output (b, c, h, w) before any squashing."""
        rows, columns = (part(latents).unflatten(1, self.shape) for part in (self.rows, self.columns))
        out: Tensor = rows @ columns.transpose(-1, -2) + self.bias
        return out


class GaussianAutoencoder(Model):
    """An encoder to Gaussians, or to points, and a decoder: what all VAEs share; each adds its loss."""

    by_rows: ClassVar[tuple[str, ...]] = ("encoder", "decoder")

    def __init__(self, setting: Setting, deterministic: bool = False) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(setting, deterministic=deterministic), Decoder(setting)
        self.likelihood = setting.decoder

    def autoencode(self, images: Tensor, generator: torch.Generator) -> tuple[Posterior, Tensor, Tensor]:
        """The posterior of images, a sample of it, and the reconstruction term of that sample."""
        q = self.represent(images)
        z = sample(q, generator)
        return q, z, reconstruction(images, self.decoder(z), self.likelihood)

    def represent(self, images: Tensor) -> Posterior:
        """The posterior of images."""
        q: Posterior = self.encoder(images)
        return q

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of latents."""
        return pixels(self.decoder(latents), self.likelihood)


def encoder_body(setting: Setting) -> tuple[nn.Sequential, int]:
    """The encoder without its head, and how many units it ends in."""
    _check(setting)
    if setting.architecture == "slim":
        first = nn.Linear(setting.channels * setting.pixels**2, LINEAR)
        return nn.Sequential(nn.Flatten(), first, *dense([LINEAR, 2 * SLIM, SLIM])), SLIM
    if setting.architecture == "centred":
        side = setting.pixels // 2
        body = nn.Sequential(*dense([setting.channels * side**2 + POSE, 256, 256]))
        return nn.Sequential(CentredEncoder(body, side)), 256 + POSE
    if setting.architecture in ANY_SIZE:
        width = 1200 if setting.architecture == "fc1200" else 256
        n_pixels = setting.channels * setting.pixels**2
        return nn.Sequential(nn.Flatten(), *dense([n_pixels, width, width])), width
    if setting.architecture == "coat128":
        return _coat_encoder(setting), 256
    layers: list[nn.Module] = []
    for (inputs, outputs), kernel in _convolutions(setting):
        layers += [nn.Conv2d(inputs, outputs, kernel, stride=2, padding=kernel // 2 - 1), nn.ReLU()]
    flat = 16 * _channels(setting)[-1]
    hidden = [flat, 256, 256] if setting.architecture == "burgess64" else [flat, 256]
    return nn.Sequential(*layers, nn.Flatten(), *dense(hidden)), 256


def decoder_body(setting: Setting) -> nn.Module:
    """The decoder, from latents to pixels."""
    _check(setting)
    latents = setting.latents
    shape = (setting.channels, setting.pixels, setting.pixels)
    if setting.architecture == "fc1200":
        n_pixels = setting.channels * setting.pixels**2
        hidden = dense([latents, 1200, 1200, 1200], nn.Tanh)
        return nn.Sequential(*hidden, nn.Linear(1200, n_pixels), nn.Unflatten(1, shape))
    if setting.architecture == "dense256":
        n_pixels = setting.channels * setting.pixels**2
        return nn.Sequential(*dense([latents, 256, 256]), nn.Linear(256, n_pixels), nn.Unflatten(1, shape))
    if setting.architecture == "separable":
        return SeparableDecoder(setting)
    if setting.architecture == "centred":
        side = setting.pixels // 2
        body = nn.Sequential(*dense([latents - PLACE, 256, 256]), nn.Linear(256, setting.channels * (side**2 + 1)))
        return CentredDecoder(setting, body, side, _dark(setting))
    if setting.architecture == "slim":
        return SeparableDecoder(setting, units=SLIM, rank=RANK // 2)
    if setting.architecture == "coat128":
        return _coat_decoder(setting, latents)
    channels = _channels(setting)[::-1]
    flat = 16 * channels[0]
    widths = [latents, 256, 256, flat] if setting.architecture == "burgess64" else [latents, 256, flat]
    layers = [*dense(widths), nn.Unflatten(1, (channels[0], 4, 4))]
    outputs = _decoder_channels(setting)
    for i, (inputs, out) in enumerate(pairwise(outputs)):
        layers.append(nn.ConvTranspose2d(inputs, out, 4, stride=2, padding=1))
        if i < len(outputs) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def _dark(setting: Setting) -> float:
    """The output that a picture starts from."""
    return DARK if setting.decoder == "bernoulli" else 0.0


def _coat_encoder(setting: Setting) -> nn.Sequential:
    """Images to 256 units, halved down to 8 x 8; the units have no activation, as published."""
    layers: list[nn.Module] = []
    for i in range(halvings("coat128", setting.pixels) - 1):
        layers += [nn.Conv2d(64 if i else setting.channels, 64, 5, stride=2, padding=2), nn.LeakyReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 64, 256))


def _coat_decoder(setting: Setting, latents: int) -> nn.Sequential:
    """Latents to 8 x 8, doubled up to the image, one layer more at its size, and the output."""
    layers: list[nn.Module] = [nn.Linear(latents, 64 * 64), nn.Unflatten(1, (64, 8, 8))]
    for _ in range(halvings("coat128", setting.pixels) - 1):
        layers += [nn.ConvTranspose2d(64, 64, 5, stride=2, padding=2, output_padding=1), nn.LeakyReLU()]
    layers += [nn.ConvTranspose2d(64, 64, 5, padding=2), nn.LeakyReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, setting.channels, 3, padding=1))


def initialise(module: nn.Module, init: Init, generator: torch.Generator) -> None:
    """Draw all weights anew from the generator: "glorot" (uniform, zero biases) or torch's own default law.

    Rows of an `nn.Embedding` are standard normal in both. Recurrent weights are
    orthogonal under "glorot".
    """
    for layer in module.modules():
        if isinstance(layer, nn.Embedding):
            nn.init.normal_(layer.weight, generator=generator)
        if isinstance(layer, nn.GRUCell | nn.LSTMCell):
            _initialise_cell(layer, init, generator)
        if not isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            continue
        with torch.no_grad():
            if init == "glorot":
                nn.init.xavier_uniform_(layer.weight, generator=generator)
                if layer.bias is not None:
                    layer.bias.zero_()
            else:
                nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
                if layer.bias is not None:
                    fan_in = layer.weight[0].numel()
                    layer.bias.uniform_(-(fan_in**-0.5), fan_in**-0.5, generator=generator)
    for part in module.modules():
        if isinstance(part, Model):
            part.after_initialise()


@torch.no_grad()
def _initialise_cell(cell: nn.GRUCell | nn.LSTMCell, init: Init, generator: torch.Generator) -> None:
    if init == "torch":
        for weight in cell.parameters():
            weight.uniform_(-(cell.hidden_size**-0.5), cell.hidden_size**-0.5, generator=generator)
        return
    nn.init.xavier_uniform_(cell.weight_ih, generator=generator)
    nn.init.orthogonal_(cell.weight_hh, generator=generator)
    cell.bias_ih.zero_()
    cell.bias_hh.zero_()


def halvings(who: str, pixels: int) -> int:
    """How many strides of two lead from an image to a 4x4 map; an error for sizes that networks are not made for."""
    if pixels not in SIZES:
        raise UnknotError(
            f"{who}: images of {pixels} pixels; expected one of {', '.join(map(str, SIZES))}. Set image_size "
            "(--image-size), which resizes them.",
            field="image_size",
        )
    return SIZES.index(pixels) + 3


def strided_channels(who: str, pixels: int, base: Sequence[int] = (32, 32, 64, 64)) -> list[int]:
    """Output channels of the convolutions with stride 2 that lead to a 4x4 map."""
    more = halvings(who, pixels) - len(base)
    return [*[base[0]] * more, *base[max(0, -more) :]]


def dense(widths: Sequence[int], activation: Callable[[], nn.Module] = nn.ReLU) -> list[nn.Module]:
    """Linear layers of these widths, an activation after each."""
    return [part for n_in, n_out in pairwise(widths) for part in (nn.Linear(n_in, n_out), activation())]


def _check(setting: Setting) -> None:
    if setting.architecture not in ARCHITECTURES:
        raise unknown("architecture", setting.architecture, ARCHITECTURES, field="architecture")
    if setting.latents < 1:
        raise UnknotError(
            f"{setting.architecture}: {setting.latents} latents; a code has at least one.", field="latents"
        )
    if setting.architecture == "centred" and setting.latents <= POSE:
        raise UnknotError(
            f"centred: {setting.latents} latents; three say where an object is and how large, and one at least what it "
            "is. Give it four or more.",
            field="latents",
        )
    if setting.architecture not in ANY_SIZE:
        halvings(setting.architecture, setting.pixels)


def _channels(setting: Setting) -> list[int]:
    """Output channels of the encoder's convolutions."""
    base = [32, 32, 32, 32] if setting.architecture == "burgess64" else [32, 32, 64, 64]
    return strided_channels(setting.architecture, setting.pixels, base)


def _decoder_channels(setting: Setting) -> list[int]:
    """Channels from the 4x4 map to the image."""
    base = [32, 32, 32, 32] if setting.architecture == "burgess64" else [64, 64, 32, 32]
    return [*{32: base[:-1], 64: base, 128: [*base, base[-1]]}[setting.pixels], setting.channels]


def _convolutions(setting: Setting) -> list[tuple[tuple[int, int], int]]:
    channels = [setting.channels, *_channels(setting)]
    steps = list(pairwise(channels))
    small = setting.architecture == "conv64_k2"
    return [(step, 2 if small and i >= len(steps) - 2 else 4) for i, step in enumerate(steps)]
