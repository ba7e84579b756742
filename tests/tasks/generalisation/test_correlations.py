import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from unknot.errors import UnknotError
from unknot.tasks.generalisation.correlations import dci_with_r2, with_r2
from unknot.tasks.result import TaskResult


def _result(r2: float) -> TaskResult:
    return TaskResult("generalisation", "m", "w", {"extrapolation_r2": r2, "extrapolation_r2_clipped": max(r2, 0)})


def test_dci_is_correlated_with_the_r2_of_the_same_runs() -> None:
    rng = np.random.default_rng(0)
    scores, r2 = rng.random(12), rng.random(12)
    table = pd.DataFrame({"id": [f"run{i}" for i in range(12)], "dci[gbt]": scores, "mig": rng.random(12)})
    joined = with_r2(table, {f"run{i}": _result(r2[i]) for i in range(11)})
    found = dci_with_r2(joined, bootstraps=0)
    assert found[["first", "second", "n"]].values.tolist() == [["dci[gbt]", "generalisation.extrapolation_r2", 11]]
    assert found["r"][0] == pytest.approx(spearmanr(scores[:11], r2[:11]).statistic)
    assert list(dci_with_r2(joined, metrics=("dci", "mig"), bootstraps=0)["first"]) == ["dci[gbt]", "mig"]


def test_missing_columns_and_strange_runs_are_named() -> None:
    with pytest.raises(UnknotError, match="no column of a metric dci"):
        dci_with_r2({"mig": [1, 2, 3], "random_r2": [1, 2, 3]})
    with pytest.raises(UnknotError, match="no column of a R²"):
        dci_with_r2({"dci": [1, 2, 3]})
    with pytest.raises(UnknotError, match="results of b, which are not runs"):
        with_r2(pd.DataFrame({"id": ["a"]}), {"b": _result(0.1)})
