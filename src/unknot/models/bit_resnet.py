"""The ResNets of Big Transfer, trained on factors from scratch or from published weights."""

from typing import ClassVar, Unpack, cast

from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models._bit_network import BiTNetwork, npz_names
from unknot.models._pretrained import (
    FROM_TIMM,
    SUFFIXES,
    TRANSFER,
    Normalised,
    check_published,
    fill,
    identity,
    read_tensors,
    timm_tensors,
)
from unknot.models.model import Preset, Setting
from unknot.models.regression import FROM_SCRATCH, Extras, FactorRegressor


class BiTResNet50(FactorRegressor):
    """BiT ResNet-50: pre-activation units with group norm and standardised convolutions.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Grey images are repeated to three channels, and [0, 1] becomes [-1, 1], as the published weights want it. Tensors
    have the names timm gives them.

    Args:
        setting: what to build for; 32 pixels or more, kept as they are.
        weights: start from a file, the published `BiT-M-R50x1.npz` or a safetensors or pth file with timm's names; or
            from "timm"; empty: from scratch. All weights are tuned, the outputs start at random.
        width: the channels are multiplied by it; 1 in the paper.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Reference: Kolesnikov et al. 2020, Big Transfer (BiT): General Visual Representation Learning, arXiv:1912.11370;
    Schott et al. 2022, arXiv:2107.08221, appendix H.4, which does not say how small or grey images entered.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "schott2022": Preset("Schott et al. 2022, appendix H.3, from scratch", fixed=FROM_SCRATCH),
        "schott2022_transfer": Preset(
            "Schott et al. 2022, appendix H.3, from ImageNet-21k weights, all of them tuned", fixed=TRANSFER
        ),
    }
    name, units = "bit_resnet50", (3, 4, 6, 3)
    published: ClassVar[dict[float, str]] = {1.0: "resnetv2_50x1_bit.goog_in21k"}  # width -> name at timm

    def __init__(
        self, setting: Setting, *, weights: str = "", width: float = 1.0, **extras: Unpack[Extras]
    ) -> None:
        check_published(self.name, setting, weights, SUFFIXES)
        if not width > 0 or (2 * width) % 1:
            raise UnknotError(
                f"{self.name}: width is {width}; expected 0.5, 1, 1.5, ...: there are 32 groups of channels.",
                field="width",
            )
        normalised = Normalised(setting.channels, (0.5,) * 3, (0.5,) * 3)
        network = BiTNetwork(normalised.channels, self.units, width)
        super().__init__(setting, self.name, nn.Sequential(normalised, network), network.width, **extras)
        self.weights, self.width = weights, width

    def load_pretrained(self) -> str:
        """Fill the network as `weights` says, and return what tells them from others; empty if there are none."""
        if not self.weights:
            return ""
        network = cast(BiTNetwork, cast(nn.Sequential, self.body)[-1])
        names: dict[str, str] = {}
        if self.weights == FROM_TIMM:
            if self.width not in self.published:
                raise UnknotError(
                    f"{self.name}: no weights of this width are published; give a file, or leave out width.",
                    field="weights",
                )
            tensors = timm_tensors(self.name, self.published[self.width])
        else:
            tensors = read_tensors(self.weights)
        if self.weights.endswith(".npz"):
            tensors, names = {key: _as_torch(value) for key, value in tensors.items()}, npz_names(network)
        heads = ("head.", "resnet/head/")
        fill(network, tensors, model=self.name, weights=self.weights, names=names, heads=heads)
        return identity(self.weights)


class BiTResNet101(BiTResNet50):
    """BiT ResNet-101, three times as wide: the largest network of the benchmark, 382 million weights.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor` and `BiTResNet50`

    Args:
        setting: what to build for; 32 pixels or more, kept as they are.
        weights: start from a file, the published `BiT-M-R101x3.npz` or a safetensors or pth file with timm's names; or
            from "timm"; empty: from scratch.
        width: the channels are multiplied by it; 3 in the paper.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Reference: Kolesnikov et al. 2020, arXiv:1912.11370; Schott et al. 2022, arXiv:2107.08221, appendix H.4.
    """

    name, units = "bit_resnet101", (3, 4, 23, 3)
    published: ClassVar[dict[float, str]] = {
        1.0: "resnetv2_101x1_bit.goog_in21k",
        3.0: "resnetv2_101x3_bit.goog_in21k",
    }

    def __init__(
        self, setting: Setting, *, weights: str = "", width: float = 3.0, **extras: Unpack[Extras]
    ) -> None:
        super().__init__(setting, weights=weights, width=width, **extras)


def _as_torch(kernel: Tensor) -> Tensor:
    """A kernel of a published file, which has its channels last, as torch wants it."""
    return kernel.permute(3, 2, 0, 1) if kernel.dim() == 4 else kernel
