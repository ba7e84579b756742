"""Does disentanglement go with generalisation? Correlation of metrics with R² over the runs of a study."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unknot.errors import UnknotError
from unknot.statistics.columns import columns_of
from unknot.statistics.correlations import Method, correlations
from unknot.statistics.resamples import Bootstraps
from unknot.tasks.result import TaskResult

if TYPE_CHECKING:
    import pandas as pd


def dci_with_r2(
    table: "pd.DataFrame | Mapping[str, Any]",
    *,
    metrics: Sequence[str] = ("dci",),
    method: Method = "spearman",
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """Correlation of every DCI score (or other metrics) with every R² of the task, one row a pair.

    Args:
        table: one row a model; columns of metrics, as `unknot.studies` names them (`dci[gbt]`), and of the task
            (`generalisation.extrapolation_r2`); see `unknot.studies.results.results` and `with_r2`.
        metrics: names that columns start with.
        method: "pearson" or "spearman".
        bootstraps: resamples for the intervals; 0 for none, or a `Bootstrap`.

    Returns:
        See `unknot.statistics.correlations.correlations`: first is the metric, second the R².

    >>> table = {"dci[gbt]": [0.1, 0.2, 0.3, 0.4], "generalisation.random_r2": [0.3, 0.2, 0.5, 0.6]}
    >>> dci_with_r2(table, bootstraps=0)[["first", "second", "r", "n"]]
          first                    second    r  n
    0  dci[gbt]  generalisation.random_r2  0.8  4
    """
    names = list(columns_of("dci_with_r2", table))
    scores = [name for name in names if name.split("[")[0].split(".")[0] in metrics]
    r2 = [name for name in names if name.endswith("_r2")]
    for kind, columns in ((f"metric {' or '.join(metrics)}", scores), ("R² such as extrapolation_r2", r2)):
        if not columns:
            raise UnknotError(f"dci_with_r2: no column of a {kind} among {', '.join(names)}.")
    return correlations(table, scores, r2, method=method, bootstraps=bootstraps)


def with_r2(table: "pd.DataFrame", results: Mapping[str, TaskResult]) -> "pd.DataFrame":
    """The table of a study with the headline numbers of a task beside the metrics, where that was no stage of it.

    Args:
        table: of `unknot.studies.results.results`, one row a run, with its `id`.
        results: run id -> its result of a task.
    """
    import pandas as pd

    unknown = [id_ for id_ in results if id_ not in set(table["id"])]
    if unknown:
        raise UnknotError(f"with_r2: results of {', '.join(unknown)}, which are not runs of the table.")
    values = pd.DataFrame(
        [
            {"id": id_} | {f"{result.task}.{n}": v for n, v in result.values.items()}
            for id_, result in results.items()
        ]
    )
    joined: pd.DataFrame = table.merge(values, on="id", how="left")
    return joined
