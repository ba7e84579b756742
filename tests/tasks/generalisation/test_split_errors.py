import numpy as np
import pytest

from unknot.factors import space
from unknot.metrics.r2 import full_variance, one_ood, r2_per_factor, ratio_to_mean
from unknot.tasks.generalisation.constant_baselines import constant_baselines
from unknot.tasks.generalisation.split_errors import SplitErrors
from unknot.tasks.generalisation.split_points import part_points
from unknot.worlds.splits.split import Split

GRID = space({"shape": 3, "scale": 5, "x": 6}, categorical=["shape"])


def test_sums_by_chunk_equal_the_formulas_on_whole_arrays() -> None:
    rng = np.random.default_rng(0)
    split = Split("extrapolation", GRID, {"scale": (4,), "x": (4, 5)})
    classes = GRID.classes(part_points(split, None, "test", "all", rng))
    targets, unseen = GRID.scaled(classes), split.ood(classes)
    predictions = targets + rng.normal(size=targets.shape) / 3
    centre = constant_baselines(split).train_mean
    errors = SplitErrors(full_variance(GRID), centre)
    for rows in np.array_split(rng.permutation(len(targets)), 7):
        errors.add(predictions[rows], targets[rows], unseen[rows])
    assert errors.r2 == pytest.approx(r2_per_factor(predictions, targets, full_variance(GRID)))
    one = one_ood(predictions, targets, unseen, full_variance(GRID))
    assert errors.ood == pytest.approx(one.ood, nan_ok=True)
    assert errors.in_distribution == pytest.approx(one.in_distribution, nan_ok=True)
    assert errors.one_ood.tolist() == one.counts.tolist()
    ratio = ratio_to_mean(predictions, targets, unseen, centre)
    assert errors.median_ratio() == pytest.approx(ratio.median, abs=1e-3, nan_ok=True)
    assert errors.share_short() == pytest.approx(ratio.share, nan_ok=True)
