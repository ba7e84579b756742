"""Networks that turn with the image, trained on factors."""

from itertools import pairwise
from typing import Unpack

import torch
from torch import Tensor, nn

from unknot.models._c8 import ORDER, C8Convolution
from unknot.models.model import Setting
from unknot.models.networks import strided_channels
from unknot.models.regression import Extras, FactorRegressor, scaled_width


class RotEQ(FactorRegressor):
    """The CNN with every convolution equivariant to rotations by 45 degrees, and as many channels.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Eight channels make a field, one for each rotation: 4, 4, 8, 8 and 32 fields. Turning the image by 90 degrees
    rolls the eight units of each field by two, exactly; by 45 degrees by one, nearly. What follows is a plain linear
    layer, which can read the angle.

    Args:
        setting: what to build for; 32, 64 or 128 pixels.
        pooled: take the maximum of each field before the outputs, which then cannot know the angle.
        width: the fields are multiplied by it.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Departs from the paper: a layer of our own in place of the e2cnn library, with the same group, fields and number
    of weights; its filters have angular frequencies 0 to 2 on one ring.
    Reference: Weiler & Cesa 2019, General E(2)-Equivariant Steerable CNNs, arXiv:1911.08251; Schott et al. 2022,
    arXiv:2107.08221, appendix H.4.
    """

    name, channels_per_field = "rot_eq", ORDER  # of the CNN's channels, how many become one field

    def __init__(
        self, setting: Setting, *, pooled: bool = False, width: float = 1.0, **extras: Unpack[Extras]
    ) -> None:
        fields = [n // self.channels_per_field for n in (*strided_channels(self.name, setting.pixels), 256)]
        body, units = _body(setting, scaled_width(self.name, width, fields), pooled)
        super().__init__(setting, self.name, body, units, **extras)


class RotEQBig(RotEQ):
    """The same with as many fields as the CNN has channels: 32, 32, 64, 64 and 256, of eight channels each.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Args:
        setting: what to build for; 32, 64 or 128 pixels.
        pooled: take the maximum of each field before the outputs, which then cannot know the angle.
        width: the fields are multiplied by it; 0.125 makes it `rot_eq`.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Departs from the paper: see `RotEQ`. The paper says it has as many weights as the CNN; by its own rule of
    channels it has two and a half times as many.
    Reference: Schott et al. 2022, arXiv:2107.08221, appendix H.4.
    """

    name, channels_per_field = "rot_eq_big", 1


class FieldMaximum(nn.Module):
    """The maximum of each field (b, n * 8, h, w): (b, n, h, w), the same however the image is turned."""

    def forward(self, fields: Tensor) -> Tensor:
        """The maxima."""
        return torch.amax(fields.reshape(len(fields), -1, ORDER, *fields.shape[2:]), 2)


def _body(setting: Setting, fields: list[int], pooled: bool) -> tuple[nn.Sequential, int]:
    """The network without its outputs, and how many units it ends in."""
    *strided, last = fields
    parts: list[nn.Module] = []
    for i, (n_in, n_out) in enumerate(pairwise([setting.channels, *strided])):
        parts += [C8Convolution(n_in, n_out, stride=2, padding=1, lifting=not i), nn.ReLU()]
    parts += [C8Convolution(strided[-1], last), nn.ReLU(), *([FieldMaximum()] if pooled else []), nn.Flatten()]
    return nn.Sequential(*parts), last * (1 if pooled else ORDER)
