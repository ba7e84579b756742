import numpy as np
import pandas as pd
import pytest

from unknot.errors import UnknotError
from unknot.metrics.correlations import rank_correlations
from unknot.metrics.ranks import average_ranks, correlation


def test_a_case_worked_by_hand():
    # Ranks 1 2 3 4 against 2 1 4 3: one minus six times four over 4 * 15.
    found = rank_correlations({"a": [1, 2, 3, 4], "b": [20, 10, 40, 30]})
    assert found["a", "b"] == pytest.approx(1 - 6 * 4 / 60)
    assert found["b", "b"] == 1


def test_correlations_agree_with_pandas_with_ties_and_missing_scores():
    rng = np.random.default_rng(0)
    table = np.round(rng.normal(size=(40, 5)), 1)
    table[rng.uniform(size=table.shape) < 0.2] = np.nan
    frame = pd.DataFrame(table, columns=list("abcde"))
    found = rank_correlations(frame)
    assert found.names == tuple("abcde")
    # pandas ranks once per column and drops rows afterwards only for its own method, so compare pair by pair.
    for i, a in enumerate("abcde"):
        for j, b in enumerate("abcde"):
            pair = frame[[a, b]].dropna() if a != b else frame[[a]].dropna().assign(copy=lambda x: x.iloc[:, 0])
            assert found.matrix[i, j] == pytest.approx(pair.rank().corr().iloc[0, 1])
            assert found.counts[i, j] == len(pair)


def test_a_missing_score_leaves_other_pairs_alone():
    whole = {"a": [1.0, 2, 3, 4, 5], "b": [2.0, 1, 4, 3, 5]}
    found = rank_correlations({**whole, "c": [1.0, np.nan, 2, 3, np.nan]})
    assert found["a", "b"] == rank_correlations(whole)["a", "b"]
    assert found.counts.tolist() == [[5, 5, 3], [5, 5, 3], [3, 3, 3]]


def test_pairs_without_a_value_say_why():
    found = rank_correlations({"a": [1.0, 2, 3], "flat": [5.0, 5, 5], "rare": [np.nan, 1, 2]})
    assert np.isnan(found["a", "flat"])
    assert "same for all models" in found.undefined["a", "flat"]
    assert "2 model(s)" in found.undefined["a", "rare"]
    assert ("a", "a") not in found.undefined


def test_ranks_agree_with_scipy():
    from scipy.stats import rankdata

    columns = np.random.default_rng(1).integers(0, 6, size=(50, 4)).astype(float)
    assert np.array_equal(average_ranks(columns), rankdata(columns, axis=0))


def test_correlation_survives_tiny_huge_and_constant_columns():
    x = np.arange(5.0)
    columns = np.stack([x, x * 1e200, x * 1e-9, np.full(5, 7.0)], axis=1)
    assert correlation(columns, -columns)[0] == pytest.approx([-1, -1, -1, 0])


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(UnknotError, match="shapes"):
        rank_correlations({"a": [1, 2, 3], "b": [1, 2]})
    with pytest.raises(UnknotError, match="expected \\(models, columns\\)"):
        rank_correlations(np.zeros(4))
    with pytest.raises(UnknotError, match="1 names for 2 columns"):
        rank_correlations(np.zeros((4, 2)), ["a"])
    with pytest.raises(UnknotError, match="min_models"):
        rank_correlations(np.zeros((4, 2)), min_models=1)
