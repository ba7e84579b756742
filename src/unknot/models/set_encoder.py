"""The set encoder: an image as a set of pixels that know where they are."""

from typing import Unpack

import torch
from torch import Tensor, nn

from unknot.models.model import Setting
from unknot.models.networks import dense
from unknot.models.regression import Extras, FactorRegressor


class SetEncoder(FactorRegressor):
    """Each pixel, its place and its values, through a small network; the mean over pixels through another.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    (2 + c) -> 40 -> 40 -> 20 for each pixel, mean, 20 -> 20 -> 20, then the outputs; the order of the pixels does not
    matter. Places are in [0, 1].

    Args:
        setting: what to build for; images of any size.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Departs from the paper: it leaves out the width of the first layer; here it is 40.
    Reference: Schott et al. 2022, arXiv:2107.08221, appendix H.4 ("coordinate based").
    """

    def __init__(self, setting: Setting, **extras: Unpack[Extras]) -> None:
        of_pixels = nn.Sequential(*dense([2 + setting.channels, 40, 40, 20]))
        body = nn.Sequential(PixelSet(), MeanOf(of_pixels), *dense([20, 20, 20]))
        super().__init__(setting, "set_encoder", body, 20, **extras)


class PixelSet(nn.Module):
    """Images (b, c, h, w) as sets (b, h w, 2 + c) of pixels: row and column in [0, 1], then the values."""

    def forward(self, images: Tensor) -> Tensor:
        """The sets."""
        b, c, h, w = images.shape
        row, column = (torch.linspace(0, 1, n, device=images.device, dtype=images.dtype) for n in (h, w))
        places = torch.stack(torch.meshgrid(row, column, indexing="ij"), 2).view(1, h * w, 2)
        values = images.permute(0, 2, 3, 1).reshape(b, h * w, c)
        return torch.cat([places.expand(b, -1, -1), values], 2)


class MeanOf(nn.Module):
    """The mean over a set (b, n, d) of what a network makes of its members."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, members: Tensor) -> Tensor:
        """The means (b, width)."""
        each: Tensor = self.network(members)
        return each.mean(1)
