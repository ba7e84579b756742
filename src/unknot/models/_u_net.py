"""The U-Net that MONet's attention is."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models.networks import halvings


class UNet(nn.Module):
    """A network from images to one number at each pixel, through ever smaller maps and back, with skips between equals.

    A block is a 3 x 3 convolution without bias, instance norm and ReLU; maps are halved and doubled by nearest
    neighbours; an MLP of 128 units looks at the smallest map as a whole.
    """

    def __init__(self, model: str, inputs: int, pixels: int, channels: int) -> None:
        super().__init__()
        # As many blocks as make the narrowest map 4 x 4.
        widths = [*[channels] * (halvings(model, pixels) - 2), *[2 * channels] * 3]
        self.down = nn.ModuleList(map(_block, [inputs, *widths[:-1]], widths))
        flat = 16 * widths[-1]
        self.mlp = nn.Sequential(
            nn.Flatten(),
            nn.Linear(flat, 128),
            nn.ReLU(),
            nn.Linear(128, 128),
            nn.ReLU(),
            nn.Linear(128, flat),
            nn.ReLU(),
            nn.Unflatten(1, (widths[-1], 4, 4)),
        )
        # A block on the way up takes what comes from below beside the skip of its size.
        back = widths[::-1]
        self.up = nn.ModuleList(map(_block, [2 * width for width in back], [*back[1:], channels]))
        self.out = nn.Conv2d(channels, 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        """The numbers (b, 1, h, w) of images (b, c, h, w)."""
        skips: list[Tensor] = []
        features = images
        for block in self.down:
            features = block(features if not skips else _halved(features))
            skips.append(features)
        features = self.mlp(features)
        for block in self.up:
            skip = skips.pop()
            features = block(torch.cat([features, skip], dim=1))
            if skips:
                features = functional.interpolate(features, scale_factor=2, mode="nearest")
        out: Tensor = self.out(features)
        return out


def _halved(features: Tensor) -> Tensor:
    return functional.interpolate(features, scale_factor=0.5, mode="nearest")


def _block(inputs: int, outputs: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.InstanceNorm2d(outputs, affine=True), nn.ReLU())
