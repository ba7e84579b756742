"""The tables of a study in long form, made of the files of its runs: runs, scores, tasks and ranks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unknot.files import read_json
from unknot.metrics import METRICS, parse_identity

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
    row |= {"setting": run.setting, "status": status, "minutes": minutes(store, run), "error": error}
    return row | {f"option.{name}": value for name, value in spec.options.items()}


def minutes(store: "Store", run: "PlannedRun") -> float:
    """How long all of a run's training takes at the speed it was last trained with; NaN if that is not known."""
    took = read_json(store.run_folder(run) / "time.json")
    try:
        return float(took["seconds"]) / int(took["steps"]) * run.spec.steps / 60
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return float("nan")


def _scores_table(store: "Store") -> "pd.DataFrame":
    """One row for each number: headlines (part is empty) and the scalars that belong beside them."""
    rows: list[dict[str, Any]] = []
    for run in store.runs:
        if store.source(run) is None:
            continue
        record, missing = store.scores(run), set(store.unscored(run))
        for id_ in run.metrics:
            if id_ not in missing:
                rows += _score_rows(run.id, id_, record)
    return _frame(rows, COLUMNS["scores"]).astype(
        {"value": "float64", "seconds": "float64", "version": "int64", "higher_is_better": "bool"}
    )


def _score_rows(run_id: str, id_: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    facts = METRICS[parse_identity(id_, METRICS)[0]].facts
    same = {"id": run_id, "metric": id_, "higher_is_better": facts.higher_is_better, "version": facts.version}
    if id_ in record.get("refused", {}):
        why = record["refused"][id_]
        return [
            same | {"part": "", "value": float("nan"), "measures": facts.measures, "seconds": 0.0, "refused": why}
        ]
    score = record["scores"][id_]
    same |= {"seconds": score["seconds"], "refused": ""}
    rows = [same | {"part": "", "value": _number(score["value"]), "measures": facts.measures}]
    for part, measures in facts.also.items():
        if part in score["parts"]:
            rows.append(same | {"part": part, "value": _number(score["parts"][part]), "measures": measures})
    return rows


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
