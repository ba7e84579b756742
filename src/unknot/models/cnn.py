"""The convolutional network of the benchmark of systematic generalisation, trained on factors."""

from itertools import pairwise
from typing import Unpack

from torch import nn

from unknot.models.model import Setting, not_negative
from unknot.models.networks import strided_channels
from unknot.models.regression import Extras, FactorRegressor, scaled_width


class CNN(FactorRegressor):
    """4x4 convolutions of 32, 32, 64 and 64 channels with stride 2, one of 256 over what is left, then the outputs.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    At 32 pixels the first convolution is left out, at 128 one of the first kind is added.

    Args:
        setting: what to build for; 32, 64 or 128 pixels.
        extra_layers: 3x3 convolutions inserted after those with a stride, one each in turn, then a second each.
        width: the channels are multiplied by it.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Reference: Schott et al. 2022, arXiv:2107.08221, appendix H.4; their public benchmark has the same network.
    """

    def __init__(
        self, setting: Setting, *, extra_layers: int = 0, width: float = 1.0, **extras: Unpack[Extras]
    ) -> None:
        not_negative("cnn", extra_layers=extra_layers)
        channels = scaled_width("cnn", width, [*strided_channels("cnn", setting.pixels), 256])
        body = cnn_body(setting.channels, channels, extra_layers)
        super().__init__(setting, "cnn", body, channels[-1], **extras)


def cnn_body(image_channels: int, channels: list[int], extra_layers: int = 0) -> nn.Sequential:
    """The network from images to the units of the last convolution, flattened."""
    *strided, last = channels
    parts: list[nn.Module] = []
    for i, (n_in, n_out) in enumerate(pairwise([image_channels, *strided])):
        parts += [nn.Conv2d(n_in, n_out, 4, stride=2, padding=1), nn.ReLU()]
        for _ in range((extra_layers - i + len(strided) - 1) // len(strided)):
            parts += [nn.Conv2d(n_out, n_out, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*parts, nn.Conv2d(strided[-1], last, 4), nn.ReLU(), nn.Flatten())
