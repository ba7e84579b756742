"""Parts of rows tell how far a value of all of them scatters, whatever it is made of."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t

from unknot.metrics.arrays import Floats
from unknot.metrics.score import Scattering
from unknot.statistics.scatter import law, of_half, off_scale, on_scale, scatter, steepness, usable

N = 60


def _draws(rows: Floats, value: Callable[[Floats], float], splits: int, rng: np.random.Generator) -> Floats:
    parts = []
    for _ in range(splits):
        order = rng.permutation(len(rows))
        parts += [value(rows[order[: len(rows) // 3]]), value(rows[order[len(rows) // 3 :]])]
    return np.array(parts)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("a mean", (2, 1 / 2, 1)),  # of variance 1: of a third 3, less what thirds of these rows share, which is 1
        ("its square, around 0", (9 - 1, 9 / 4 - 1, 1)),
        ("a ratio of such squares", (1 - 1 / 9, 1 - 4 / 9, 2 / 9)),  # which has as large a variance in few rows
        ("the root of such squares", (3 * (1 - 1 / 9), 3 / 2 * (1 - 4 / 9), 4.5**0.5 * 2 / 9)),
    ],
)
def test_a_value_of_any_order_has_the_variance_worked_out_by_hand(
    value: str, parts: tuple[float, float, float]
) -> None:
    assert law(*parts) == pytest.approx(1, abs=0.002)
    assert law(*(4 * part for part in parts)) == pytest.approx(4 * law(*parts))


def test_no_value_is_taken_to_scatter_more_in_more_rows() -> None:
    of_third, of_others = 0.5, 5 / 9  # a ratio of squares whose thirds seem to vary less, by luck
    assert law(of_third, of_others, 2 / 9) == pytest.approx(1)


@pytest.mark.parametrize(
    "kind", ["linear", "second order", "ratio", "linear and second order", "linear and ratio"]
)
def test_the_variance_is_that_of_other_rows(kind: str) -> None:
    rng = np.random.default_rng(0)

    def value(rows: Floats) -> float:
        mean = rows.mean(axis=0)
        squares = mean[1:] ** 2
        parts = {
            "linear": mean[0],
            "second order": 3 * squares.sum(),
            "ratio": squares[0] / squares[:3].sum() / 3,
        }
        return float(sum(part for name, part in parts.items() if name in kind))

    tables = [rng.normal(size=(N, 9)) for _ in range(2_000)]
    truth = np.var([value(rows) for rows in tables])
    estimates = [scatter(_draws(rows, value, 60, rng))[0] for rows in tables[:200]]
    assert 0.8 < np.mean(estimates) / truth < 1.25


def test_the_variance_of_the_root_of_squares_does_not_grow_with_them() -> None:
    # in units of a standard error: a third has the means moved by a step, the others by half a step back
    step = np.random.default_rng(0).normal(size=(20_000, 6)) * 2**0.5
    found = []
    for mean in (1.0, 10.0):
        of_third, of_others = (((mean + times * step) ** 2).sum(axis=1) for times in (1, -1 / 2))
        found.append(
            scatter(on_scale(np.stack([of_third, of_others], axis=1).ravel(), "squares"), scatters="squares")[0]
        )
    assert 0.3 < found[0] < found[1] == pytest.approx(1, rel=0.05)  # that of the squares is 4 x 600


def test_the_variance_of_the_largest_row_is_that_of_other_rows() -> None:
    rng = np.random.default_rng(0)
    tables = rng.exponential(size=(300, N))
    truth = np.pi**2 / 6  # of the largest of many
    of = {
        kind: np.array(
            [scatter(_draws(rows, np.max, 30, np.random.default_rng(0)), N, kind)[0] for rows in tables]
        )
        for kind in ("rows", "extremes")
    }
    assert 0.85 < of["extremes"].mean() / truth < 1.2 and 0.8 < of["rows"].mean() / truth < 1.2
    assert np.median(of["rows"]) < np.median(of["extremes"])  # by the law it is more often too small


def test_an_interval_of_the_largest_row_holds_its_mean() -> None:
    # the largest of a few latents, as an IRS has them; splits alone would know some 29 degrees of freedom
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(300, 100, 3))

    def value(rows: Floats) -> float:
        return float(rows.max(axis=0).mean())

    values = np.array([value(rows) for rows in tables])
    held = {}
    for few in (True, False):
        found = [scatter(_draws(rows, value, 20, np.random.default_rng(0)), 100, "extremes") for rows in tables]
        halves = [t.ppf(0.975, freedom if few else 19) * variance**0.5 for variance, freedom in found]
        held[few] = np.mean(np.abs(values - values.mean()) <= halves)
    assert held[False] < 0.93 < held[True] < 0.98
    more = [scatter(_draws(rows, value, 60, rng), 100, "extremes", 2)[1] for rows in tables[:20]]
    assert max(more) == 12  # of a difference


def test_what_counts_of_nearly_empty_cells_vary_by_is_told_on_the_scale_of_logarithms() -> None:
    rng = np.random.default_rng(0)

    def value(rows: Floats) -> float:  # information of two latents in 20 x 20 bins, most of which are empty
        counts = np.histogram2d(*rows.T, bins=20)[0] / len(rows)
        shares = counts[counts > 0], counts.sum(axis=0), counts.sum(axis=1)
        entropies = [-float(np.sum(share * np.log(share + (share == 0)))) for share in shares]
        return entropies[1] + entropies[2] - entropies[0]

    tables = rng.normal(size=(1_500, 500, 2))
    values = np.array([value(rows) for rows in tables])
    draws = [_draws(rows, value, 30, rng) for rows in tables[:200]]
    found = {}
    for kind in ("rows", "shares"):
        variances = [scatter(on_scale(own, kind), 500, kind)[0] for own in draws]
        found[kind] = np.mean(variances) / np.var(on_scale(values, kind))
    assert found["rows"] > 1.2 > 1.1 > found["shares"] > 0.85


@pytest.mark.parametrize("kind", ["rows", "squares", "shares"])
def test_a_scale_and_back_is_where_one_was_and_differences_are_as_steep_as_the_scale(kind: Scattering) -> None:
    for values in np.array([[0.2, 0.21], [0.01, 0.5], [0.3, 0.3]]):
        there = on_scale(values, kind)
        assert off_scale(there, kind) == pytest.approx(values)
        assert steepness(*values, kind) * np.diff(there) == pytest.approx(np.diff(values), rel=1e-9)


def test_shares_some_of_which_are_zero_are_compared_as_they_are() -> None:
    assert usable("shares", np.array([0.1, 0.2]), 0.3) == "shares"
    assert usable("shares", np.array([0.1, 0.0]), 0.3) == "rows"
    assert usable("squares", np.array([0.1, 0.0]), 0.3) == "squares"


def test_noise_of_held_out_rows_falls_as_they_grow() -> None:
    rng = np.random.default_rng(0)
    rows = np.zeros(N)

    def value(part: Floats) -> float:  # answers that no other set of rows would get
        return float(rng.normal(size=len(part)).mean())

    found = np.mean([scatter(_draws(rows, value, 60, rng), N, "held out")[0] for _ in range(100)])
    assert 0.85 < found * N < 1.25


@pytest.mark.parametrize("scatters", ["rows", "held out", "extremes", "squares", "shares"])
def test_a_value_that_varies_in_thirds_alone_is_not_taken_for_exact(scatters: Scattering) -> None:
    draws = np.ones(60)
    draws[::4] = 0.9  # of half of the thirds, while all values of the others are 1
    variance, freedom = scatter(draws, N, scatters)
    assert variance == pytest.approx(0.0025 * 30 / 29 / 26) and freedom > 0


def test_noise_of_held_out_rows_beside_a_mean_is_no_value_of_second_order() -> None:
    rng = np.random.default_rng(0)

    def value(part: Floats) -> float:
        return float(part.mean() + rng.normal(size=len(part)).mean())

    tables = rng.normal(size=(100, N))
    of = {
        kind: np.mean([scatter(_draws(rows, value, 60, rng), N, kind)[0] for rows in tables])
        for kind in ("rows", "held out")
    }
    assert 0.85 < of["held out"] * N / 2 < 1.15 < of["rows"] * N / 2


def test_degrees_of_freedom_are_those_of_the_splits_of_a_linear_value_and_fewer_else() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 9))
    linear = scatter(_draws(rows, lambda part: part[:, 0].mean(), 40, rng))
    bent = scatter(_draws(rows, lambda part: float((part.mean(axis=0) ** 2).sum()), 40, rng))
    assert linear[1] > 30 and bent[1] < linear[1]
    assert scatter(np.array([1.0, 2.0, np.nan, 3.0])) == (0.0, 0.0)
    assert scatter(np.ones(8)) == (0.0, 3.0)
    assert scatter(np.array([1.0, 2.0, 3.0, 2.0]))[0] == pytest.approx(2 / 26)  # of the others, none varies


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
    assert missed / 400 < 0.085  # 0.066 of 1,200 draws of four


def test_fewer_than_four_units_or_half_of_the_splits_tell_nothing() -> None:
    draws = np.random.default_rng(0).normal(size=40)
    assert scatter(draws, 4)[1] > 0 and scatter(draws, 3) == (0.0, 0.0)
    draws[:20:2] = np.nan
    assert scatter(draws)[1] > 0
    draws[20] = np.nan
    assert scatter(draws) == (0.0, 0.0)
