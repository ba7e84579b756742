"""The tables of a study in long form, made of the files of its runs: runs, scores, tasks and ranks."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unknot.files import read_json
from unknot.reading.guard import parsing
from unknot.scoring.kept_scores import records_by_key, score_keys
from unknot.scoring.record import score_rows
from unknot.tasks import controls_of, read_result

if TYPE_CHECKING:
    import pandas as pd

    from unknot.studies.store import Store

COLUMNS = {
    "runs": ("id", "world", "model", "setting", "seed", "steps", "split", "status", "minutes", "error"),
    "scores": ("id", "metric", "part", "value", "measures", "higher_is_better", "seconds", "version", "refused"),
    "tasks": ("id", "task", "name", "value", "higher_is_better"),
    "ranks": ("id", "method", "scope", "score", "informative", "partners"),
}
TYPES = {
    "runs": {"seed": "int64", "steps": "int64", "minutes": "float64"},
    "scores": {"value": "float64", "seconds": "float64", "version": "int64", "higher_is_better": "bool"},
    "tasks": {"value": "float64", "higher_is_better": "boolean"},
    "ranks": {"score": "float64", "informative": "int64", "partners": "int64"},
}
Rows = Iterator[dict[str, Any]]


def make_tables(store: "Store") -> "dict[str, pd.DataFrame]":
    """All tables of what is done by now."""
    import pandas as pd

    rows = {"runs": _runs(store), "scores": _scores(store), "tasks": _tasks(store), "ranks": _ranks(store)}
    options = sorted({f"option.{name}" for run in store.runs for name in run.spec.options})
    columns = COLUMNS | {"runs": (*COLUMNS["runs"], *options)}
    tables = {
        name: pd.DataFrame(list(rows[name]), columns=[*columns[name]]).astype(TYPES[name]) for name in COLUMNS
    }
    runs = tables["runs"]
    for name in options:
        if len({type(value) for value in runs[name].dropna()}) > 1:
            runs[name] = runs[name].map(lambda value: None if value is None else str(value))
    return tables


def _runs(store: "Store") -> Rows:
    """One row a run."""
    for run in store.runs:
        spec, error, of_run = run.spec, store.error(run), store.run(run)
        status = "failed" if error else "waiting" if store.missing(run) else "done"
        row = {name: getattr(spec, name) for name in ("id", "world", "model", "seed", "steps", "split")}
        row |= {
            "setting": run.setting,
            "status": status,
            "minutes": of_run.minutes_of(of_run.updates_of(spec)),
            "error": error,
        }
        yield row | {f"option.{name}": value for name, value in spec.options.items()}


def _scores(store: "Store") -> Rows:
    """One row for each number of a metric that the study asks for: its headline (part is empty) and its scalars."""
    for run in store.runs:
        source = store.source(run)
        if source is None:
            continue
        kept, keys = records_by_key(store.run(run)), score_keys(run.metrics, source, store.plan.study.limit)
        for id_, key in keys.items():
            for row in score_rows(kept.get(key, {})):
                if row.metric == id_:
                    values = asdict(row) | {"id": run.id}
                    yield {name: values[name] for name in COLUMNS["scores"]}


def _tasks(store: "Store") -> Rows:
    """One row for each headline number of each task; of controls neither more nor less is better."""
    for run in store.runs:
        for path in store.task_files(run).values():
            if path.is_file():
                result = read_result(path)
                controls = controls_of(result.task)
                for name, value in result.values.items():
                    higher = None if name in controls else name not in result.lower_is_better
                    about = {"id": run.id, "task": result.task}
                    yield about | {"name": name, "value": value, "higher_is_better": higher}


def _ranks(store: "Store") -> Rows:
    """One row for each run and ranking."""
    for group in store.plan.ranked_groups:
        for method, scope in store.plan.rankings:
            key, _ = store.ranking_key(group, method, scope)
            if store.ranked(key):
                path = store.paths.ranking(key)
                with parsing(path, "a ranking", "Move it away, and it is made again."):
                    rows = [dict(row) for row in read_json(path)["ranks"]]
                yield from (row | {"method": method, "scope": scope} for row in rows)
