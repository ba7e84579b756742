"""Tests of dependent correlations, by hand and by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unknot.errors import UnknotError
from unknot.statistics.dependent import TESTS, compare_correlations, meng_z, steiger_z, williams_t
from unknot.statistics.resamples import Bootstrap

NAN = float("nan")


def _scores(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """A task and three metrics that know it better and better, with ties and holes."""
    rng = np.random.default_rng(seed)
    task = rng.normal(size=n)
    table = {f"m{i}": task + noise * rng.normal(size=n) for i, noise in enumerate((3.0, 1.0, 0.3))}
    return pd.DataFrame({"task": task, **table}).round(1)


def test_williams_t_worked_by_hand() -> None:
    # r12 = 0, r2 = 0, n = 5: |R| = 1 - .36 = .64, m = .3; below = 2 * .64 * 4 / 2 + .09 = 2.65; t = .6 sqrt(4 / 2.65).
    found = williams_t(0.6, 0.0, 0.0, 5)
    assert found.statistic == pytest.approx(0.6 * np.sqrt(4 / 2.65))
    assert found.df == 2
    assert found.p == pytest.approx(2 * stats.t.sf(found.statistic, 2))


def test_steiger_z_worked_by_hand() -> None:
    # m^2 = .09; psi = -.045 * .82 = -.0369; s = -.0369 / .91^2; z = atanh(.6) * 5 / sqrt(2 - 2 s), atanh(.6) = ln 2.
    found = steiger_z(0.6, 0.0, 0.0, 28)
    assert found.statistic == pytest.approx(np.log(2) * 5 / np.sqrt(2 + 2 * 0.0369 / 0.8281))
    assert found.p == pytest.approx(2 * stats.norm.sf(found.statistic))


def test_meng_z_worked_by_hand() -> None:
    # q = .18, f = 1 / 1.64, h = (1 - .18 / 1.64) / .82; z = ln 2 sqrt(25 / (2 h)).
    h = (1 - 0.18 / 1.64) / 0.82
    assert meng_z(0.6, 0.0, 0.0, 28).statistic == pytest.approx(np.log(2) * np.sqrt(25 / (2 * h)))
    # With r12 = -.5 and q = .5 f is 1.5, cut to 1, so h = 1; n - 3 = 3 makes z the difference of transforms.
    r = np.sqrt(0.5)
    assert meng_z(r, -r, -0.5, 6).statistic == pytest.approx(2 * np.arctanh(r))


def test_the_correlations_of_steigers_example_worked_by_hand() -> None:
    # 103 persons; .5 and .4 with verbal ability, .1 with each other: |R| = .62, m^2 = .2025,
    # below = 1.24 * 1.02 + .2025 * .729 = 1.4124225; psi = .1 * .595 - .2025 * .585 / 2, s = psi / .7975^2.
    assert williams_t(0.5, 0.4, 0.1, 103).statistic == pytest.approx(0.1 * np.sqrt(102 * 1.1 / 1.4124225))
    s = (0.0595 - 0.10125 * 0.585) / 0.7975**2
    expected = (np.log(3) / 2 - np.log(7 / 3) / 2) * 10 / np.sqrt(2 - 2 * s)
    assert steiger_z(0.5, 0.4, 0.1, 103).statistic == pytest.approx(expected)


@pytest.mark.parametrize("test", list(TESTS.values()))
def test_swapping_the_metrics_turns_the_sign_and_equal_ones_give_none(test) -> None:
    one, two = test(0.7, 0.2, 0.3, 20), test(0.2, 0.7, 0.3, 20)
    assert one.statistic == pytest.approx(-two.statistic) and one.p == pytest.approx(two.p)
    assert test(0.4, 0.4, 0.3, 20).p == pytest.approx(1)


@pytest.mark.parametrize("test", list(TESTS))
def test_tests_reject_as_often_as_they_say_when_metrics_are_equally_good(test: str) -> None:
    rng, p = np.random.default_rng(0), []
    for _ in range(1000):
        task = rng.normal(size=25)
        a, b = task + rng.normal(size=(2, 25))
        r = np.corrcoef([task, a, b])
        p.append(TESTS[test](r[0, 1], r[0, 2], r[1, 2], 25).p)
    assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07


def test_the_better_metric_is_found_on_the_models_that_have_all_three() -> None:
    table = _scores(60)
    table.loc[:4, "m0"] = NAN
    found = compare_correlations(table, "task", method="pearson", correction="holm").set_index(["first", "second"])
    row = found.loc[("m0", "m2")]
    some = table[["task", "m0", "m2"]].dropna().corr()
    assert row["n"] == 55 and found.loc[("m1", "m2"), "n"] == 60
    assert (row["r1"], row["r2"], row["r12"]) == pytest.approx(
        (some.loc["task", "m0"], some.loc["task", "m2"], some.loc["m0", "m2"])
    )
    expected = williams_t(row["r1"], row["r2"], row["r12"], 55)
    assert (row["statistic"], row["p"]) == pytest.approx((expected.statistic, expected.p))
    assert row["p_adjusted"] > row["p"] and row["high"] < 0 and row["low"] < row["difference"] < row["high"]


def test_a_loss_competes_with_a_score_once_its_sign_is_turned() -> None:
    table = _scores()
    loss = table.assign(m2=-table["m2"])
    pd.testing.assert_frame_equal(
        compare_correlations(loss, "task", flip=["m2"], bootstraps=Bootstrap(rng=1)),
        compare_correlations(table, "task", bootstraps=Bootstrap(rng=1)),
    )


def test_what_cannot_be_compared_is_nan_with_the_reason() -> None:
    table = _scores(10).assign(copy=lambda t: t["m1"], flat=1.0, same=lambda t: t["task"], few=NAN)
    table.loc[:2, "few"] = [1.0, 3.0, 2.0]
    found = compare_correlations(table, "task", test="steiger", bootstraps=50).set_index(["first", "second"])
    assert "copies" in found.loc[("m1", "copy"), "note"]
    assert found.loc[("m1", "copy"), "difference"] == pytest.approx(0)
    assert found.loc[("m1", "flat"), "note"] == "flat is the same for all models"
    assert "perfect" in found.loc[("m1", "same"), "note"]
    assert "3 model(s)" in found.loc[("m1", "few"), "note"]
    assert found.loc[[("m1", "copy"), ("m1", "flat"), ("m1", "same"), ("m1", "few")], "p"].isna().all()


def test_impossible_correlations_are_refused() -> None:
    with pytest.raises(UnknotError, match="no three variables"):
        williams_t(0.9, -0.9, 0.9, 20)
    with pytest.raises(UnknotError, match="from -1 to 1"):
        steiger_z(1.2, 0.3, 0.1, 20)
    with pytest.raises(UnknotError, match="n is 3"):
        meng_z(0.2, 0.3, 0.1, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: compare_correlations(t, "task", ["m1"]), "takes two"),
        (lambda t: compare_correlations(t, "task", test="wiliams"), "did you mean 'williams'"),
    ],
)
def test_mistakes_are_named(call, words: str) -> None:
    with pytest.raises(UnknotError, match=words):
        call(_scores())
