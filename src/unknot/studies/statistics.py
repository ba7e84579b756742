"""Statistics over a study: its tables on disk, one wide table of scores, and what goes together with what.

The functions on plain tables of models live beside this file: `correlations.py` (with p-values and intervals),
`dependent.py` (is one metric closer to a task than another?), `quartiles.py` (bins over training steps) and
`boxes.py` (statistics per setting).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.errors import UnknotError, unknown
from unknot.statistics.boxes import box_statistics
from unknot.statistics.correlations import Correction, Method, correlations, holm
from unknot.statistics.dependent import Test, compare_correlations

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyTables:
    """The tables of a study.

    Attributes:
        runs: one row a run: id, world, model, setting, seed, ...
        scores: one row a score: id, metric, part, value, higher_is_better, ...
        ranks: one row a ranking of a run: id, method, scope, score, ...; None where nothing was ranked.
    """

    runs: "pd.DataFrame"
    scores: "pd.DataFrame"
    ranks: "pd.DataFrame | None" = None


def read_tables(study: str | Path) -> StudyTables:
    """The tables in the folder of a study."""
    import pandas as pd

    folder = Path(study) / "tables"
    for name in ("runs", "scores"):
        if not (folder / f"{name}.parquet").is_file():
            raise UnknotError(
                f"{study}: has no tables/{name}.parquet; is it a study, and has it scored anything yet?"
            )
    ranks = folder / "ranks.parquet"
    return StudyTables(
        pd.read_parquet(folder / "runs.parquet"),
        pd.read_parquet(folder / "scores.parquet"),
        pd.read_parquet(ranks) if ranks.is_file() else None,
    )


def wide(tables: StudyTables, *, parts: bool = True) -> "pd.DataFrame":
    """One row a run, one column a score; NaN where a run has none.

    The index is the run's id, in the order of `runs`, and runs without any score are there too. Columns are named as
    scores are printed: "mig[bins=20]", "dci[gbt] completeness" for a part, "udr_spearman all" for a ranking.

    Args:
        tables: of the study.
        parts: whether to keep the scalars beside the headline of a metric.
    """
    import pandas as pd

    scores = tables.scores if parts else tables.scores[_parts(tables.scores) == ""]
    names = (scores["metric"].astype(str) + " " + _parts(scores)).str.strip()
    tall = [pd.DataFrame({"id": scores["id"], "column": names, "value": scores["value"].astype(float)})]
    if tables.ranks is not None and len(tables.ranks):
        names = tables.ranks["method"].astype(str) + " " + tables.ranks["scope"].astype(str)
        tall.append(pd.DataFrame({"id": tables.ranks["id"], "column": names, "value": tables.ranks["score"]}))
    rows = pd.concat(tall, ignore_index=True)
    _check_rows(rows, tables.runs)
    table = rows.pivot(index="id", columns="column", values="value")
    table = table.reindex(index=tables.runs["id"], columns=list(dict.fromkeys(rows["column"])))
    table.columns.name = None
    return table


def lower_is_better(tables: StudyTables) -> list[str]:
    """The columns of `wide` in which the lowest score is the best."""
    scores = tables.scores[~tables.scores["higher_is_better"].fillna(True).astype(bool)]
    return list(dict.fromkeys((scores["metric"].astype(str) + " " + _parts(scores)).str.strip()))


def study_correlations(
    tables: StudyTables,
    columns: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    *,
    by: str | None = "world",
    method: Method = "spearman",
    bootstraps: int = 1000,
    correction: Correction = "none",
    rng: int = 0,
) -> "pd.DataFrame":
    """Correlations between the scores of a study, world by world.

    Worlds differ in how high scores run, so runs of several worlds in one pot correlate for that reason alone;
    `by=None` does it all the same. Holm's correction is over all rows of the answer.

    Args:
        tables: of the study.
        columns: of `wide`; all by default.
        against: other columns; by default each other.
        by: column of `runs` that separates runs, or None.
        method: "pearson" or "spearman".
        bootstraps: resamples for the intervals; 0 for none.
        correction: "none" or "holm".
        rng: seed of the resamples.

    Returns:
        The table of `correlations`, with the column `by` in front.
    """
    options: dict[str, Any] = {"method": method, "bootstraps": bootstraps, "rng": rng}
    frame = _each(tables, by, lambda part, runs: correlations(part, columns, against, **options))
    frame["p_adjusted"] = holm(frame["p"]) if correction == "holm" else frame["p"]
    return frame


def study_comparisons(
    tables: StudyTables,
    task: str,
    metrics: Sequence[str] | None = None,
    *,
    by: str | None = "world",
    method: Method = "spearman",
    test: Test = "williams",
    bootstraps: int = 1000,
    correction: Correction = "none",
    rng: int = 0,
) -> "pd.DataFrame":
    """Which of two metrics is more closely related to a task, world by world; arguments as in `compare_correlations`.

    Metrics for which lower is better are turned round first, and so is the task.
    """
    turned = lower_is_better(tables)
    options: dict[str, Any] = {"method": method, "test": test, "bootstraps": bootstraps, "rng": rng}
    frame = _each(tables, by, lambda part, runs: compare_correlations(part, task, metrics, flip=turned, **options))
    frame["p_adjusted"] = holm(frame["p"]) if correction == "holm" else frame["p"]
    return frame


def study_boxes(
    tables: StudyTables,
    columns: Sequence[str] | None = None,
    *,
    by: str | None = "world",
    bootstraps: int = 1000,
    rng: int = 0,
) -> "pd.DataFrame":
    """Statistics of each score per model and setting, world by world; a setting reads "beta_vae, beta 4"."""
    turned = lower_is_better(tables)
    options: dict[str, Any] = {"lower_is_better": turned, "bootstraps": bootstraps, "rng": rng}

    def boxes(part: "pd.DataFrame", runs: "pd.DataFrame") -> "pd.DataFrame":
        settings = (runs["model"].astype(str) + ", " + runs["setting"].fillna("").astype(str)).str.removesuffix(
            ", "
        )
        return box_statistics(part, settings.tolist(), columns, **options)

    return _each(tables, by, boxes)


def _each(
    tables: StudyTables, by: str | None, of: "Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]"
) -> "pd.DataFrame":
    """Apply to the wide table of each group of runs; the group's name becomes the first column."""
    import pandas as pd

    table = wide(tables)
    if by is None:
        return of(table, tables.runs)
    if by not in tables.runs.columns:
        raise unknown("column of runs", by, map(str, tables.runs.columns))
    found = []
    for name, runs in tables.runs.groupby(by, sort=False, dropna=False):
        part = of(table.loc[runs["id"]], runs)
        part.insert(0, by, name)
        found.append(part)
    return pd.concat(found, ignore_index=True)


def _parts(scores: "pd.DataFrame") -> "pd.Series[str]":
    return scores["part"].fillna("").astype(str)


def _check_rows(rows: "pd.DataFrame", runs: "pd.DataFrame") -> None:
    twice = rows[rows.duplicated(["id", "column"])]
    if len(twice):
        raise UnknotError(
            f"study: run {twice['id'].iloc[0]} has two values of '{twice['column'].iloc[0]}'; each run needs one."
        )
    if runs["id"].duplicated().any():
        raise UnknotError(f"study: run {runs['id'][runs['id'].duplicated()].iloc[0]} is listed twice in runs.")
    strangers = rows.loc[~rows["id"].isin(runs["id"]), "id"]
    if len(strangers):
        raise UnknotError(f"study: {strangers.iloc[0]} has scores but is not among the {len(runs)} runs.")
