"""The folder of a study that was run, or is running, for everyone who reads it."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unknot.errors import UnknotError, UnknotWarning, shown
from unknot.files import read_json
from unknot.reading.versions import newer
from unknot.runs.run import Run
from unknot.studies._yaml import YamlSource
from unknot.studies.measures import Measure, measures_of
from unknot.studies.paths import StudyPaths
from unknot.studies.spec import RankingSpec, StudySpec, parse_ranking, parse_spec
from unknot.studies.tables import COLUMNS
from unknot.tasks.result import TaskResult, read_result

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
SPARED = {"steps", "minutes", "error", "seconds", "refused"}  # columns that nothing here depends on
TEXTS = {"id", "world", "model", "setting", "split", "status"} | {"metric", "part", "measures"}
TEXTS |= {"task", "name", "method", "scope"}
TAIL = 30  # lines of a log
TAIL_BYTES = 100_000  # that they are looked for in


class StudyFolder:
    """A study on disk: its record, its tables, its runs and what their tasks found out. Nothing is written.

    >>> StudyFolder("studies/none")
    Traceback (most recent call last):
    unknot.errors.UnknotError: studies/none: is no study; it has no study.json. `unknot study` makes one.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder, self.paths = Path(folder), StudyPaths(Path(folder))
        if not self.paths.record.is_file():
            raise UnknotError(f"{folder}: is no study; it has no study.json. `unknot study` makes one.")

    @cached_property
    def record(self) -> dict[str, Any]:
        """The study as it was resolved."""
        record = read_json(self.paths.record)
        if not record:
            raise self._damaged()
        return record

    @property
    def name(self) -> str:
        """The study's own name, or its folder's."""
        return str(self.record.get("name") or self.folder.resolve().name)

    @cached_property
    def spec(self) -> StudySpec:
        """The study's file as it was."""
        if "study" not in self.record:
            raise self._damaged()
        return self._read(parse_spec, self.record["study"])

    @cached_property
    def ranking(self) -> RankingSpec:
        """How the runs were ranked."""
        study = self.record.get("study")
        return self._read(parse_ranking, study.get("ranking", {})) if isinstance(study, dict) else RankingSpec()

    def _read(self, parse: Callable[[Any, YamlSource], T], data: Any) -> T:
        try:
            return parse(data, YamlSource(str(self.paths.record)))
        except UnknotError as error:
            raise UnknotError(f"{error}{newer(self.record)}", field=error.field) from None

    @cached_property
    def runs(self) -> "pd.DataFrame":
        """One row a run: id, world, model, setting, seed, status, ..."""
        if not self.paths.table("runs").is_file():
            raise UnknotError(f"{self.folder}: has no tables yet; run `unknot study` first.")
        runs = self._table("runs")
        if runs["id"].duplicated().any():
            twice = runs["id"][runs["id"].duplicated()].iloc[0]
            raise UnknotError(f"{self.paths.table('runs')}: run {twice} is listed twice.")
        return runs

    @cached_property
    def scores(self) -> "pd.DataFrame":
        """One row a score: id, metric, part, value, measures, higher_is_better, ..."""
        return self._of_runs("scores")

    @cached_property
    def tasks(self) -> "pd.DataFrame":
        """One row a number of a task: id, task, name, value, higher_is_better."""
        return self._of_runs("tasks")

    @cached_property
    def ranks(self) -> "pd.DataFrame":
        """One row a run and ranking: id, method, scope, score, informative, partners."""
        return self._of_runs("ranks")

    @cached_property
    def measures(self) -> list[Measure]:
        """The numbers of all runs: scores, those of tasks, rankings."""
        try:
            return measures_of(self.scores, self.tasks, self.ranks)
        except UnknotError as error:
            raise UnknotError(f"{self.folder}: {error}") from None

    @cached_property
    def groups(self) -> "dict[str, pd.DataFrame]":
        """World and split -> rows of `runs`; numbers of different ones are never compared."""
        label = self.runs["world"] + self.runs["split"].map(lambda kind: f", {kind} split" if kind else "")
        return {str(name): rows for name, rows in self.runs.groupby(label, sort=False)}

    def run(self, id_: str) -> Run | None:
        """The folder of a run, if it is where it should be."""
        return Run(self.paths.run(id_)) if _inside(id_) and (self.paths.run(id_) / "run.json").is_file() else None

    def task_results(self, task: str) -> dict[str, TaskResult]:
        """Run -> what a task found out about it, as results of its model, setting and seed."""
        titles = self.runs["model"] + ", " + self.runs["setting"] + ", seed " + self.runs["seed"].astype(str)
        results = {}
        for id_, title in zip(self.runs["id"], titles, strict=True):
            for path in sorted((self.paths.run(id_) / "tasks").glob(f"{task}-*.json")) if _inside(id_) else ():
                results[id_] = replace(read_result(path), source=f"{title} ({id_})")
        return results

    def log(self, id_: str) -> str:
        """The last lines of a run's log, if there is one."""
        path = self.paths.log(id_)
        if not _inside(id_) or not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-TAIL:])

    def _of_runs(self, name: str) -> "pd.DataFrame":
        """A table of what is known of runs; what it says of others is left out, with a warning."""
        table = self._table(name)
        ours = table["id"].isin(self.runs["id"])
        if not ours.all():
            warnings.warn(
                f"{self.paths.table(name)}: {shown(table['id'][~ours].iloc[0])} is not among the {len(self.runs)} runs "
                "of the study; what the table says of such runs is left out.",
                UnknotWarning,
                stacklevel=2,
            )
        return table[ours]

    def _table(self, name: str) -> "pd.DataFrame":
        """One of the tables, checked; empty if it is not there yet."""
        import pandas as pd

        from unknot.reading.guard import parsing
        from unknot.reading.tables import read_parquet

        path, needed = self.paths.table(name), [column for column in COLUMNS[name] if column not in SPARED]
        if not path.is_file():
            return pd.DataFrame({column: pd.Series(dtype=object) for column in COLUMNS[name]})
        table = read_parquet(path, hint="`unknot study` writes it anew.")
        missing = [column for column in needed if column not in table]
        if missing:
            raise UnknotError(f"{path}: has no column {missing[0]}; expected {', '.join(needed)}.")
        for column in TEXTS & set(table.columns):
            words = table[column].astype(object)
            table[column] = words.where(words.notna(), "").astype(str)
        for column in set(needed) - TEXTS:
            with parsing(path, f"a table with numbers as {column}", "`unknot study` writes it anew."):
                table[column] = pd.to_numeric(table[column])
        return table

    def _damaged(self) -> UnknotError:
        return UnknotError(f"{self.paths.record}: is damaged; run the study again, which writes it anew.")


def _inside(id_: str) -> bool:
    """Whether an id, which comes from a table, is no way out of the study's folder."""
    return Path(id_).name == id_
