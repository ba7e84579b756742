"""Known codes of the factors at hand: what dependence takes from perfect ones, and what mixtures get."""

import numpy as np

from unknot.examples.misleading import misleading
from unknot.metrics import METRICS
from unknot.scoring.yardsticks import yardstick


def test_independent_factors_take_nothing_and_dependent_ones_half_of_mig() -> None:
    rng = np.random.default_rng(0)
    free = yardstick(METRICS["mig"], {}, rng.integers(0, 6, size=(1500, 3)))
    bound = yardstick(METRICS["mig"], {}, misleading("independent factors")[1])
    assert free is not None and bound is not None
    assert abs(free.kept - 1) < 0.02 and bound.kept < 0.6


def test_mixtures_get_much_of_mcc_and_little_of_mig() -> None:
    factors = np.random.default_rng(0).integers(0, 6, size=(1500, 3))
    of_mcc, of_mig = (yardstick(METRICS[name], {}, factors) for name in ("mcc", "mig"))
    assert of_mcc is not None and of_mig is not None
    assert of_mcc.given_away > 0.6 and of_mig.given_away < 0.3


def test_what_a_metric_refuses_is_neither_above_nor_below_a_threshold() -> None:
    refused = yardstick(METRICS["mig"], {"bins": 0}, np.arange(20)[:, None] % 3)
    assert np.isnan([refused.perfect, refused.apart, refused.mixed, refused.noise]).all()
    assert not refused.kept < 1 and not refused.given_away > 0


def test_a_factor_that_is_constant_in_the_rows_drawn_is_left_out() -> None:
    factors = np.random.default_rng(0).integers(0, 6, size=(1500, 3))
    constant = np.hstack([factors, np.zeros((1500, 1), dtype=np.int64)])
    assert yardstick(METRICS["sap"], {}, constant) == yardstick(METRICS["sap"], {}, factors)
