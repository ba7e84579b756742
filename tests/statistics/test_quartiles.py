"""Bins of models over training steps, by hand and against a slow version."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.statistics.quartiles import half_differences, quartile_curves
from unknot.statistics.resamples import Bootstrap, resamples

NAN = float("nan")


def test_quartiles_and_halves_worked_by_hand() -> None:
    score = [8, 1, 7, 2, 6, 3, 5, 4]
    first = np.array(score) / 10
    accuracies = np.stack([first, 1 - first], axis=1)
    curves = quartile_curves({"mig": score}, accuracies, [1000, 5000], bootstraps=0)
    np.testing.assert_allclose(curves.query("step == 1000")["mean"], [0.15, 0.35, 0.55, 0.75])
    np.testing.assert_allclose(curves.query("step == 5000")["mean"], [0.85, 0.65, 0.45, 0.25])
    assert curves["bin"].tolist() == [1, 2, 3, 4] * 2
    halves = half_differences({"mig": score}, accuracies, [1000, 5000], bootstraps=0)
    np.testing.assert_allclose(halves["difference"], [0.4, -0.4])


def test_tied_models_share_their_places_and_odd_ones_are_cut() -> None:
    # Places: a 0-1, then b and c tied over 1-3. Bottom half 0-1.5: a whole, a quarter each of b and c.
    found = quartile_curves({"s": [0, 5, 5]}, [[0.0], [1.0], [3.0]], [1], bins=2, bootstraps=0)
    np.testing.assert_allclose(found["mean"], [(0.25 * 1 + 0.25 * 3) / 1.5, (0.75 * 1 + 0.75 * 3) / 1.5])


def test_bins_do_not_depend_on_the_order_of_models_and_average_to_the_mean() -> None:
    rng = np.random.default_rng(0)
    score, accuracies = rng.integers(0, 6, 30).astype(float), rng.uniform(size=(30, 3))
    order = rng.permutation(30)
    one = quartile_curves({"s": score}, accuracies, [1, 2, 3], bootstraps=0)
    two = quartile_curves({"s": score[order]}, accuracies[order], [1, 2, 3], bootstraps=0)
    np.testing.assert_allclose(one["mean"], two["mean"])
    np.testing.assert_allclose(one.groupby("step")["mean"].mean(), accuracies.mean(axis=0))


def test_resampled_halves_are_the_halves_of_the_drawn_models() -> None:
    rng = np.random.default_rng(1)
    score = rng.normal(size=10)
    accuracies = (score + 0.5 * rng.normal(size=10))[:, None]
    found = half_differences({"s": score}, accuracies, [1], bootstraps=Bootstrap(400, 0.8)).iloc[0]
    slow = []
    for counts in np.concatenate(list(resamples(10, Bootstrap(400)))):
        rows = np.repeat(np.arange(10), counts.astype(int))
        rows = rows[np.argsort(score[rows], kind="stable")]
        # Ties are repeats of one model here, with one accuracy, so that any order will do.
        slow.append(accuracies[rows[5:]].mean() - accuracies[rows[:5]].mean())
    assert (found["low"], found["high"]) == pytest.approx(tuple(np.quantile(slow, [0.1, 0.9])))
    assert found["low"] < found["difference"] < found["high"]


def test_models_without_score_or_accuracy_are_left_out_and_counted() -> None:
    scores = {"s": [NAN, 1, 2, 3, 4, 5], "flat": [1.0] * 6, "rare": [NAN] * 5 + [1.0]}
    accuracies = np.array([[9.0], [0.1], [0.2], [0.3], [0.4], [NAN]])
    found = half_differences(scores, accuracies, [1], bootstraps=20).set_index("metric")
    assert found.loc["s", "difference"] == pytest.approx(0.2) and found.loc["s", "n"] == 4
    assert found.loc["s", "note"] == "2 of 6 models lack the score or an accuracy"
    assert np.isnan(found.loc["flat", "difference"]) and "same for all" in found.loc["flat", "note"]
    assert np.isnan(found.loc["rare", "difference"]) and "0 model(s) are left" in found.loc["rare", "note"]


def test_mistakes_are_named() -> None:
    table = {"s": np.arange(40)}
    with pytest.raises(UnknotError, match=r"shape \(3, 2\); expected \(40, 2\)"):
        quartile_curves(table, np.zeros((3, 2)), [1, 2])
    with pytest.raises(UnknotError, match="bins is 1"):
        quartile_curves(table, np.zeros((40, 1)), [1], bins=1)
