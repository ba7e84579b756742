"""The tables of a study in long form, made of the files of its runs: runs, scores, tasks and ranks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unknot.files import read_json
from unknot.scoring.kept_scores import records_by_key, score_keys
from unknot.scoring.record import score_rows

if TYPE_CHECKING:
    import pandas as pd

    from unknot.studies.plan import PlannedRun
    from unknot.studies.store import Store

COLUMNS = {
    "runs": ("id", "world", "model", "setting", "seed", "steps", "split", "status", "minutes", "error"),
    "scores": ("id", "metric", "part", "value", "measures", "higher_is_better", "seconds", "version", "refused"),
    "tasks": ("id", "task", "name", "value", "higher_is_better"),
    "ranks": ("id", "method", "scope", "score", "informative", "partners"),
}


def make_tables(store: "Store") -> "dict[str, pd.DataFrame]":
    """All tables of what is done by now."""
    return {
        "runs": _runs_table(store),
        "scores": _scores_table(store),
        "tasks": _tasks_table(store),
        "ranks": _ranks_table(store),
    }


def _runs_table(store: "Store") -> "pd.DataFrame":
    """One row a run."""
    options = sorted({name for run in store.runs for name in run.spec.options})
    rows = [_run_row(store, run) for run in store.runs]
    table = _frame(rows, (*COLUMNS["runs"], *(f"option.{name}" for name in options)))
    for name in table.columns:
        if name.startswith("option.") and len({type(v) for v in table[name].dropna()}) > 1:
            table[name] = table[name].map(lambda value: None if value is None else str(value))
    return table.astype({"seed": "int64", "steps": "int64", "minutes": "float64"})


def _run_row(store: "Store", run: "PlannedRun") -> dict[str, Any]:
    spec, error = run.spec, store.error(run)
    status = "failed" if error else "waiting" if store.missing(run) else "done"
    row = {name: getattr(spec, name) for name in ("id", "world", "model", "seed", "steps", "split")}
    row |= {"setting": run.setting, "status": status, "minutes": store.run(run).minutes, "error": error}
    return row | {f"option.{name}": value for name, value in spec.options.items()}


def _scores_table(store: "Store") -> "pd.DataFrame":
    """One row for each number: headlines (part is empty) and the scalars that belong beside them."""
    rows: list[dict[str, Any]] = []
    for run in store.runs:
        source = store.source(run)
        if source is not None:
            rows += _score_rows(run, records_by_key(store.run(run)), source, store.plan.study.limit)
    return _frame(rows, COLUMNS["scores"]).astype(
        {"value": "float64", "seconds": "float64", "version": "int64", "higher_is_better": "bool"}
    )


def _score_rows(
    run: "PlannedRun", kept: Mapping[str, Mapping[str, Any]], source: Mapping[str, Any], limit: int | None
) -> Iterator[dict[str, Any]]:
    """The rows of one run: what its folder keeps of the metrics that the study asks for."""
    for id_, key in score_keys(run.metrics, source, limit).items():
        for row in score_rows(kept.get(key, {})):
            if row.metric == id_:
                values = asdict(row) | {"id": run.id, "value": _number(row.value)}
                yield {name: values[name] for name in COLUMNS["scores"]}


def _tasks_table(store: "Store") -> "pd.DataFrame":
    """One row for each headline number of each task."""
    from unknot.tasks import read_result

    rows: list[dict[str, Any]] = []
    for run in store.runs:
        for path in store.task_files(run).values():
            if path.is_file():
                result = read_result(path)
                same = {"id": run.id, "task": result.task}
                for name, value in result.values.items():
                    higher = name not in result.lower_is_better
                    rows.append(same | {"name": name, "value": value, "higher_is_better": higher})
    return _frame(rows, COLUMNS["tasks"]).astype({"value": "float64", "higher_is_better": "bool"})


def _ranks_table(store: "Store") -> "pd.DataFrame":
    """One row for each run and ranking."""
    rows: list[dict[str, Any]] = []
    for group in store.plan.groups:
        for method, scope in store.plan.rankings:
            key, _ = store.ranking_key(group, method, scope)
            if store.ranked(key):
                ranks = read_json(store.paths.ranking(key))["ranks"]
                rows += [row | {"method": method, "scope": scope} for row in ranks]
    return _frame(rows, COLUMNS["ranks"]).astype({"score": "float64", "informative": "int64", "partners": "int64"})


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))
