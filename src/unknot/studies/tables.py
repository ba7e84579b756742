"""The tables of a study: runs, scores, tasks and ranks in long form, and one wide table of results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unknot.errors import unknown
from unknot.scoring.kept_scores import records_by_key, score_keys
from unknot.scoring.record import score_rows

if TYPE_CHECKING:
    import pandas as pd

    from unknot.studies.plan import PlannedRun
    from unknot.studies.store import Store, StudyFolder

RUNS = ("id", "world", "model", "setting", "seed", "steps", "split", "status", "minutes", "error")
SCORES = ("id", "metric", "part", "value", "measures", "higher_is_better", "seconds", "version", "refused")
TASKS = ("id", "task", "name", "value", "higher_is_better")
RANKS = ("id", "method", "scope", "score", "informative", "partners")
FORMATS = ("csv", "parquet", "markdown", "latex", "json")


def runs_table(store: "Store") -> "pd.DataFrame":
    """One row a run."""
    options = sorted({name for run in store.runs for name in run.spec.options})
    rows = [_run_row(store, run) for run in store.runs]
    table = _frame(rows, (*RUNS, *(f"option.{name}" for name in options)))
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


def scores_table(store: "Store") -> "pd.DataFrame":
    """One row for each number: headlines (part is empty) and the scalars that belong beside them."""
    rows: list[dict[str, Any]] = []
    for run in store.runs:
        source = store.source(run)
        if source is not None:
            rows += _score_rows(run, records_by_key(store.run(run)), source, store.plan.study.limit)
    return _frame(rows, SCORES).astype(
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
                yield {name: values[name] for name in SCORES}


def tasks_table(store: "Store") -> "pd.DataFrame":
    """One row for each headline number of each task."""
    from unknot.tasks import read_result

    rows: list[dict[str, Any]] = []
    for run in store.runs:
        for path in store.task_files(run).values():
            if path.is_file():
                made = read_result(path)
                same = {"id": run.id, "task": made.task}
                for name, value in made.values.items():
                    higher = name not in made.lower_is_better
                    rows.append(same | {"name": name, "value": value, "higher_is_better": higher})
    return _frame(rows, TASKS).astype({"value": "float64", "higher_is_better": "bool"})


def ranks_table(store: "Store") -> "pd.DataFrame":
    """One row for each run and ranking."""
    rows: list[dict[str, Any]] = []
    for group in store.plan.groups:
        for method, scope in store.plan.rankings:
            key, _ = store.ranking_key(group, method, scope)
            if store.ranked(key):
                made = json.loads((store.folder / "ranks" / f"{key}.json").read_text(encoding="utf-8"))
                rows += [row | {"method": method, "scope": scope} for row in made["ranks"]]
    return _frame(rows, RANKS).astype({"score": "float64", "informative": "int64", "partners": "int64"})


def results(study: "StudyFolder", *, parts: bool = False) -> "pd.DataFrame":
    """One row a run, one column a metric, one a number of a task, then one a ranking (`udr_spearman/setting`).

    Args:
        study: its folder.
        parts: also the scalars beside the headlines, such as `dci[gbt].completeness`.
    """
    table, scores, ranks = study.table("runs"), study.table("scores"), study.table("ranks")
    kept = scores if parts else scores[scores["part"] == ""]
    names = kept["metric"].where(kept["part"] == "", kept["metric"] + "." + kept["part"])
    order = list(dict.fromkeys(names))
    wide = kept.assign(column=names).pivot(index="id", columns="column", values="value").reindex(columns=order)
    named = ranks.assign(column=ranks["method"] + "/" + ranks["scope"])
    ranked = named.pivot(index="id", columns="column", values="score").reindex(
        columns=list(dict.fromkeys(named["column"]))
    )
    tasks = study.table("tasks")
    done = tasks.assign(column=tasks["task"] + "." + tasks["name"])
    used = done.pivot(index="id", columns="column", values="value").reindex(
        columns=list(dict.fromkeys(done["column"]))
    )
    joined: pd.DataFrame = table
    for part in (wide, used, ranked):
        joined = joined.merge(part, on="id", how="left")
    return joined


def formatted(table: "pd.DataFrame", form: str) -> str:
    """A table as text: csv, markdown, latex or json."""
    if form == "csv":
        return str(table.to_csv(index=False))
    if form == "json":
        return str(table.to_json(orient="records", indent=1)) + "\n"
    if form == "markdown":
        return _markdown(table)
    if form == "latex":
        return _latex(table)
    raise unknown("format", form, FORMATS)


def readable(table: "pd.DataFrame") -> "pd.DataFrame":
    """The table without what people do not read: options are in the setting, and empty columns say nothing."""
    dull = [name for name in table.columns if name.startswith("option.")]
    dull += [name for name in ("split", "error") if not table[name].astype(bool).any()]
    return table.drop(columns=dull)


def _markdown(table: "pd.DataFrame") -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    numbers = ["---:" if table[name].dtype.kind in "fiu" else "---" for name in table.columns]
    rows = [line([_cell(value) for value in row]) for row in table.itertuples(index=False, name=None)]
    return "\n".join([line([str(c) for c in table.columns]), "|" + "|".join(numbers) + "|", *rows]) + "\n"


def _latex(table: "pd.DataFrame") -> str:
    columns = "".join("r" if table[name].dtype.kind in "fiu" else "l" for name in table.columns)
    lines = [" & ".join(_escaped(str(name)) for name in table.columns)]
    lines += [" & ".join(_escaped(_cell(v)) for v in row) for row in table.itertuples(index=False, name=None)]
    body = " \\\\\n".join(lines[1:]) + (" \\\\\n" if len(lines) > 1 else "")
    return f"\\begin{{tabular}}{{{columns}}}\n\\hline\n{lines[0]} \\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n"


_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {mark: f"\\{mark}" for mark in "&%$#_{}"}
)


def _escaped(text: str) -> str:
    return text.translate(_LATEX).replace("\n", " ")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))
