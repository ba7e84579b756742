"""The tables of a study, as a report reads them.

study.json            the study as it was resolved
tables/runs.parquet   one row a run: id, world, model, setting, seed, steps, split, status, minutes, error
tables/scores.parquet tidy: id, metric, part, value, measures, higher_is_better, seconds, version
tables/tasks.parquet  tidy: id, task, name, value, higher_is_better
tables/ranks.parquet  id, method, scope, score, informative, partners
runs/<id>/            the runs
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.runs.run import Run
from unknot.tasks.result import TaskResult, read_result

COLUMNS = {
    "runs": ("id", "world", "model", "setting", "seed", "status"),
    "scores": ("id", "metric", "part", "value", "measures", "higher_is_better", "version"),
    "tasks": ("id", "task", "name", "value", "higher_is_better"),
    "ranks": ("id", "method", "scope", "score", "informative", "partners"),
}
TEXTS = {"id", "world", "model", "setting", "metric", "part", "task", "name", "method", "scope"}
SCOPES = {"setting": "within settings", "all": "all to all"}
UNLABELLED = "ranking without labels"
TAIL = 30  # lines of a log


@dataclass(frozen=True)
class Measure:
    """One number of every run.

    Attributes:
        label: what it is called.
        question: what it measures.
        higher: whether more is better.
        counted: whether it counts for a run's place: it rests on labels.
        values: by run id, a pandas series; runs without one are missing.
    """

    label: str
    question: str
    higher: bool
    counted: bool
    values: Any


@dataclass(frozen=True)
class StudyRecord:
    """A study on disk. Tables are pandas tables with ids as text."""

    folder: Path
    about: dict[str, Any]
    runs: Any
    scores: Any
    tasks: Any
    ranks: Any

    @property
    def name(self) -> str:
        """The study's own name, or its folder's."""
        return str(self.about.get("name") or self.folder.resolve().name)

    @property
    def ranking(self) -> dict[str, Any]:
        """How the study's runs are ranked: `partners` and `rows`."""
        from unknot.studies.spec import RankingSpec

        asked = self.about.get("study")
        how = asked.get("ranking") if isinstance(asked, dict) else None
        return {"partners": RankingSpec().partners} | (how if isinstance(how, dict) else {})

    @cached_property
    def groups(self) -> dict[str, Any]:
        """World and split -> rows of `runs`; numbers of different ones are never compared."""
        label = self.runs["world"]
        if "split" in self.runs:
            split = self.runs["split"].fillna("").astype(str)
            label = label + split.map(lambda kind: f", {kind} split" if kind else "")
        return {str(name): rows for name, rows in self.runs.groupby(label, sort=False)}

    @cached_property
    def measures(self) -> list[Measure]:
        """Headline numbers and those beside them, then those of tasks, then the rankings without labels."""
        found = [self._measure(metric, part, rows) for (metric, part), rows in self._scored()]
        for (task, name), rows in self.tasks.groupby(["task", "name"], sort=False):
            higher = bool(rows["higher_is_better"].iloc[0])
            found.append(Measure(f"{task}: {name}", f"task {task}", higher, False, _by_run(rows, "value")))
        for (method, scope), rows in self.ranks.groupby(["method", "scope"], sort=False):
            label = f"{method}, {SCOPES.get(scope, scope)}"
            found.append(Measure(label, UNLABELLED, True, False, _by_run(rows, "score")))
        return found

    @cached_property
    def places(self) -> dict[str, float]:
        """Run -> its mean place among runs of its world and split, 1 is best.

        The mean over questions of the mean over metrics, so that a question many metrics ask counts once. Without
        labels, the places are those of the rankings.
        """
        counted = [m for m in self.measures if m.counted] or [m for m in self.measures if m.question == UNLABELLED]
        found: dict[str, float] = {}
        for rows in self.groups.values():
            ids = rows["id"][rows["id"].isin({run for m in counted for run in m.values.index})]
            by_question: dict[str, list[Any]] = {}
            for measure in counted:
                values = measure.values.reindex(ids)
                if values.notna().any():
                    places = values.rank(ascending=not measure.higher, na_option="bottom")
                    by_question.setdefault(measure.question, []).append(places)
            means = [sum(places) / len(places) for places in by_question.values()]
            if means:
                found |= (sum(means) / len(means)).to_dict()
        return found

    @cached_property
    def order(self) -> list[str]:
        """Runs by place, those without one last."""
        return sorted(self.runs["id"], key=lambda id_: self.places.get(id_, float("inf")))

    def run(self, id_: str) -> Run | None:
        """The folder of a run, if it is where it should be."""
        run = self._run(id_)
        return run if _inside(id_) and run.begun else None

    def _run(self, id_: str) -> Run:
        return Run.at(self.folder / "runs" / id_)

    def results(self, task: str) -> dict[str, TaskResult]:
        """Run -> what a task found out about it, in the order of the leaderboard."""
        named = dict(zip(self.runs["id"], self.runs["model"] + ", " + self.runs["setting"], strict=True))
        seeds = dict(zip(self.runs["id"], self.runs["seed"], strict=True))
        results = {}
        for id_ in filter(_inside, self.order):
            for path in self._run(id_).results(task):
                results[id_] = replace(read_result(path), source=f"{named[id_]}, seed {seeds[id_]} ({id_})")
        return results

    def reconstruction(self, id_: str) -> float:
        """The reconstruction error at the end of a run's training; NaN if its model has none."""
        run = self.run(id_)
        curve = None if run is None else run.curve()
        return float("nan") if curve is None or "reconstruction" not in curve else curve["reconstruction"].iloc[-1]

    def log(self, id_: str) -> str:
        """The last lines of a run's log, if there is one."""
        path = self.folder / "logs" / f"{id_}.log"
        if not _inside(id_) or not path.is_file():
            return ""
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:])

    def _scored(self) -> Iterator[tuple[tuple[str, str], Any]]:
        for (metric, part), rows in self.scores.groupby(["metric", "part"], sort=False):
            if not part or part in _also(metric):
                yield (metric, part), rows

    def _measure(self, metric: str, part: str, rows: Any) -> Measure:
        known = METRICS.get(metric.partition("[")[0])
        label = f"{metric} {part}".strip()
        labelled = known is None or known.facts.labels
        first = rows.iloc[0]
        return Measure(
            label, str(first["measures"]), bool(first["higher_is_better"]), labelled, _by_run(rows, "value")
        )


