"""Do scores tell which representations a task learns faster from? Rank correlations at each step of its training.

The figures of van Steenkiste et al. 2019, as tables: `step_correlations` (their Fig. 3), `quartile_curves` and
`half_differences` of `quartiles` (Fig. 4 and 5), `half_correlations` (Fig. 6); `accuracies_of` makes their input from
results of a task.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.statistics.columns import chosen, scores_and_accuracies
from unknot.statistics.correlations import Method, correlation
from unknot.statistics.resamples import Bootstraps, seeded
from unknot.tasks.result import TaskResult

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["metric", "step", "r", "p", "low", "high", "n", "note"]


def accuracies_of(
    results: Sequence[TaskResult], steps: Sequence[int] | None = None
) -> tuple[Floats, tuple[int, ...]]:
    """Accuracy (m, t) of m representations at t steps, each the mean over its reasoners; and the steps.

    Args:
        results: of `unknot task reasoning`.
        steps: of training; those that all results have if left out. NaN where a result lacks one.

    >>> rows = [{"draw": d, "step": s, "accuracy": a} for d, s, a in ((0, 10, 0.25), (1, 10, 0.75), (0, 20, 0.5))]
    >>> accuracies_of([TaskResult("reasoning", "run", "", {}, {"curve": rows})])
    (array([[0.5, 0.5]]), (10, 20))
    """
    curves = []
    for result in results:
        if "curve" not in result.tables:
            raise UnknotError(f"{result.source}: the result of task '{result.task}' has no curve over steps.")
        accuracies: dict[int, list[float]] = {}
        for row in result.tables["curve"]:
            accuracies.setdefault(int(row["step"] or 0), []).append(float(row["accuracy"] or 0.0))
        curves.append({step: float(np.mean(values)) for step, values in accuracies.items()})
    shared = set.intersection(*(set(curve) for curve in curves)) if curves else set()
    wanted = tuple(sorted(shared) if steps is None else steps)
    if not wanted:
        raise UnknotError(f"accuracies: {len(results)} results share no step; were they trained alike?")
    return np.array([[curve.get(step, np.nan) for step in wanted] for curve in curves]), wanted


def step_correlations(
    table: "pd.DataFrame | Mapping[str, Any]",
    accuracies: Any,
    steps: Sequence[int],
    metrics: Sequence[str] | None = None,
    *,
    method: Method = "spearman",
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """Rank correlation of each score with task accuracy, at each step of the task's training.

    A score is correlated as it is: of an error, such as that of reconstruction, a good model has little, so expect a
    correlation below zero.

    Args:
        table: pandas table with one row a model, or metric -> scores (m,).
        accuracies: (m, t) of the same models in the same order, one column a step.
        steps: (t,) training steps of the task.
        metrics: columns of the table; all by default.
        method: "spearman" or "pearson".
        bootstraps: resamples of models for the intervals; 0 for none, or a `Bootstrap`.

    Returns:
        Table with metric, step, r, p, low, high, n, note.

    Reference: van Steenkiste et al. 2019, arXiv:1905.12506, Fig. 3.

    >>> table = step_correlations({"mig": [0.1, 0.2, 0.3]}, [[0.2, 0.9], [0.4, 0.8], [0.5, 0.7]], [1, 2], bootstraps=0)
    >>> table["r"].round(6).tolist()
    [1.0, -1.0]
    """
    import pandas as pd

    bootstrap = seeded(bootstraps)
    scores, values = scores_and_accuracies("step_correlations", table, accuracies, steps)
    rows = _rows(scores, values, steps, metrics, method=method, bootstraps=bootstrap)
    return pd.DataFrame(rows, columns=COLUMNS)


def half_correlations(
    table: "pd.DataFrame | Mapping[str, Any]",
    accuracies: Any,
    steps: Sequence[int],
    metrics: Sequence[str] | None = None,
    *,
    method: Method = "spearman",
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """`step_correlations` within the worst and within the best half of models by accuracy at the last step.

    Choosing models by what is then correlated makes both correlations smaller than among all models, most of all at
    the last step. Models of the middle accuracy are in both halves. Arguments as in `step_correlations`.

    Returns:
        Table with half, metric, step, r, p, low, high, n, note.

    Reference: van Steenkiste et al. 2019, arXiv:1905.12506, Fig. 6.

    >>> scores, accuracy = {"mig": [1, 2, 3, 4, 5, 6]}, [[1], [2], [3], [6], [5], [4]]
    >>> half_correlations(scores, accuracy, [1000], bootstraps=0)[["half", "r", "n"]].values.tolist()
    [['worst', 1.0, 3], ['best', -1.0, 3]]
    """
    import pandas as pd

    bootstrap = seeded(bootstraps)
    scores, values = scores_and_accuracies("half_correlations", table, accuracies, steps)
    last = values[:, -1]
    middle = np.nanmedian(last) if not np.isnan(last).all() else np.nan
    rows = []
    for half, inside in (("worst", last <= middle), ("best", last >= middle)):
        part = {name: column[inside] for name, column in scores.items()}
        of_half = _rows(part, values[inside], steps, metrics, method=method, bootstraps=bootstrap)
        rows += [(half, *row) for row in of_half]
    return pd.DataFrame(rows, columns=["half", *COLUMNS])


def _rows(
    scores: Mapping[str, Floats], values: Floats, steps: Sequence[int], metrics: Sequence[str] | None, **how: Any
) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for name in chosen(scores, metrics):
        for t, step in enumerate(steps):
            c = correlation(scores[name], values[:, t], **how)
            note = c.note.replace("the first score", name).replace("the second score", "accuracy")
            rows.append((name, step, c.r, c.p, c.low, c.high, c.n, note))
    return rows
