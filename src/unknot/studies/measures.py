"""The numbers of a study's runs, each under one name.

    mig[bins=20]            the headline of a metric
    dci[gbt].completeness   a part of it
    reasoning.accuracy      a number of a task
    udr_spearman/all        a ranking without labels: its method and its scope

These are the columns of `unknot results` and of every table, chart and page that is made of a study, and the names that
statistics take.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from unknot.errors import UnknotError
from unknot.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

MeasureKind = Literal["score", "part", "task", "ranking"]
UNLABELLED = "ranking without labels"
ONCE = {"setting": "within settings", "all": "all to all"}  # what pages called the scopes of rankings


@dataclass(frozen=True)
class Measure:
    """One number of every run.

    Attributes:
        column: its name.
        kind: what it comes from.
        question: what it measures.
        higher_is_better: whether more is better; None of what others are held against.
        counted: whether it counts for a run's place: it is a score that rests on labels.
        values: by run id, a pandas series; runs without one are missing.
        once: names it had before there was one.
    """

    column: str
    kind: MeasureKind
    question: str
    higher_is_better: bool | None
    counted: bool
    values: "pd.Series[float]"
    once: tuple[str, ...] = ()


def rank_column(method: str, scope: str) -> str:
    """The column of a ranking.

    >>> rank_column("udr_lasso[alpha=0.1]", "setting")
    'udr_lasso[alpha=0.1]/setting'
    """
    return f"{method}/{scope}"


def measures_of(scores: "pd.DataFrame", tasks: "pd.DataFrame", ranks: "pd.DataFrame") -> list[Measure]:
    """All numbers in the tables of a study: scores, each with its parts, then those of tasks, then rankings."""
    return [*_scores(scores), *_tasks(tasks), *_rankings(ranks)]


def _scores(table: "pd.DataFrame") -> Iterator[Measure]:
    for (metric, part), rows in table.groupby(["metric", "part"], sort=False):
        column = f"{metric}.{part}" if part else str(metric)
        known = METRICS.get(str(metric).partition("[")[0])
        yield Measure(
            column,
            "part" if part else "score",
            str(rows["measures"].iloc[0]),
            bool(rows["higher_is_better"].iloc[0]),
            known is None or known.facts.labels,
            _by_run(column, rows, "value"),
            (f"{metric} {part}",) if part else (),
        )


def _tasks(table: "pd.DataFrame") -> Iterator[Measure]:
    for (task, name), rows in table.groupby(["task", "name"], sort=False):
        column, better = f"{task}.{name}", rows["higher_is_better"].dropna()
        higher = bool(better.iloc[0]) if len(better) else None
        values = _by_run(column, rows, "value")
        yield Measure(column, "task", f"task {task}", higher, False, values, (f"{task}: {name}",))


def _rankings(table: "pd.DataFrame") -> Iterator[Measure]:
    for (method, scope), rows in table.groupby(["method", "scope"], sort=False):
        column = rank_column(str(method), str(scope))
        once = (f"{method} {scope}", f"{method}, {ONCE.get(str(scope), scope)}")
        yield Measure(column, "ranking", UNLABELLED, True, False, _by_run(column, rows, "score"), once)


def _by_run(column: str, rows: "pd.DataFrame", value: str) -> Any:
    values = rows.set_index("id")[value].astype(float)
    twice = values.index[values.index.duplicated()]
    if len(twice):
        raise UnknotError(f"study: run {twice[0]} has two values of '{column}'; each run needs one.")
    return values.dropna()
