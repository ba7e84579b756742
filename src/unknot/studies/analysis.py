"""Statistics over a study, world by world: what goes together with what, and which setting is best.

Columns are named as in `unknot results`, see `unknot.studies.measures`. The functions on plain tables of models are
those of `unknot.statistics`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.errors import UnknotError, unknown
from unknot.statistics.boxes import box_statistics
from unknot.statistics.correlations import Correction, Method, correlations, holm
from unknot.statistics.dependent import Test, compare_correlations
from unknot.statistics.resamples import Bootstraps
from unknot.studies.folder import StudyFolder

if TYPE_CHECKING:
    import pandas as pd


def study_correlations(
    study: StudyFolder | Path | str,
    columns: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    *,
    by: str | None = "world",
    method: Method = "spearman",
    bootstraps: Bootstraps = 1000,
    correction: Correction = "none",
) -> "pd.DataFrame":
    """Correlations between the scores, numbers of tasks and rankings of a study, world by world.

    Worlds differ in how high scores run, so runs of several worlds in one pot correlate for that reason alone;
    `by=None` does it all the same. Holm's correction is over all rows of the answer.

    Args:
        study: its folder.
        columns: of its results; all by default.
        against: other columns; by default each other.
        by: column of `runs` that separates runs, or None.
        method: "pearson" or "spearman".
        bootstraps: resamples for the intervals; 0 for none, or a `Bootstrap`.
        correction: "none" or "holm".

    Returns:
        The table of `correlations`, with the column `by` in front.
    """
    opened = _opened(study, *(columns or ()), *(against or ()))
    options: dict[str, Any] = {"method": method, "bootstraps": bootstraps}
    table = _each(opened, by, lambda numbers, runs: correlations(numbers, columns, against, **options))
    table["p_adjusted"] = holm(table["p"]) if correction == "holm" else table["p"]
    return table


def study_comparisons(
    study: StudyFolder | Path | str,
    task: str,
    metrics: Sequence[str] | None = None,
    *,
    by: str | None = "world",
    method: Method = "spearman",
    test: Test = "williams",
    bootstraps: Bootstraps = 1000,
    correction: Correction = "none",
) -> "pd.DataFrame":
    """Which of two metrics is more closely related to a task, world by world; arguments as in `study_correlations`.

    Metrics of which less is better are turned round first, and so is the task.

    Args:
        task: the column of a task, such as `reasoning.accuracy`, or of a metric that stands for one.
        metrics: columns; by default all scores and rankings.
        test: "williams", "steiger" or "meng".
    """
    opened = _opened(study, task, *(metrics or ()))
    if metrics is None:
        metrics = [measure.column for measure in opened.measures if measure.kind != "task"]
    flip = _lower_is_better(opened)
    options: dict[str, Any] = {"method": method, "test": test, "bootstraps": bootstraps}
    table = _each(
        opened, by, lambda numbers, runs: compare_correlations(numbers, task, metrics, flip=flip, **options)
    )
    table["p_adjusted"] = holm(table["p"]) if correction == "holm" else table["p"]
    return table


def study_boxes(
    study: StudyFolder | Path | str,
    columns: Sequence[str] | None = None,
    *,
    by: str | None = "world",
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """Statistics of each number per model and setting, world by world; a setting reads "beta_vae, beta 4"."""
    opened = _opened(study, *(columns or ()))
    options: dict[str, Any] = {"lower_is_better": _lower_is_better(opened), "bootstraps": bootstraps}

    def boxes(numbers: "pd.DataFrame", runs: "pd.DataFrame") -> "pd.DataFrame":
        settings = (runs["model"] + ", " + runs["setting"]).str.removesuffix(", ")
        return box_statistics(numbers, settings.tolist(), columns, **options)

    return _each(opened, by, boxes)


def _opened(study: StudyFolder | Path | str, *columns: str) -> StudyFolder:
    """The study, if the columns are not called by names they had once; unknown ones are found out later."""
    opened = study if isinstance(study, StudyFolder) else StudyFolder(study)
    now = {name: measure.column for measure in opened.measures for name in measure.once}
    for column in columns:
        if column in now:
            raise UnknotError(f"study: '{column}' is now called '{now[column]}', as in unknot results.")
    return opened


def _lower_is_better(study: StudyFolder) -> list[str]:
    return [measure.column for measure in study.measures if measure.higher_is_better is False]


def _each(
    study: StudyFolder, by: str | None, of: "Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]"
) -> "pd.DataFrame":
    """Apply to the numbers of each group of runs; the group's name becomes the first column."""
    import pandas as pd

    numbers = _numbers(study)
    if by is None:
        return of(numbers, study.runs)
    if by not in study.runs.columns:
        raise unknown("column of runs", by, map(str, study.runs.columns))
    tables = []
    for name, runs in study.runs.groupby(by, sort=False, dropna=False):
        table = of(numbers.loc[runs["id"]], runs)
        table.insert(0, by, name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _numbers(study: StudyFolder) -> "pd.DataFrame":
    """One row a run, one column a number; NaN where a run has none."""
    import pandas as pd

    ids = pd.Index(study.runs["id"])
    if not study.measures:
        raise UnknotError(
            f"{study.folder}: has nothing to compare yet: no scores, no results of tasks, no rankings."
        )
    return pd.DataFrame({measure.column: measure.values.reindex(ids) for measure in study.measures}, index=ids)
