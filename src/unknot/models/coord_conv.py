"""CoordConv: a convolutional network whose first layer sees where it is."""

from typing import Unpack

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models.model import Setting
from unknot.models.networks import dense
from unknot.models.regression import Extras, FactorRegressor


class CoordConv(FactorRegressor):
    """Two channels with the row and the column of each pixel in [-1, 1], then convolutions of 16 channels.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Six 4x4 convolutions with stride 2, as many as the image allows, the maximum over what is left, 32 units.

    Args:
        setting: what to build for; 8 pixels or more.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Departs from the paper: it gives neither kernels nor strides, and its 32 inputs of the first dense layer do not
    follow from 16 channels; here that layer has 16.
    Reference: Liu et al. 2018, An Intriguing Failing of Convolutional Neural Networks and the CoordConv Solution,
    arXiv:1807.03247; Schott et al. 2022, arXiv:2107.08221, appendix H.4.
    """

    def __init__(self, setting: Setting, **extras: Unpack[Extras]) -> None:
        if setting.pixels < 8:
            raise UnknotError(
                f"coord_conv: images of {setting.pixels} pixels; expected at least 8.", field="image_size"
            )
        parts: list[nn.Module] = [AddCoordinates()]
        for i in range(min(6, setting.pixels.bit_length() - 1)):
            parts += [nn.Conv2d(16 if i else setting.channels + 2, 16, 4, stride=2, padding=1), nn.ReLU()]
        body = nn.Sequential(*parts, nn.AdaptiveMaxPool2d(1), nn.Flatten(), *dense([16, 32]))
        super().__init__(setting, "coord_conv", body, 32, **extras)


class AddCoordinates(nn.Module):
    """Images (b, c, h, w) with two more channels: the row and the column, from -1 to 1."""

    def forward(self, images: Tensor) -> Tensor:
        """The images with their coordinates, (b, c + 2, h, w)."""
        b, _, h, w = images.shape
        row = torch.linspace(-1, 1, h, device=images.device, dtype=images.dtype).view(1, 1, h, 1)
        column = torch.linspace(-1, 1, w, device=images.device, dtype=images.dtype).view(1, 1, 1, w)
        return torch.cat([images, row.expand(b, 1, h, w), column.expand(b, 1, h, w)], 1)
