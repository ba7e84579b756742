"""What one has of one's own to hold against a paper: studies, runs, results of tasks."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.files import read_json
from unknot.runs.run import Run
from unknot.studies.folder import StudyFolder
from unknot.studies.paths import StudyPaths
from unknot.studies.results import results
from unknot.tasks.kept_results import kept_results
from unknot.tasks.result import TaskResult, read_result
from unknot.worlds.catalogue import WORLDS


class Lacks(Exception):  # noqa: N818, no mistake of anyone's
    """One's own work has not what a figure needs.

    >>> print(Lacks("no run was put to the task fairness", "tasks: {fairness: {}}"))
    This cannot be made: no run was put to the task fairness. In the file of the study, tasks: {fairness: {}} gives it.
    """

    def __init__(self, why: str, field: str = "", remedy: str = "") -> None:
        remedy = remedy or f"In the file of the study, {field} gives it."
        super().__init__(f"This cannot be made: {why}. {remedy}")


class Own:
    """Studies, runs and results of tasks, from wherever they are.

    Args:
        paths: folders of studies or of runs, folders that hold such folders or results, and results as JSON.
    """

    def __init__(self, paths: Sequence[Path | str]) -> None:
        self.studies: list[StudyFolder] = []
        self.runs: list[Run] = []
        self._results: list[TaskResult] = []
        self._of_studies: dict[str, dict[str, TaskResult]] = {}
        for path in map(Path, paths):
            self._add(path)

    def _add(self, path: Path) -> None:
        if StudyPaths(path).record.is_file():
            self.studies.append(StudyFolder(path))
        elif Run.at(path).begun:
            self.runs.append(Run(path))
        elif path.is_dir():
            runs = [Run(file.parent) for file in sorted(path.glob("*/run.json"))]
            files = [file for file in sorted(path.glob("*.json")) if {"task", "values"} <= read_json(file).keys()]
            if not runs and not files:
                raise UnknotError(f"{path}: holds no study, no run and no result of unknot task.", field="study")
            self.runs += runs
            self._results += map(read_result, files)
        else:
            self._results.append(read_result(path))

    @cached_property
    def table(self) -> Any:
        """One row a run of the studies (pandas): what it is, and every number of it, named as in `unknot results`."""
        import pandas as pd

        if not self.studies:
            raise Lacks("there is no study among what was named", "worlds, models and seeds")
        tables = [results(study, parts=True) for study in self.studies]
        whole = pd.concat(tables, ignore_index=True).drop_duplicates("id")
        return whole[whole["status"] == "done"].reset_index(drop=True)

    def column(self, metric: str, part: str = "") -> str:
        """The column of a metric, whatever its options."""
        for measure in (measure for study in self.studies for measure in study.measures):
            name, _, rest = measure.column.partition("[")
            if name.partition(".")[0] == metric and _part(measure.column, rest) == part and measure.kind != "task":
                return measure.column
        raise Lacks(f"no run was scored by {metric}", f"metrics: [{metric}]")

    def columns(self, metrics: Sequence[str]) -> dict[str, str]:
        """Those of the metrics that runs were scored by -> their columns; one at least."""
        there: dict[str, str] = {}
        for metric in metrics:
            name, _, part = metric.partition(".")
            try:
                there[metric] = self.column(name, part)
            except Lacks:
                continue
        if not there:
            raise Lacks(f"no run was scored by {', '.join(metrics)}", f"metrics: [{', '.join(metrics)}]")
        return there

    def run(self, id_: str) -> Run | None:
        """A run of the studies, if its folder is where it should be."""
        return next((run for study in self.studies if (run := study.run(id_)) is not None), None)

    def task_results(self, task: str) -> dict[str, TaskResult]:
        """Run -> what a task found out about it, of the runs of studies; one at least."""
        if task not in self._of_studies:
            done = set(self.table["id"])
            every = (item for study in self.studies for item in study.task_results(task).items())
            self._of_studies[task] = {id_: result for id_, result in every if id_ in done}
        if not (there := self._of_studies[task]):
            raise Lacks(f"no run was put to the task {task}", f"tasks: {{{task}: {{}}}}")
        return there

    def all_results(self, task: str) -> Iterator[tuple[Run | None, TaskResult]]:
        """Every result of a task, of studies, of runs by themselves and of files, each with its run if it has one."""
        for study in self.studies:
            for id_, result in study.task_results(task).items():
                yield study.run(id_), result
        for run in self.runs:
            for result in kept_results(run)[0].values():
                if result.task == task:
                    yield run, result
        for result in self._results:
            if result.task == task:
                yield None, result


def published_world(world: str) -> str:
    """The dataset that a rendered world stands in for; itself if it does for none.

    >>> published_world("dsprites_rendered"), published_world("cars3d")
    ('dsprites', 'cars3d')
    """
    return next((name for name, entry in WORLDS.items() if entry.stand_in == world), world)


def _part(column: str, rest: str) -> str:
    """The part of a metric that a column is of: what follows the dot after its options."""
    return (rest.partition("].")[2] if rest else column.partition(".")[2]) if "." in column else ""
