"""The points of a split, and what its test part says of predictions: chunk by chunk, so that memory does not grow.

"0 is as good as guessing" holds for random splits only: the test part of the others has values of its own, so that
a constant is better or worse there than the variance of the whole dataset says. Hence `constant_baselines`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.factors import Classes, Indices
from unknot.metrics.r2 import SquaredErrors, full_variance
from unknot.tasks.options import Rows
from unknot.worlds.splits.split import Split

Floats = NDArray[np.float64]
Part = Literal["train", "test"]
CHUNK = 65_536  # points at a time where no image is rendered
FINE = 1e-3  # width of the bins that medians of ratios are read from
TOP = 4.0  # ratios above this are counted as this


def part_points(split: Split, listed: Classes | None, part: Part, rows: Rows, rng: np.random.Generator) -> Indices:
    """Points of a part in the world's own order, which files are read fastest in.

    Grid indices (n,); or row numbers, where the rows of an incomplete world are `listed`. So many `rows` are drawn
    without replacement; "all", or more than there are, is every one.
    """
    if listed is None:
        pool = split.train_indices() if part == "train" else split.test_indices()
    else:
        inside = split.rows(listed)
        pool = np.flatnonzero(inside if part == "train" else ~inside)
    if rows == "all" or rows >= len(pool):
        return pool
    return np.sort(pool[rng.choice(len(pool), size=rows, replace=False)])


def chunks(split: Split, listed: Classes | None, points: Indices, size: int) -> Iterator[Classes]:
    """The classes of points, `size` at a time."""
    for start in range(0, len(points), size):
        some = points[start : start + size]
        yield split.space.classes(some) if listed is None else listed[some]


class SplitErrors:
    """Squared errors on all rows, and on those with exactly one factor that has a value unseen in training.

    R²_j = 1 - MSE_j / variance_j, with the variance of the whole dataset. Rows with one unseen factor i are kept
    apart by i, so that the others of these rows tell whether a surprise in one factor spoils the rest.

    Args:
        variance: (k,) of each factor over the whole dataset; 0 for a constant one, whose R² is NaN.
        centre: (k,) the mean of the training targets, from which ratios are taken.

    >>> errors = SplitErrors([0.25, 0.25], [0.5, 0.5])
    >>> errors.add([[0.0, 0.75], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[False, True], [False, False]])
    >>> errors.r2, errors.ood, errors.in_distribution, errors.median_ratio().round(2)
    (array([1.   , 0.875]), array([ nan, 0.75]), array([ 1., nan]), array([nan, 0.5]))
    """

    def __init__(self, variance: ArrayLike, centre: ArrayLike) -> None:
        self.variance = np.asarray(variance, dtype=np.float64)
        self.centre = np.asarray(centre, dtype=np.float64)
        k = len(self.variance)
        self._all = SquaredErrors(k)
        self._one_unseen = [SquaredErrors(k) for _ in range(k)]  # by the factor that is unseen
        self.ratios = np.zeros((k, round(TOP / FINE) + 1), dtype=np.int64)
        self._short = np.zeros(k, dtype=np.int64)

    def add(self, predictions: ArrayLike, targets: ArrayLike, unseen: ArrayLike) -> None:
        """Add rows (n, k): predictions, what they should be, and which values never occur in training."""
        predicted, wanted = np.asarray(predictions, dtype=np.float64), np.asarray(targets, dtype=np.float64)
        new = np.asarray(unseen, dtype=np.bool_)
        self._all.add(predicted, wanted)
        alone = new & (new.sum(axis=1, keepdims=True) == 1)
        for i in np.flatnonzero(alone.any(axis=0)).tolist():
            rows = alone[:, i]
            self._one_unseen[i].add(predicted[rows], wanted[rows])
            self._add_ratios(i, predicted[rows, i], wanted[rows, i])

    def _add_ratios(self, i: int, predicted: Floats, wanted: Floats) -> None:
        away = np.abs(wanted - self.centre[i])
        known = away >= 1e-12  # a target at the mean itself has no ratio
        ratio = np.abs(predicted[known] - self.centre[i]) / away[known]
        bins = np.minimum(ratio / FINE, TOP / FINE).astype(np.int64)
        self.ratios[i] += np.bincount(bins, minlength=self.ratios.shape[1])
        self._short[i] += int(np.sum(ratio <= 1))

    @property
    def rows(self) -> int:
        """How many rows were added."""
        return int(self._all.count[0])

    @property
    def r2(self) -> Floats:
        """(k,) on all rows."""
        return self._all.r2(self.variance)

    @property
    def one_ood(self) -> NDArray[np.int64]:
        """(k,) on how many rows each factor is the only unseen one."""
        return np.array([int(errors.count[0]) for errors in self._one_unseen])

    @property
    def modularity(self) -> Floats:
        """(k, k) R² of the factor of a column, on rows where only the factor of the row is unseen."""
        return np.stack([errors.r2(self.variance) for errors in self._one_unseen])

    @property
    def ood(self) -> Floats:
        """(k,) R² of a factor where it is the only unseen one."""
        return np.diagonal(self.modularity).copy()

    @property
    def in_distribution(self) -> Floats:
        """(k,) R² of a factor where it is seen and exactly one other is not."""
        others = SquaredErrors(len(self.variance))
        for i, errors in enumerate(self._one_unseen):
            elsewhere = np.arange(len(self.variance)) != i
            others.total[elsewhere] += errors.total[elsewhere]
            others.count[elsewhere] += errors.count[elsewhere]
        return others.r2(self.variance)

    def median_ratio(self) -> Floats:
        """(k,) median of |f - mean| / |y - mean| of each unseen factor, to half a bin; NaN without rows."""
        return np.array([_median(counts) for counts in self.ratios])

    def pooled_ratio(self) -> float:
        """The median over the ratios of all factors."""
        return _median(self.ratios.sum(axis=0))

    def share_short(self) -> Floats:
        """(k,) share of ratios in [0, 1]: predictions nearer to the mean than the truth."""
        counts = self.ratios.sum(axis=1)
        return np.where(counts > 0, self._short / np.maximum(counts, 1), np.nan)


def mean_known(values: Floats) -> float:
    """The mean of what is not NaN; NaN if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _median(counts: NDArray[np.int64]) -> float:
    total = int(counts.sum())
    if not total:
        return float("nan")
    ends = np.cumsum(counts)
    middle = [int(np.searchsorted(ends, rank, side="right")) for rank in ((total - 1) // 2, total // 2)]
    return min(TOP, FINE * (float(np.mean(middle)) + 0.5))


@dataclass(frozen=True)
class Baselines:
    """Two constant predictors on the whole test part of a split.

    Attributes:
        variance: (k,) of the targets over the whole dataset.
        train_mean: (k,) of the targets over the training part.
        full: errors of always saying the mean of the whole dataset.
        train: errors of always saying the mean of the training part.
    """

    variance: Floats
    train_mean: Floats
    full: SplitErrors
    train: SplitErrors


def constant_baselines(split: Split, listed: Classes | None = None) -> Baselines:
    """R² of predicting the mean of everything, and of predicting the mean of the training part; see `part_points`.

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


def _class_shares(part: NDArray[np.bool_]) -> list[Floats]:
    """How often each class of each factor occurs in a part of the grid."""
    axes = range(part.ndim)
    return [part.sum(axis=tuple(j for j in axes if j != i)) / part.sum() for i in axes]