def read_study(folder: Path | str) -> StudyRecord:
    """Read the tables; scores and ranks may be missing while a study is under way."""
    folder = Path(folder)
    if not (folder / "study.json").is_file():
        raise UnknotError(f"{folder}: is not a study; it has no study.json. `unknot study` makes one.")
    try:
        about = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnknotError(f"{folder / 'study.json'}: is damaged ({error}); run the study again.") from None
    tables = {name: _read(folder / "tables" / f"{name}.parquet", columns) for name, columns in COLUMNS.items()}
    if not len(tables["runs"]):
        raise UnknotError(f"{folder}: has no runs in its tables yet; `unknot study` goes on with it.")
    return StudyRecord(folder, about if isinstance(about, dict) else {}, **tables)


def _read(path: Path, columns: tuple[str, ...]) -> Any:
    import pandas as pd

    if not path.is_file():
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UnknotError(f"{path}: is damaged ({error}); `unknot study` writes it anew.") from None
    missing = [name for name in columns if name not in table]
    if missing:
        raise UnknotError(f"{path}: has no column {missing[0]}; expected {', '.join(columns)}.")
    for name in TEXTS & set(table.columns):
        table[name] = table[name].fillna("").astype(str)
    return table


def _inside(id_: str) -> bool:
    """Whether an id from a table is no way out of the study's folder."""
    return Path(id_).name == id_


def _by_run(rows: Any, column: str) -> Any:
    values = rows.set_index("id")[column].astype(float)
    return values[~values.index.duplicated(keep="last")].dropna()


def _also(metric: str) -> tuple[str, ...]:
    known = METRICS.get(metric.partition("[")[0])
    return tuple(known.facts.also) if known else ()
