"""Parts of rows tell how far a value of all of them scatters: linear, of second order, or with noise of its own."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t

from unknot.metrics.arrays import Floats
from unknot.statistics.scatter import of_half, scatter

N = 60


def _draws(rows: Floats, value: Callable[[Floats], float], splits: int, rng: np.random.Generator) -> Floats:
    parts = []
    for _ in range(splits):
        order = rng.permutation(len(rows))
        parts += [value(rows[order[: len(rows) // 3]]), value(rows[order[len(rows) // 3 :]])]
    return np.array(parts)


@pytest.mark.parametrize("kind", ["linear", "second order", "noise", "all three"])
def test_the_variance_is_that_of_other_rows(kind: str) -> None:
    rng = np.random.default_rng(0)

    def value(rows: Floats) -> float:
        mean = rows.mean(axis=0)
        parts = {"linear": mean[0], "second order": 2 * (mean[1:] ** 2).sum(), "noise": 0.15 * rng.normal()}
        return float(sum(parts.values()) if kind == "all three" else parts[kind])

    tables = [rng.normal(size=(N, 9)) for _ in range(2_000)]
    truth = np.var([value(rows) for rows in tables])
    estimates = [scatter(_draws(rows, value, 60, rng))[0] for rows in tables[:200]]
    # of two estimates the one that fits is taken, which lifts what is of second order alone
    least, most = (0.85, 1.6) if kind == "second order" else (0.85, 1.2)
    assert least < np.mean(estimates) / truth < most


@pytest.mark.parametrize("mean", [0.0, 0.5, 1.0])
def test_the_variance_of_a_square_near_zero_does_not_grow_with_it(mean: float) -> None:
    # in units of a standard error: a third has the mean moved by a step, the others by half a step back
    step = np.random.default_rng(0).normal(size=20_000) * 2**0.5
    draws = np.stack([(mean + step) ** 2, (mean - step / 2) ** 2], axis=1).ravel()
    assert scatter(draws)[0] == pytest.approx(2, rel=0.15)  # the variance of the square of a normal number


def test_the_variance_of_a_square_far_from_zero_is_of_first_order() -> None:
    step = np.random.default_rng(0).normal(size=20_000) * 2**0.5
    draws = np.stack([(10 + step) ** 2, (10 - step / 2) ** 2], axis=1).ravel()
    assert scatter(draws)[0] == pytest.approx(400, rel=0.05)


def test_the_variance_of_the_largest_row_is_that_of_other_rows() -> None:
    rng = np.random.default_rng(0)
    tables = rng.exponential(size=(300, N))
    truth = np.pi**2 / 6  # of the largest of many
    of = {
        kind: np.mean([scatter(_draws(rows, np.max, 30, np.random.default_rng(0)), N, kind)[0] for rows in tables])
        for kind in ("rows", "extremes")
    }
    assert 0.85 < of["extremes"] / truth < 1.2 and of["rows"] / truth < 0.75


def test_noise_of_held_out_rows_falls_as_they_grow() -> None:
    rng = np.random.default_rng(0)
    rows = np.zeros(N)

    def value(part: Floats) -> float:  # answers that no other set of rows would get
        return float(rng.normal(size=len(part)).mean())

    of = {
        kind: np.mean([scatter(_draws(rows, value, 60, rng), N, kind)[0] for _ in range(100)])
        for kind in ("rows", "held out")
    }
    assert 0.85 < of["held out"] * N < 1.25 < of["rows"] * N


def test_degrees_of_freedom_are_those_of_the_splits_of_a_linear_value_and_fewer_else() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 9))
    linear = scatter(_draws(rows, lambda part: part[:, 0].mean(), 40, rng))
    bent = scatter(_draws(rows, lambda part: float(part[:, 0].mean() + 0.1 * rng.normal()), 40, rng))
    assert linear[1] > 30 and bent[1] < linear[1]
    assert scatter(np.array([1.0, 2.0, np.nan, 3.0])) == (0.0, 0.0)
    assert scatter(np.ones(8)) == (0.0, 3.0)


def test_the_value_of_half_of_the_rows_has_their_bias_and_no_luck_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    draws = _draws(rng.normal(size=N), lambda rows: float(rows.mean() + 1 / len(rows)), 5, rng)
    rows = np.random.default_rng(0).normal(size=N)
    assert of_half(draws) == pytest.approx(rows.mean() + 2 / N)
    assert np.isnan(of_half(np.array([np.nan, 1.0])))


@pytest.mark.parametrize("units", [4, 8])
def test_few_units_miss_as_often_as_the_level_says(units: int) -> None:
    rng = np.random.default_rng(0)
    missed = 0
    for values in rng.normal(size=(400, units)):
        draws = []
        for _ in range(20):
            order, size = rng.permutation(units), int(units / 3 + rng.random())
            draws += [values[order[:size]].mean(), values[order[size:]].mean()]
        variance, freedom = scatter(np.array(draws), units)
        assert freedom <= units - 1
        missed += abs(values.mean()) > t.ppf(0.975, freedom) * variance**0.5
    assert missed / 400 < 0.075


def test_fewer_than_four_units_or_half_of_the_splits_tell_nothing() -> None:
    draws = np.random.default_rng(0).normal(size=40)
    assert scatter(draws, 4)[1] > 0 and scatter(draws, 3) == (0.0, 0.0)
    draws[:20:2] = np.nan
    assert scatter(draws)[1] > 0
    draws[20] = np.nan
    assert scatter(draws) == (0.0, 0.0)
