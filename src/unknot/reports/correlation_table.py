"""Do the measures of a study agree about which runs are better?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.studies.measures import Measure

BOOTSTRAPS = 500
# Resampled rows over all pairs: some seconds; with more runs than that, intervals are narrow.
AFFORDED = 50_000_000


@dataclass(frozen=True)
class Correlations:
    """Spearman's correlation of every pair of measures over the runs that have both.

    Attributes:
        names: of the k measures that vary.
        rho: (k, k) correlations, plus where two agree about what is better; NaN where there is none.
        p: (k, k) two-sided p-values, each for its pair alone.
        n: (k, k) runs that have both.
        table: one row a pair, from `unknot.statistics.correlations.correlations`, the strongest first.
    """

    names: list[str]
    rho: NDArray[np.float64]
    p: NDArray[np.float64]
    n: NDArray[np.int64]
    table: Any


def correlate(measures: Sequence[Measure], runs: Any) -> Correlations:
    """Correlate measures over some runs; those that do not vary are left out."""
    import pandas as pd

    from unknot.statistics.correlations import correlations

    signs = {m.column: -1 if m.higher_is_better is False else 1 for m in measures}
    columns = {m.column: m.values.reindex(runs).to_numpy() * signs[m.column] for m in measures}
    columns = {name: values for name, values in columns.items() if len(np.unique(values[np.isfinite(values)])) > 1}
    names = list(columns)
    shape = (len(names), len(names))
    rho, p, n = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    if len(names) < 2:
        return Correlations(names, rho, p, n, pd.DataFrame())
    resampled = BOOTSTRAPS * len(runs) * len(names) * (len(names) - 1) // 2
    bootstraps = BOOTSTRAPS if resampled <= AFFORDED else 0
    table: Any = correlations(pd.DataFrame(columns), method="spearman", correction="holm", bootstraps=bootstraps)
    for row in table.itertuples():
        i, j = names.index(row.first), names.index(row.second)
        for a, b in ((i, j), (j, i)):
            rho[a, b], p[a, b], n[a, b] = row.r, row.p, row.n
    strongest = table.dropna(subset=["r"]).sort_values("r", key=abs, ascending=False, kind="stable")
    return Correlations(names, rho, p, n, strongest)
