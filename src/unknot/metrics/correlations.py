"""Which metrics order models alike: rank correlations between the columns of a table of models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import column_names
from unknot.metrics.ranks import average_ranks, correlation
from unknot.reading.arrays import as_array


@dataclass(frozen=True)
class RankCorrelations:
    """Spearman correlations between columns.

    Attributes:
        names: the columns.
        matrix: (c, c) rank correlations, NaN where `undefined` says why.
        counts: (c, c) how many models each entry rests on.
        undefined: (name, name) -> reason, for each pair without a value.
    """

    names: tuple[str, ...]
    matrix: Floats
    counts: Ints
    undefined: Mapping[tuple[str, str], str]

    def __getitem__(self, pair: tuple[str, str]) -> float:
        return float(self.matrix[self.names.index(pair[0]), self.names.index(pair[1])])


def rank_correlations(
    table: Mapping[str, Any] | Any, names: Sequence[str] | None = None, *, min_models: int = 3
) -> RankCorrelations:
    """Spearman rank correlation of every pair of columns over the models that have both.

    Ties get the mean of their ranks, and ranks are taken anew among the models of each pair, so that a missing
    score (NaN) in one column leaves the other pairs alone.

    Edge cases: a pair with fewer than `min_models` models, or whose column does not vary over them, has no
    correlation: NaN, with the reason in `undefined`.
    Reference: van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?,
    arXiv:1905.12506, compares scores with task accuracy this way over 360 models.

    Args:
        table: column name -> scores (m,), or a table (m, c): numpy, pandas, nested lists.
        names: column names of a plain table; pandas tables and mappings bring their own.
        min_models: how few models a correlation may rest on.

    >>> found = rank_correlations({"mig": [0.1, 0.4, 0.2, 0.9], "dci": [0.3, 0.6, 0.7, float("nan")]})
    >>> round(found["mig", "dci"], 6), found.counts.tolist()
    (0.5, [[4, 3], [3, 3]])
    """
    if min_models < 2:
        raise UnknotError(f"rank_correlations: min_models is {min_models}; two points are the least.")
    values, labels = _columns(table, names)
    c = len(labels)
    present = ~np.isnan(values)
    matrix, counts = np.full((c, c), np.nan), (present.T.astype(np.int64) @ present.astype(np.int64))
    undefined: dict[tuple[str, str], str] = {}
    for i in range(c):
        for j in range(i, c):
            pair = values[present[:, i] & present[:, j]][:, [i, j]]
            reason = _no_value(pair, min_models)
            if reason:
                undefined[labels[i], labels[j]] = reason
                continue
            ranks = average_ranks(pair)
            matrix[i, j] = matrix[j, i] = 1.0 if i == j else correlation(ranks[:, :1], ranks[:, 1:])[0, 0]
    return RankCorrelations(labels, matrix, counts, undefined)


def _no_value(pair: Floats, min_models: int) -> str:
    if len(pair) < min_models:
        return f"{len(pair)} model(s) have both scores; {min_models} are needed"
    if np.any(pair.min(axis=0) == pair.max(axis=0)):
        return "a column is the same for all models"
    return ""


def _columns(table: Any, names: Sequence[str] | None) -> tuple[Floats, tuple[str, ...]]:
    if isinstance(table, Mapping):
        labels = tuple(map(str, table))
        columns = [np.asarray(as_array(column), dtype=np.float64) for column in table.values()]
        lengths = {name: column.shape for name, column in zip(labels, columns, strict=True)}
        if not columns or len(set(lengths.values())) > 1 or columns[0].ndim != 1:
            raise UnknotError(
                f"rank_correlations: columns have shapes {lengths}; each needs one score a model, all the same models."
            )
        values = np.stack(columns, axis=1)
    else:
        values = np.asarray(as_array(table), dtype=np.float64)
        if values.ndim != 2 or values.shape[1] == 0:
            raise UnknotError(f"rank_correlations: table has shape {values.shape}; expected (models, columns).")
        own_names = column_names(table) or range(values.shape[1])
        labels = tuple(map(str, own_names if names is None else names))
    if len(labels) != values.shape[1]:
        raise UnknotError(f"rank_correlations: {len(labels)} names for {values.shape[1]} columns; give one each.")
    return values, labels
