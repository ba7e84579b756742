"""The network of Big Transfer: a pre-activation ResNet with group norm and standardised convolutions.

Tensors have the names timm gives them, and `npz_names` says what they are called in the published files.

Reference: Kolesnikov et al. 2020, Big Transfer (BiT): General Visual Representation Learning, arXiv:1912.11370.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models._pretrained import named

GROUPS = 32  # of every group norm
EPSILON = 1e-10  # of the standardisation


class StandardisedConv(nn.Conv2d):
    """A convolution whose filters have mean 0 and variance 1, each by itself."""

    def forward(self, images: Tensor) -> Tensor:
        """The convolution with standardised filters."""
        variance, mean = torch.var_mean(self.weight, (1, 2, 3), correction=0, keepdim=True)
        weight = (self.weight - mean) / (variance + EPSILON).sqrt()
        return functional.conv2d(images, weight, None, self.stride, self.padding)


class BiTNetwork(nn.Module):
    """The network from images (b, c, h, w) to units (b, 2048 width): the mean over places of the last map.

    Args:
        channels: of the images.
        units: residual units in each of the four stages, such as (3, 4, 6, 3).
        width: 64 channels are multiplied by it.
    """

    def __init__(self, channels: int, units: Sequence[int], width: float) -> None:
        super().__init__()
        base = int(64 * width)
        self.stem = named(conv=StandardisedConv(channels, base, 7, stride=2, padding=3, bias=False))
        self.stages = nn.Sequential()
        n_in = base
        for i, n in enumerate(units):
            middle = base * 2**i
            rows = [_Unit(4 * middle if j else n_in, middle, 2 if i and not j else 1) for j in range(n)]
            self.stages.append(named(blocks=nn.Sequential(*rows)))
            n_in = 4 * middle
        self.norm = nn.GroupNorm(GROUPS, n_in)
        self.width = n_in

    def forward(self, images: Tensor) -> Tensor:
        """The units."""
        # Zeros around, then the maximum: unlike the padding of MaxPool2d, they can be the largest.
        x = functional.max_pool2d(functional.pad(self.stem(images), (1, 1, 1, 1)), 3, stride=2)
        units: Tensor = self.norm(self.stages(x)).relu().mean((2, 3))
        return units


class _Unit(nn.Module):
    """A bottleneck: 1x1, 3x3 (with the stride), 1x1, each after group norm and ReLU; plus a shortcut.

    Where the number of channels changes, the shortcut is a 1x1 convolution of the pre-activated input.
    """

    def __init__(self, n_in: int, middle: int, stride: int) -> None:
        super().__init__()
        n_out = 4 * middle
        self.downsample: nn.Module | None = None
        if n_in != n_out or stride != 1:
            self.downsample = named(conv=StandardisedConv(n_in, n_out, 1, stride=stride, bias=False))
        self.norm1, self.conv1 = nn.GroupNorm(GROUPS, n_in), StandardisedConv(n_in, middle, 1, bias=False)
        self.norm2 = nn.GroupNorm(GROUPS, middle)
        self.conv2 = StandardisedConv(middle, middle, 3, stride=stride, padding=1, bias=False)
        self.norm3, self.conv3 = nn.GroupNorm(GROUPS, middle), StandardisedConv(middle, n_out, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The map after this unit."""
        before = self.norm1(x).relu()
        shortcut = x if self.downsample is None else self.downsample(before)
        y = self.conv2(self.norm2(self.conv1(before)).relu())
        result: Tensor = shortcut + self.conv3(self.norm3(y).relu())
        return result


def npz_names(network: BiTNetwork) -> dict[str, str]:
    """What the tensors of a network are called in the published npz files.

    >>> npz_names(BiTNetwork(3, (1, 1, 1, 1), 0.5))["stages.0.blocks.0.downsample.conv.weight"]
    'resnet/block1/unit01/a/proj/standardized_conv2d/kernel'
    """
    return {name: f"resnet/{_npz_name(name.split('.'))}" for name in network.state_dict()}


def _npz_name(words: list[str]) -> str:
    *place, layer, kind = words
    if layer.startswith("norm"):
        part = f"group_norm/{'gamma' if kind == 'weight' else 'beta'}"
    else:
        part = "standardized_conv2d/kernel"
    if not place:
        return part
    if place == ["stem"]:
        return f"root_block/{part}"
    _, stage, _, unit, *inner = place
    letter = "a/proj" if inner else "abc"[int(layer[-1]) - 1]
    return f"block{int(stage) + 1}/unit{int(unit) + 1:02d}/{letter}/{part}"
