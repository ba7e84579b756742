"""A multilayer perceptron trained on factors."""

from typing import Unpack

from torch import nn

from unknot.errors import UnknotError
from unknot.models.model import Setting
from unknot.models.networks import dense
from unknot.models.regression import Extras, FactorRegressor


class MLP(FactorRegressor):
    """A perceptron from all pixels to 90, 90, 90, 90 and 45 units, then one output for each factor.

    loss = mean over the batch of sum_i (y_i - f_i)^2, see `FactorRegressor`

    Args:
        setting: what to build for; images of any size.
        layers: with weights, the one of the outputs included.
        units: of the hidden layers; the last of them has half as many.
        dropout: share of penultimate units switched off in training.
        l2: weight of the sum of squared weights.
        augmentation: of training images, such as "noise+shift"; see `unknot.models.augmentations`.
        freeze: train the head alone.

    Departs from the paper: it prints a last layer of 22 inputs after one of 45 outputs; here it has 45.
    Reference: Schott et al. 2022, arXiv:2107.08221, appendix H.4.
    """

    def __init__(self, setting: Setting, *, layers: int = 6, units: int = 90, **extras: Unpack[Extras]) -> None:
        if layers < 2:
            raise UnknotError(
                f"mlp: layers is {layers}; expected at least 2, the last of them with the outputs.", field="layers"
            )
        if units < 2:
            raise UnknotError(f"mlp: units is {units}; expected at least 2.", field="units")
        widths = [setting.channels * setting.pixels**2, *[units] * (layers - 2), units // 2]
        body = nn.Sequential(nn.Flatten(), *dense(widths))
        super().__init__(setting, "mlp", body, widths[-1], **extras)
