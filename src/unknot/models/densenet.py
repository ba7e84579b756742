"""DenseNet-121, trained on factors from scratch or from published weights."""

import re
from typing import ClassVar, Unpack, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.models._pretrained import (
    FROM_TIMM,
    TRANSFER,
    Normalised,
    check_published,
    fill,
    identity,
    named,
    read_tensors,
    timm_tensors,
)
from unknot.models.model import Preset, Setting
from unknot.models.regression import FROM_SCRATCH, Extras, FactorRegressor

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and standard deviation of its pixels
LAYERS, STEM = (6, 12, 24, 16), 64  # layers of the blocks, channels before them
PUBLISHED = "densenet121.tv_in1k"


class DenseNet121(FactorRegressor):
    """DenseNet-121: every layer of a block sees the maps of all layers before it.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Grey images are repeated to three channels, and the mean and deviation of ImageNet are taken out. Batch norm uses
    running statistics when it is read. Tensors have torchvision's names.

    Args:
        setting: what to build for; 32 pixels or more, kept as they are.
        weights: start from a file (safetensors or pth, of torchvision or timm), or from "timm"; empty: from scratch.
            All weights are tuned, the outputs start at random.
        growth: maps that each layer adds; 32 in the paper.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Reference: Huang et al. 2017, Densely Connected Convolutional Networks, arXiv:1608.06993; Schott et al. 2022,
    arXiv:2107.08221, appendix H.4.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset("Schott et al. 2022, appendix H.3, from scratch", fixed={**FROM_SCRATCH, "lr": 1e-4}),
        "schott2022_transfer": Preset(
            "Schott et al. 2022, appendix H.3, from ImageNet weights, all of them tuned", fixed=TRANSFER
        ),
    }

    def __init__(self, setting: Setting, *, weights: str = "", growth: int = 32, **extras: Unpack[Extras]) -> None:
        check_published("densenet121", setting, weights, (".safetensors", ".pth", ".pt"))
        if growth < 1:
            raise UnknotError(f"densenet121: growth is {growth}; expected at least one map.", field="growth")
        normalised = Normalised(setting.channels, *IMAGENET)
        network = DenseNetwork(normalised.channels, growth)
        super().__init__(setting, "densenet121", nn.Sequential(normalised, network), network.width, **extras)
        self.weights = weights

    def load_pretrained(self) -> str:
        """Fill the network as `weights` says, and return what tells them from others; empty if there are none."""
        if not self.weights:
            return ""
        at_timm = self.weights == FROM_TIMM
        tensors = timm_tensors("densenet121", PUBLISHED) if at_timm else read_tensors(self.weights)
        tensors = {renamed(name): tensor for name, tensor in tensors.items()}
        network = cast(nn.Sequential, self.body)[-1]
        fill(network, tensors, model="densenet121", weights=self.weights, names={}, heads=("classifier.",))
        return identity(self.weights)


def renamed(name: str) -> str:
    """Today's name of a tensor; files from before 2018 have dots inside the names of layers.

    >>> renamed("features.denseblock1.denselayer2.norm.1.weight")
    'features.denseblock1.denselayer2.norm1.weight'
    """
    return re.sub(r"(denselayer\d+\.(?:norm|conv))\.([12])\.", r"\1\2.", name)


class DenseNetwork(nn.Module):
    """The network from images (b, c, h, w) to units (b, width): the mean over places of the last maps."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        parts: dict[str, nn.Module] = {
            "conv0": nn.Conv2d(channels, STEM, 7, stride=2, padding=3, bias=False),
            "norm0": nn.BatchNorm2d(STEM),
            "relu0": nn.ReLU(),
            "pool0": nn.MaxPool2d(3, stride=2, padding=1),
        }
        n = STEM
        for i, layers in enumerate(LAYERS, start=1):
            block = {f"denselayer{j + 1}": _Layer(n + j * growth, growth) for j in range(layers)}
            parts[f"denseblock{i}"] = named(**block)
            n += layers * growth
            if i < len(LAYERS):
                parts[f"transition{i}"] = named(
                    norm=nn.BatchNorm2d(n),
                    relu=nn.ReLU(),
                    conv=nn.Conv2d(n, n // 2, 1, bias=False),
                    pool=nn.AvgPool2d(2),
                )
                n //= 2
        self.features = named(**parts, norm5=nn.BatchNorm2d(n))
        self.width = n

    def forward(self, images: Tensor) -> Tensor:
        """The units."""
        maps: Tensor = self.features(images)
        return functional.relu(maps).mean((2, 3))


class _Layer(nn.Module):
    """A layer that adds `growth` maps: 1x1 to four times as many, then 3x3, each after batch norm and ReLU."""

    def __init__(self, n_in: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(n_in), nn.Conv2d(n_in, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, maps: Tensor) -> Tensor:
        """All maps, (b, n_in + growth, h, w)."""
        more = self.conv2(functional.relu(self.norm2(self.conv1(functional.relu(self.norm1(maps))))))
        return torch.cat([maps, more], 1)
