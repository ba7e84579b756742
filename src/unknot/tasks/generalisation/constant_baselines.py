"""What a predictor that never looks at an image scores on a split.

"0 is as good as guessing" holds for random splits only: the test part of the others has values of its own, so that
a constant is better or worse there than the variance of the whole dataset says.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unknot.factors import Classes
from unknot.metrics.r2 import full_variance
from unknot.tasks.generalisation.split_errors import SplitErrors
from unknot.tasks.generalisation.split_points import chunks, part_points
from unknot.worlds.splits.split import Split

CHUNK = 65_536  # points at a time; no image is rendered


@dataclass(frozen=True)
class Baselines:
    """Two constant predictors on the whole test part of a split.

    Attributes:
        variance: (k,) of the targets over the whole dataset.
        train_mean: (k,) of the targets over the training part.
        full: errors of always saying the mean of the whole dataset.
        train: errors of always saying the mean of the training part.
    """

    variance: NDArray[np.float64]
    train_mean: NDArray[np.float64]
    full: SplitErrors
    train: SplitErrors


def constant_baselines(split: Split, listed: Classes | None = None) -> Baselines:
    """R² of predicting the mean of everything, and of predicting the mean of the training part.

    Args:
        split: the split.
        listed: the rows of an incomplete world; None for a complete grid.

    >>> from unknot.worlds.published.dsprites import SPACE
    >>> from unknot.worlds.splits.split import split
    >>> baselines = constant_baselines(split(SPACE, "extrapolation", rule="dsprites"))
    >>> float(baselines.full.r2.mean().round(3)), float(baselines.train.r2.mean().round(3))
    (-0.093, -0.388)
    """
    space, rng = split.space, np.random.default_rng(0)  # never asked: all points are taken
    if listed is None:
        variance, mean = full_variance(space), np.where(space.sizes > 1, 0.5, 0.0)
    else:
        targets = space.scaled(listed)
        variance, mean = full_variance(targets), targets.mean(axis=0)
    training = part_points(split, listed, "train", "all", rng)
    total = np.zeros(len(space))
    for classes in chunks(split, listed, training, CHUNK):
        total += space.scaled(classes).sum(axis=0)
    train_mean = total / len(training)
    full, train = SplitErrors(variance, train_mean), SplitErrors(variance, train_mean)
    for classes in chunks(split, listed, part_points(split, listed, "test", "all", rng), CHUNK):
        targets, unseen = space.scaled(classes), split.ood(classes)
        full.add(np.broadcast_to(mean, targets.shape), targets, unseen)
        train.add(np.broadcast_to(train_mean, targets.shape), targets, unseen)
    return Baselines(variance, train_mean, full, train)


def constant_r2(split: Split) -> float:
    """Mean R² of predicting the mean of the training part on a complete grid, from how often each class occurs.

    The same as `constant_baselines(split).train`, without a look at every point.

    >>> from unknot.worlds.published.dsprites import SPACE
    >>> from unknot.worlds.splits.split import split
    >>> round(constant_r2(split(SPACE, "extrapolation", rule="dsprites")), 3)
    -0.388
    """
    space = split.space
    train, test = (_class_shares(mask.reshape(space.shape)) for mask in (split.train, split.test))
    targets = [np.arange(size) / max(size - 1, 1) for size in space.shape]
    errors = [
        float(there @ (values - here @ values) ** 2)
        for here, there, values in zip(train, test, targets, strict=True)
    ]
    variance = full_variance(space)
    return float(np.mean(1 - np.array(errors)[variance > 0] / variance[variance > 0]))


def _class_shares(part: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """How often each class of each factor occurs in a part of the grid."""
    axes = range(part.ndim)
    return [part.sum(axis=tuple(j for j in axes if j != i)) / part.sum() for i in axes]
