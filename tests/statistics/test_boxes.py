"""Box statistics per setting."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.statistics.boxes import box_statistics

NAN = float("nan")


def test_boxes_are_those_of_matplotlib() -> None:
    from matplotlib.cbook import boxplot_stats

    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=20), [6.0, -7.0], rng.normal(size=5), [1.0, 2.0]])
    settings = ["a"] * 22 + ["b"] * 5 + ["c"] * 2
    found = box_statistics({"mig": values}, settings, bootstraps=0).set_index("setting")
    for name in "abc":
        expected = boxplot_stats(values[np.array(settings) == name])[0]
        row = found.loc[name]
        ours = row[["mean", "whisker_low", "q1", "median", "q3", "whisker_high"]].to_numpy(dtype=float)
        keys = ("mean", "whislo", "q1", "med", "q3", "whishi")
        np.testing.assert_allclose(ours, [expected[k] for k in keys])


def test_the_best_setting_comes_with_its_doubt() -> None:
    values = np.concatenate([np.arange(9.0), np.arange(9.0) + 1, np.arange(9.0) + 20])
    settings = ["beta 1"] * 9 + ["beta 2"] * 9 + ["beta 4"] * 9
    found = box_statistics({"mig": values, "loss": values}, settings, lower_is_better=["loss"])
    best = found.set_index(["column", "setting"])["best"]
    assert best["mig", "beta 4"] == 1 and best["loss", "beta 4"] == 0
    assert 0 < best["loss", "beta 2"] < best["loss", "beta 1"] < 1
    assert best["loss"].sum() == pytest.approx(1)
    inside = found.query("column == 'mig'")
    assert (inside["low"] <= inside["median"]).all() and (inside["median"] <= inside["high"]).all()


def test_a_setting_with_one_score_or_none_says_so() -> None:
    found = box_statistics({"mig": [0.5, NAN, 0.1, 0.2]}, ["one", "none", "two", "two"]).set_index("setting")
    assert found.loc["one", ["low", "median", "high"]].tolist() == [0.5] * 3
    assert "one model" in found.loc["one", "note"]
    assert found.loc["none", "n"] == 0 and np.isnan(found.loc["none", "median"]) and found.loc["none", "best"] == 0
    assert "no model" in found.loc["none", "note"] and found.loc["two", "note"] == ""
    nothing = box_statistics({"mig": [NAN, NAN]}, ["a", "b"])
    assert nothing["best"].isna().all()


def test_every_model_needs_a_setting() -> None:
    with pytest.raises(UnknotError, match="1 settings for 2 models"):
        box_statistics({"mig": [1, 2]}, ["a"])
