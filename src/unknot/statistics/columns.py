"""The columns of a table of models, from whatever the caller has."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Floats
from unknot.reading.arrays import as_array


def columns_of(who: str, table: Mapping[str, Any] | Any) -> dict[str, Floats]:
    """Column name -> scores (m,) of a mapping or a pandas table; columns that are not numbers are left out."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise UnknotError(
            f"{who}: the table is a {type(table).__name__}; expected a pandas table or column name -> scores."
        )
    names = list(table) if isinstance(table, Mapping) else list(table.columns)
    if len(set(map(str, names))) < len(names):
        raise UnknotError(f"{who}: a column name occurs twice in {', '.join(map(str, names))}; give each its own.")
    if not names:
        raise UnknotError(f"{who}: the table has no columns; has anything been scored yet?")
    columns: dict[str, Floats] = {}
    for name in names:
        column = np.asarray(as_array(table[name]))
        if column.dtype.kind in "biuf":
            columns[str(name)] = column.astype(np.float64)
    shapes = {name: column.shape for name, column in columns.items()}
    if not columns:
        raise UnknotError(f"{who}: no column of the table holds numbers; there are {', '.join(map(str, names))}.")
    if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise UnknotError(
            f"{who}: columns have shapes {shapes}; each needs one score a model, all the same models."
        )
    return columns


def scores_and_accuracies(
    who: str, table: Any, accuracies: Any, steps: Sequence[int]
) -> tuple[dict[str, Floats], Floats]:
    """Metric -> scores (m,), and accuracies (m, t) of the same models at t steps."""
    scores, values = columns_of(who, table), np.asarray(as_array(accuracies), dtype=np.float64)
    m = len(next(iter(scores.values())))
    if values.shape != (m, len(steps)) or not len(steps):
        raise UnknotError(
            f"{who}: accuracies have shape {values.shape}; expected ({m}, {len(steps)}): {m} models of the table and "
            f"{len(steps)} steps, at least one."
        )
    return scores, values


def chosen(columns: Mapping[str, Floats], names: Sequence[str] | None) -> list[str]:
    """The names asked for, all by default; the nearest one is named where a name is wrong."""
    if names is None:
        return list(columns)
    for name in names:
        check_known("column", name, columns)
    return list(dict.fromkeys(names))
