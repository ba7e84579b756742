import numpy as np
import pytest

from unknot.factors import space
from unknot.metrics.r2 import full_variance, one_ood, r2_per_factor, ratio_to_mean
from unknot.tasks.generalisation.split_errors import SplitErrors, constant_baselines, constant_r2, part_points
from unknot.worlds import WORLDS
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import Split, split

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


# the spec's table: (full-data mean, training mean), mean over factors
BASELINES = {
    "dsprites": {
        "composition": (0.093, -0.134),
        "interpolation": (0.016, 0.016),
        "extrapolation": (-0.093, -0.388),
    },
    "shapes3d": {
        "composition": (0.100, -0.053),
        "interpolation": (0.029, 0.029),
        "extrapolation": (-0.090, -0.302),
    },
    "mpi3d_real": {
        "composition": (0.060, -0.171),
        "interpolation": (0.074, 0.073),
        "extrapolation": (-0.064, -0.302),
    },
    "celeb_glow": {
        "composition": (0.171, -0.126),
        "interpolation": (0.036, 0.036),
        "extrapolation": (-0.072, -0.546),
    },
}


@pytest.mark.parametrize("world", BASELINES)
def test_constants_score_what_the_closed_form_says_of_the_published_splits(world: str) -> None:
    grid = WORLDS[world].factors
    for kind, (full, train) in BASELINES[world].items():
        baselines = constant_baselines(split(grid, kind, rule=WORLDS[world].conventions.rule))  # type: ignore[arg-type]
        assert baselines.full.r2.mean() == pytest.approx(full, abs=6e-4), kind
        assert baselines.train.r2.mean() == pytest.approx(train, abs=6e-4), kind


def test_a_constant_by_hand() -> None:
    # x has values 0, 1/3, 2/3, 1, of which 1 is held out; y is seen whole. Training mean of x: 1/3.
    parts = Split("extrapolation", space({"x": 4, "y": 2}), {"x": (3,)})
    baselines = constant_baselines(parts)
    assert baselines.train_mean == pytest.approx([1 / 3, 1 / 2])
    assert baselines.variance == pytest.approx([5 / 36, 1 / 4])  # (4 + 1) / (12 * 3), (2 + 1) / 12
    assert baselines.train.r2 == pytest.approx([1 - (4 / 9) / (5 / 36), 0.0])
    assert baselines.full.r2 == pytest.approx([1 - (1 / 4) / (5 / 36), 0.0])
    assert baselines.train.one_ood.tolist() == [2, 0]


def test_an_incomplete_world_has_baselines_of_its_own_rows() -> None:
    rows = np.array([[0, 0], [1, 0], [1, 1], [3, 0], [3, 1]])
    parts = Split("extrapolation", space({"x": 4, "y": 2}), {"x": (3,)})
    baselines = constant_baselines(parts, rows)
    x = rows[:, 0] / 3
    assert baselines.variance[0] == pytest.approx(x.var())
    assert baselines.train_mean[0] == pytest.approx(x[:3].mean())
    assert baselines.train.r2[0] == pytest.approx(1 - (1 - x[:3].mean()) ** 2 / x.var())


@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
def test_shares_of_classes_give_the_same_number_as_all_points(kind: str) -> None:
    grid = space({"shape": 3, "still": 1, "scale": 5, "x": 8})
    parts = split(grid, kind, rule=Rule(ratio=0.2))
    assert constant_r2(parts) == pytest.approx(np.nanmean(constant_baselines(parts).train.r2))
