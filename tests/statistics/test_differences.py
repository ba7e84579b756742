"""Differences between candidates of few seeds: as many false alarms as the level says, and none of ties."""

import numpy as np

from unknot.statistics.differences import Measured, differences


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
