"""The spatial transformer: a network that turns, shifts and scales the image before it looks."""

from typing import Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models.cnn import cnn_body
from unknot.models.model import Setting
from unknot.models.networks import dense, strided_channels
from unknot.models.regression import Extras, FactorRegressor

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


class SpatialTransformer(FactorRegressor):
    """A localiser proposes an affine map of the image plane; the CNN sees the image through it.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Localiser: convolutions of 8 (7x7), 10 (5x5) and 10 (6x6) channels, each halved by a maximum, 32 units, six
    numbers. It starts at the identity. At 32 pixels its third convolution is left out.

    Args:
        setting: what to build for; 32, 64 or 128 pixels.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Departs from the paper: it prints 31 units before a layer of 32 inputs; here both are 32.
    Reference: Jaderberg et al. 2015, Spatial Transformer Networks, arXiv:1506.02025; Schott et al. 2022,
    arXiv:2107.08221, appendix H.4.
    """

    def __init__(self, setting: Setting, **extras: Unpack[Extras]) -> None:
        channels = [*strided_channels("spatial_transformer", setting.pixels), 256]
        warp = Warp(setting.channels, setting.pixels)
        body = nn.Sequential(warp, *cnn_body(setting.channels, channels))
        super().__init__(setting, "spatial_transformer", body, 256, **extras)


class Warp(nn.Module):
    """Images seen through the affine map that a small network reads from them."""

    def __init__(self, channels: int, pixels: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        size = pixels
        for n_in, n_out, kernel in ((channels, 8, 7), (8, 10, 5), (10, 10, 6)):
            if size - kernel + 1 < 2:
                continue
            parts += [nn.Conv2d(n_in, n_out, kernel), nn.MaxPool2d(2), nn.ReLU()]
            size = (size - kernel + 1) // 2
        self.localiser = nn.Sequential(*parts, nn.Flatten(), *dense([10 * size**2, 32]))
        # Parameters of their own, because layers are drawn anew after construction.
        self.weight = nn.Parameter(torch.zeros(6, 32))
        self.bias = nn.Parameter(torch.tensor(IDENTITY))

    def forward(self, images: Tensor) -> Tensor:
        """The warped images."""
        return warped(images, self.theta(images))

    def theta(self, images: Tensor) -> Tensor:
        """The affine map (b, 2, 3) of each image."""
        return functional.linear(self.localiser(images), self.weight, self.bias).view(-1, 2, 3)


def warped(images: Tensor, theta: Tensor) -> Tensor:
    """Images (b, c, h, w) whose pixel at p shows what was at theta p, in [-1, 1] between the edges; zeros beyond."""
    grid = functional.affine_grid(theta.to(images.dtype), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="zeros", align_corners=False)
