"""Differences between candidates of few seeds: as many false alarms as the level says, and none of ties."""

import numpy as np
import pytest

from unknot.statistics.differences import SEEN, Measured, differences


def _measured(values: np.ndarray) -> Measured:
    return Measured(values, np.empty((len(values), 0)))


def test_one_seed_against_several_is_called_different_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(0)
    measured = {
        str(i): {"one": _measured(rng.normal(size=1)), "two": _measured(rng.normal(size=2))} for i in range(400)
    }
    found = differences(measured, ["one", "two"], dict.fromkeys(measured, True))
    assert 0.02 < np.mean([each.p < 0.05 for each in found]) < 0.085  # 0.136 if one spread is taken for two


def test_seeds_are_paired_by_what_they_are_not_by_their_place() -> None:
    rng = np.random.default_rng(0)
    values, none = rng.normal(size=4), np.empty((4, 0))
    old = Measured(values, none, (0, 1, 2, 3))
    same, other = (
        Measured(values + 0.01 * rng.normal(size=4) + 0.5, none, seeds) for seeds in ((0, 1, 2, 3), (1, 2, 3, 4))
    )
    paired, apart = differences(
        {"paired": {"old": old, "new": same}, "apart": {"old": old, "new": other}},
        ["old", "new"],
        {"paired": True, "apart": True},
    )
    assert paired.verdict == "better" and paired.high - paired.low < 0.2 * (apart.high - apart.low)


def test_seeds_that_tie_tell_nothing_of_how_they_scatter() -> None:
    pair = {"old": _measured(np.array([0.1, 0.2])), "new": _measured(np.array([0.4, 0.5]))}
    tied, same = differences(
        {"tied": pair, "same": {"old": pair["old"], "new": pair["old"]}},
        ["old", "new"],
        {"tied": True, "same": True},
    )
    assert np.isnan([tied.p, tied.low, tied.smallest]).all() and tied.verdict == "undecided"
    assert same.p == 1 and same.difference == 0


def test_seeds_do_not_stand_in_for_rows_that_tell_nothing() -> None:
    rng = np.random.default_rng(0)
    values, draws = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 200))
    draws[..., 4:] = np.nan  # two of a hundred splits
    few = {name: Measured(*own) for name, own in zip("ab", zip(values, draws, strict=True), strict=True)}
    (difference,) = differences({"x": few}, "ab", {"x": True})
    assert (
        np.isnan([difference.p, difference.low, difference.smallest]).all() and difference.verdict == "undecided"
    )


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_sums_of_squares_near_zero_are_told_apart_as_often_as_the_level_says(off: float) -> None:
    rng = np.random.default_rng(0)

    def measured() -> Measured:
        means = off + rng.normal(size=6)  # in standard errors; thirds and others are a step apart, to both sides
        step = rng.normal(size=(30, 6)) * 2**0.5
        draws = np.stack([((means + times * step) ** 2).sum(axis=1) for times in (1, -1 / 2)], axis=1)
        return Measured(np.array([(means**2).sum()]), draws.reshape(1, -1), scatters="squares")

    pairs = {f"measure {i}": {"a": measured(), "b": measured()} for i in range(400)}
    alarms = [each.p < 0.05 for each in differences(pairs, ["a", "b"], dict.fromkeys(pairs, False))]
    assert 0.03 < np.mean(alarms) < 0.08


def test_a_difference_of_squares_has_the_error_of_their_roots_times_their_sum() -> None:
    step = (
        np.array([1.0, -1.0, 1.0, -1.0]) / 10
    )  # of means of 3 and 2, in thirds; half as much in the others, back
    first, second = (
        Measured(
            np.array([mean**2]),
            np.stack([(mean + sign * step) ** 2, (mean - sign * step / 2) ** 2], axis=1).reshape(1, -1),
            scatters="squares",
        )
        for mean, sign in ((3.0, 1), (2.0, -1))
    )
    (found,) = differences({"tc": {"a": first, "b": second}}, ["a", "b"], {"tc": False})
    # roots are 0.2 apart in thirds, to both sides: V1 = 0.04 x 4/3, of all rows half of that
    assert found.smallest == pytest.approx(SEEN * (3 + 2) * (0.04 * 4 / 3 / 2) ** 0.5, rel=1e-3)
