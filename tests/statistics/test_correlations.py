"""Correlations against scipy, against slow versions, and by hand."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unknot.errors import UnknotError
from unknot.metrics.correlations import rank_correlations
from unknot.statistics.correlations import correlation, correlations, holm, matrix
from unknot.statistics.resamples import Bootstrap, ranks, resamples, weighted_correlation

NAN = float("nan")
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}


def _scores(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """A task and three metrics that know it better and better, with ties and holes."""
    rng = np.random.default_rng(seed)
    task = rng.normal(size=n)
    table = {f"m{i}": task + noise * rng.normal(size=n) for i, noise in enumerate((3.0, 1.0, 0.3))}
    return pd.DataFrame({"task": task, **table}).round(1)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("n", [9, 17, 60])
def test_r_and_p_are_those_of_scipy_with_ties_and_missing_scores(method: str, n: int) -> None:
    rng = np.random.default_rng(n)
    table = _scores(n + 6, n)
    table.iloc[rng.choice(n + 6, 3, replace=False), 1] = NAN
    table.iloc[rng.choice(n + 6, 3, replace=False), 2] = NAN
    for row in correlations(table, method=method, bootstraps=0).itertuples():
        pair = table[[row.first, row.second]].dropna()
        expected = SCIPY[method](pair.iloc[:, 0], pair.iloc[:, 1])
        assert row.n == len(pair)
        assert row.r == pytest.approx(expected.statistic, abs=1e-12)
        assert row.p == pytest.approx(expected.pvalue, rel=1e-8)
        assert row.p_from == "t"


def test_spearman_is_that_of_rank_correlations() -> None:
    table = _scores()
    table.iloc[3:7, 2] = NAN
    square = matrix(correlations(table, bootstraps=0))
    np.testing.assert_allclose(square.to_numpy(), rank_correlations(table).matrix, atol=1e-12)


def test_a_pearson_correlation_worked_by_hand() -> None:
    # x - mean = -1.5 -.5 .5 1.5; y - mean = -1 -1 1 1: 4 / sqrt(5 * 4); t^2 = 2 * .8 / .2 = 8.
    found = correlation([1, 2, 3, 4], [0, 0, 2, 2], method="pearson", bootstraps=0)
    assert found.r == pytest.approx(4 / np.sqrt(20))
    assert found.p == pytest.approx(2 * stats.t.sf(np.sqrt(8), 2))


def test_four_models_in_the_same_order_are_no_proof() -> None:
    # Two of the 24 orders are as extreme; Student's t would say p = 0.
    assert correlation([1, 2, 3, 4], [1, 3, 4, 9], bootstraps=0).p == pytest.approx(2 / 24)


def test_perfect_order_of_many_models_counts_orders_instead_of_dividing_by_zero() -> None:
    found = correlation(np.arange(10), -np.arange(10), bootstraps=0)
    assert found.p == pytest.approx(2 / 3628800) and found.p_from == "exact"
    # A tie of two and one of three: 2! 3! orders cannot be told apart.
    tied = [1, 1, 2, 2, 2, 3, 4, 5, 6, 7]
    assert correlation(tied, tied, bootstraps=0).p == pytest.approx(2 * 12 / 3628800)


@pytest.mark.parametrize("second", [[2, 7, 1, 8, 3], [2, 2, 1, 8, 8], [1, 1, 1, 1, 5]])
def test_exact_p_counts_every_pairing(second: list[float]) -> None:
    first = [3.0, 1.0, 4.0, 1.0, 5.0]
    found = correlation(first, second, bootstraps=0)
    everything = [abs(stats.spearmanr(order, second).statistic) for order in permutations(first)]
    assert found.p == pytest.approx(np.mean(np.array(everything) >= abs(found.r) - 1e-9))
    assert found.p_from == "exact"


@pytest.mark.parametrize(
    ("first", "second", "method", "reason"),
    [
        ([1, 2], [2, 1], "spearman", "2 model"),
        ([1, 2, 3, NAN], [2, 1, NAN, 4], "pearson", "2 model"),
        ([], [], "pearson", "0 model"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "spearman", "first score is the same"),
        ([1, 2, 3, 4], [0.1 + 1e-16, 0.1, 0.1, 0.1], "pearson", "second score is the same"),
        ([1, 2, 3, np.inf], [1, 2, 3, 4], "pearson", "infinite"),
    ],
)
def test_what_has_no_correlation_is_nan_with_the_reason(first, second, method, reason) -> None:
    found = correlation(first, second, method=method)
    assert np.isnan([found.r, found.p, found.low, found.high]).all()
    assert reason in found.note


def test_ranks_put_an_infinite_score_last() -> None:
    assert correlation([1, 2, 3, np.inf], [1, 2, 3, 4], bootstraps=0).r == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_very_small_and_very_large_scores_are_as_good_as_others(scale: float) -> None:
    table = _scores()
    plain = correlation(table["task"], table["m1"], method="pearson")
    scaled = correlation(table["task"] * scale, table["m1"], method="pearson")
    assert (scaled.r, scaled.low, scaled.high) == pytest.approx((plain.r, plain.low, plain.high))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_counts_give_the_correlation_of_the_drawn_rows(method: str) -> None:
    table = _scores(12)
    x, y = table["task"].to_numpy(), table["m1"].to_numpy()
    counts = np.concatenate(list(resamples(12, Bootstrap(50))))
    assert counts.shape == (50, 12) and (counts.sum(axis=1) == 12).all()
    pair = (ranks(x, counts), ranks(y, counts)) if method == "spearman" else (x, y)
    drawn = [np.repeat(np.arange(12), c.astype(int)) for c in counts]
    expected = [SCIPY[method](x[rows], y[rows]).statistic for rows in drawn]
    np.testing.assert_allclose(weighted_correlation(*pair, counts), expected, atol=1e-10)


def test_intervals_are_near_those_of_scipy() -> None:
    table = _scores(50)
    x, y = table["task"].to_numpy(), table["m1"].to_numpy()
    found = correlation(x, y, method="pearson", bootstraps=5000)
    result = stats.bootstrap(
        (x, y), lambda a, b: stats.pearsonr(a, b).statistic, paired=True, vectorized=False,
        method="percentile", n_resamples=2000, rng=np.random.default_rng(1),
    )  # fmt: skip
    assert found.low == pytest.approx(result.confidence_interval.low, abs=0.02)
    assert found.high == pytest.approx(result.confidence_interval.high, abs=0.02)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng, hits = np.random.default_rng(0), 0
    for i in range(200):
        x = rng.normal(size=40)
        found = correlation(
            x, 0.6 * x + 0.8 * rng.normal(size=40), method="pearson", bootstraps=Bootstrap(300, 0.9, rng=i)
        )
        hits += found.low <= 0.6 <= found.high
    assert 165 <= hits <= 195  # 180 expected, less a little for percentile intervals


def test_a_seed_gives_the_same_interval_whatever_else_is_in_the_table() -> None:
    table = _scores()
    alone = correlations(table[["task", "m1"]], bootstraps=Bootstrap(rng=3)).iloc[0]
    among = correlations(table, bootstraps=Bootstrap(rng=3)).query("first == 'task' and second == 'm1'").iloc[0]
    assert (alone.low, alone.high) == (among.low, among.high)
    other = correlations(table[["task", "m1"]], bootstraps=Bootstrap(rng=4)).iloc[0]
    assert (alone.low, alone.high) != (other.low, other.high)
    drawn = [
        correlation(table["task"], table["m1"], bootstraps=Bootstrap(rng=np.random.default_rng(1))).low
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]


def test_a_score_that_varies_in_one_model_only_has_few_resamples_to_stand_on() -> None:
    found = correlation([0, 0, 1], [1, 2, 3], method="pearson", bootstraps=200)
    assert found.r == pytest.approx(np.sqrt(3) / 2)  # 1 / sqrt(2/3 * 2)
    assert not np.isnan(found.low)  # the third model is drawn, and not alone, in two thirds of the resamples


def test_columns_against_others_make_each_pair_once() -> None:
    found = correlations(_scores(), ["m0", "m1", "task"], ["task", "m1"], bootstraps=0)
    assert {frozenset(p) for p in zip(found["first"], found["second"], strict=True)} == {
        frozenset(p) for p in (("m0", "task"), ("m0", "m1"), ("m1", "task"))
    }
    assert len(found) == 3


def test_words_are_left_out_and_a_missing_score_leaves_other_pairs_alone() -> None:
    table = _scores().assign(model="beta_vae")
    table.loc[0, "m0"] = NAN
    found = correlations(table, bootstraps=0)
    assert len(found) == 6 and set(found["n"]) == {39, 40}


def test_holm_allows_for_all_tests_of_the_table() -> None:
    table = _scores().assign(flat=1.0)
    found = correlations(table, bootstraps=0, correction="holm")
    p = found["p"].dropna().to_numpy()
    order = np.argsort(p)
    slow = np.empty(len(p))
    for place, i in enumerate(order):
        slow[i] = min(1.0, max((len(p) - j) * p[order[j]] for j in range(place + 1)))
    np.testing.assert_allclose(found["p_adjusted"].dropna(), slow)
    assert found["p_adjusted"].isna().sum() == 4
    assert (correlations(table, bootstraps=0)["p_adjusted"].dropna() == p).all()


def test_holm_by_hand_with_a_missing_p() -> None:
    np.testing.assert_allclose(holm([0.02, NAN, 0.6, 0.5]), [0.06, NAN, 1.0, 1.0])
    assert holm([]).shape == (0,)


def test_the_matrix_is_symmetric_with_ones_on_the_diagonal() -> None:
    found = correlations(_scores(), bootstraps=0)
    square = matrix(found)
    assert (square.to_numpy() == square.to_numpy().T).all() and (np.diag(square) == 1).all()
    assert np.isnan(np.diag(matrix(found, "p"))).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: correlations(t, ["tusk"]), "did you mean 'task'"),
        (lambda t: correlations(t, ["task"]), "make no pair"),
        (lambda t: correlations(t, method="kendal"), "unknown correlation 'kendal'"),
        (lambda t: correlations(t, correction="bonferroni"), "Known: holm, none"),
        (lambda t: correlations(t, bootstraps=Bootstrap(level=95)), "level is 95"),
        (lambda t: correlations(t, bootstraps=-1), "bootstraps: -1 resamples"),
        (lambda t: correlations({"a": [1, 2], "b": [1]}), "shapes"),
        (lambda t: correlations({"a": ["x", "y"]}), "no column of the table holds numbers"),
        (lambda t: correlations({}), "the table has no columns"),
        (lambda t: correlations([[1, 2]]), "is a list"),
        (lambda t: correlation([1, 2, 3], [1, 2]), r"\(3,\) and \(2,\)"),
    ],
)
def test_mistakes_are_named(call, words: str) -> None:
    with pytest.raises(UnknotError, match=words):
        call(_scores())
