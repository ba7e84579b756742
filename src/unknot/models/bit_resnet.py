"""The ResNets of Big Transfer, trained on factors from scratch or from published weights."""

from typing import ClassVar, cast

from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.models._bit_network import BiTNetwork, npz_names
from unknot.models._pretrained import (
    FROM_TIMM,
    SUFFIXES,
    Normalised,
    check_weights,
    fill,
    identity,
    read_tensors,
    timm_tensors,
)
from unknot.models.model import Preset, Setting
from unknot.models.regression import FROM_SCRATCH, Extras, FactorRegressor

TRANSFER: dict[str, float | int | str] = {"weights": FROM_TIMM, "lr": 1e-4, "steps": 50_000, "batch_size": 64}
PRESETS = {
    "schott2022": Preset("Schott et al. 2022, appendix H.3, from scratch", fixed=FROM_SCRATCH),
    "schott2022_transfer": Preset(
        "Schott et al. 2022, appendix H.3, from ImageNet-21k weights, all of them tuned", fixed=TRANSFER
    ),
}


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

    Reference: Kolesnikov et al. 2020, Big Transfer (BiT): General Visual Representation Learning, arXiv:1912.11370;
    Schott et al. 2022, arXiv:2107.08221, appendix H.4, which does not say how small or grey images entered.
    """

    presets: ClassVar[dict[str, Preset]] = PRESETS

    def __init__(
        self,
        setting: Setting,
        *,
        weights: str = "",
        width: float = 1.0,
        dropout: float = 0.0,
        l2: float = 0.0,
        augmentation: str = "none",
    ) -> None:
        extras = Extras("bit_resnet50", dropout, l2, augmentation)
        _check("bit_resnet50", setting, weights, width)
        network = BiTNetwork(_channels(setting), (3, 4, 6, 3), width)
        super().__init__(setting, _with_input(setting, network), network.width, extras)
        self.weights = weights
        self.published = {1.0: "resnetv2_50x1_bit.goog_in21k"}.get(width, "")

    def load_pretrained(self) -> str:
        """Fill the network as `weights` says, and return what tells them from others; empty if there are none."""
        return load_bit(self, self.weights, self.published)


class BiTResNet101(FactorRegressor):
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

    Reference: Kolesnikov et al. 2020, arXiv:1912.11370; Schott et al. 2022, arXiv:2107.08221, appendix H.4.
    """

    presets: ClassVar[dict[str, Preset]] = PRESETS

    def __init__(
        self,
        setting: Setting,
        *,
        weights: str = "",
        width: float = 3.0,
        dropout: float = 0.0,
        l2: float = 0.0,
        augmentation: str = "none",
    ) -> None:
        extras = Extras("bit_resnet101", dropout, l2, augmentation)
        _check("bit_resnet101", setting, weights, width)
        network = BiTNetwork(_channels(setting), (3, 4, 23, 3), width)
        super().__init__(setting, _with_input(setting, network), network.width, extras)
        self.weights = weights
        self.published = {1.0: "resnetv2_101x1_bit.goog_in21k", 3.0: "resnetv2_101x3_bit.goog_in21k"}.get(
            width, ""
        )

    def load_pretrained(self) -> str:
        """Fill the network as `weights` says, and return what tells them from others; empty if there are none."""
        return load_bit(self, self.weights, self.published)


def load_bit(model: FactorRegressor, weights: str, published: str) -> str:
    """Fill the network of a model, and return what tells the weights from others; empty if there are none."""
    if not weights:
        return ""
    who, network = model.extras.model, cast(BiTNetwork, cast(nn.Sequential, model.body)[-1])
    if weights == FROM_TIMM:
        if not published:
            raise UnknotError(
                f"{who}: no weights of this width are published; give a file, or leave out width.", field="weights"
            )
        tensors, names = timm_tensors(who, published), {}
    elif weights.endswith(".npz"):
        tensors, names = (
            {key: _as_torch(value) for key, value in read_tensors(weights).items()},
            npz_names(network),
        )
    else:
        tensors, names = read_tensors(weights), {}
    fill(network, tensors, model=who, weights=weights, names=names, heads=("head.", "resnet/head/"))
    return identity(weights)


def _as_torch(kernel: Tensor) -> Tensor:
    """A kernel of a published file, which has its channels last, as torch wants it."""
    return kernel.permute(3, 2, 0, 1) if kernel.dim() == 4 else kernel


def _check(model: str, setting: Setting, weights: str, width: float) -> None:
    check_weights(model, weights, SUFFIXES)
    if not width > 0 or (2 * width) % 1:
        raise UnknotError(
            f"{model}: width is {width}; expected 0.5, 1, 1.5, ...: there are 32 groups of channels.",
            field="width",
        )
    if setting.pixels < 32:
        raise UnknotError(
            f"{model}: images of {setting.pixels} pixels; expected at least 32. Set image_size.",
            field="image_size",
        )
    if weights and setting.channels not in (1, 3):
        raise UnknotError(
            f"{model}: published weights are for colour or grey images, not {setting.channels} channels.",
            field="weights",
        )


def _channels(setting: Setting) -> int:
    return 3 if setting.channels == 1 else setting.channels


def _with_input(setting: Setting, network: BiTNetwork) -> nn.Sequential:
    return nn.Sequential(Normalised(setting.channels, (0.5,) * 3, (0.5,) * 3), network)
