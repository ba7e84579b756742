"""The folder of a study: what is done, what is missing, and the tables made of it. Everything is files.

study.json             the study as it was resolved: its file, its runs, versions
runs/<run id>/         folders as `unknot train` makes them, with latents.npz, scores.json, tasks/ and time.json
ranks/<key>.json       one ranking each
logs/<run id>.log      what a failed step said; gone once the step succeeds
tables/*.parquet       runs, scores, tasks, ranks: made of the above, and made again whenever that changes
"""

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from unknot import __version__
from unknot.errors import UnknotError
from unknot.files import remove_parts, written_whole
from unknot.papers import renamed
from unknot.studies._yaml import Source
from unknot.studies.plan import PlannedRun, RankGroup, StudyPlan
from unknot.studies.spec import StudySpec, parse_study
from unknot.studies.steps import Kind, Step, digest, encoded, read_scores, score_keys, task_file

TABLES = ("runs", "scores", "tasks", "ranks")


class Store:
    """A study's folder, and the plan it is filled by."""

    def __init__(self, folder: Path | str, plan: StudyPlan) -> None:
        self.folder, self.plan = Path(folder).absolute(), plan
        self._sources: dict[str, dict[str, Any] | None] = {}
        belongs_to(self.folder, plan.study)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process at a time work on the study; a killed one lets go of it."""
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / "study.lock")
            lock.acquire(timeout=0)
        except Timeout:
            raise UnknotError(
                f"{self.folder}: another process is running this study; wait until it ends."
            ) from None
        except OSError as error:
            raise UnknotError(f"{self.folder}: cannot be written ({error.strerror or error}).") from None
        try:
            for name in ("", "tables", "ranks", "logs"):
                remove_parts(self.folder / name)
            yield
        finally:
            lock.release()

    def write_study(self) -> None:
        """study.json, unless it says the same already."""
        study, path = self.plan.study, self.folder / "study.json"
        runs = [
            {"id": r.id, "setting": r.setting, "metrics": r.metrics, "spec": r.spec.model_dump()}
            for r in self.runs
        ]
        ranking = [{"method": method, "scope": scope} for method, scope in self.plan.rankings]
        record = {"name": study.name, "about": study.about, "study": study.data, "runs": runs, "rankings": ranking}
        before = _read_json(path)
        plain = json.loads(json.dumps(record))
        if {key: before.get(key) for key in plain} == plain:
            return
        started = before.get("started") or datetime.now(UTC).isoformat(timespec="seconds")
        versions = {"unknot": __version__, "python": platform.python_version()}
        _write_json(path, {**plain, "started": started, "versions": versions})

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """The runs of the plan."""
        return self.plan.runs

    def run_folder(self, run: PlannedRun) -> Path:
        """Of one run."""
        return self.folder / "runs" / run.id

    def trained(self, run: PlannedRun) -> bool:
        """Whether training is over."""
        return (self.run_folder(run) / "weights.safetensors").is_file()

    def source(self, run: PlannedRun) -> dict[str, Any] | None:
        """How the latents were made, if they are the ones the study wants."""
        if self._sources.get(run.id) is None:
            rows = self.plan.study.rows
            self._sources[run.id] = encoded(self.run_folder(run), run.id, rows, run.spec.split)
        return self._sources[run.id]

    def forget(self, run_id: str) -> None:
        """Look at a run's latents anew."""
        self._sources.pop(run_id, None)

    def unscored(self, run: PlannedRun) -> tuple[str, ...]:
        """The metrics that have no result for the latents there are."""
        source = self.source(run)
        if source is None:
            return run.metrics
        there = read_scores(self.run_folder(run)).get("keys", {})
        keys = score_keys(run.metrics, source, self.plan.study.limit)
        return tuple(id_ for id_, key in keys.items() if there.get(id_) != key)

    def task_files(self, run: PlannedRun) -> dict[str, Path]:
        """Task -> where its result is, or will be."""
        weights = (self.source(run) or {}).get("encoder", {}).get("weights")
        tasks = self.plan.study.tasks.items()
        return {name: task_file(self.run_folder(run), name, options, weights) for name, options in tasks}

    def undone(self, run: PlannedRun) -> list[str]:
        """The tasks that have no result for the weights there are."""
        return [name for name, path in self.task_files(run).items() if not path.is_file()]

    def missing(self, run: PlannedRun) -> list[Kind]:
        """The steps of a run that are still to be done, in their order."""
        tasks: list[Kind] = ["task"] if self.undone(run) else []
        if not self.trained(run):
            return ["train", "encode", "score", *tasks]
        if self.source(run) is None:
            return ["encode", "score", *tasks]
        return ["score", *tasks] if self.unscored(run) else tasks

    def ranking_key(self, group: RankGroup, method: str, scope: str) -> tuple[str, list[tuple[str, str]]]:
        """The name of a ranking's file, a hash of all it depends on; and its members, as they are now."""
        how = self.plan.study.ranking
        members = [(r.id, f"{r.spec.model}, {r.setting}") for r in group.runs if self.source(r) is not None]
        weights = [
            (self.source(r) or {})["encoder"].get("weights") for r in group.runs if self.source(r) is not None
        ]
        return digest([method, scope, how.partners, how.rows, self.plan.study.rows, members, weights]), members

    @property
    def planned_rankings(self) -> list[tuple[RankGroup, str, str]]:
        """(runs, method, scope) of the rankings there will be if no run fails."""
        return [
            (group, method, scope)
            for group in self.plan.groups
            for method, scope in self.plan.rankings
            if not too_few(scope, [f"{run.spec.model}, {run.setting}" for run in group.runs])
        ]

    def ranked(self, key: str) -> bool:
        """Whether a ranking is there."""
        return (self.folder / "ranks" / f"{key}.json").is_file()

    def log_path(self, id_: str) -> Path:
        """Where the log of a failed step is."""
        return self.folder / "logs" / f"{id_}.log"

    def write_log(self, step: Step, error: str, said: str, attempts: int) -> Path:
        """Keep what a failed step said; its first line is the error."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        head = f"{step.kind}: {error}\n{step.title}\n{when}, after {attempts} attempt(s)\n\n"
        with written_whole(self.log_path(step.id)) as beside:
            beside.write_text(head + said, encoding="utf-8")
        return self.log_path(step.id)

    def error(self, run: PlannedRun) -> str:
        """Why a run failed; empty if it did not."""
        try:
            with self.log_path(run.id).open(encoding="utf-8") as file:
                return file.readline().strip()
        except OSError:
            return ""

    def write_tables(self) -> None:
        """Make the tables of the files there are now."""
        from unknot.studies.tables import ranks_table, runs_table, scores_table, tasks_table

        made = {"runs": runs_table(self), "scores": scores_table(self)}
        made |= {"tasks": tasks_table(self), "ranks": ranks_table(self)}
        for name, table in made.items():
            with written_whole(self.folder / "tables" / f"{name}.parquet") as beside:
                table.to_parquet(beside, index=False)


class StudyFolder:
    """A study that was run, or is running, for those who only read."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "study.json").is_file():
            raise UnknotError(f"{folder}: is no study; it has no study.json. `unknot study` makes one.")

    @cached_property
    def record(self) -> dict[str, Any]:
        """study.json."""
        record = _read_json(self.folder / "study.json")
        if not isinstance(record.get("runs"), list):
            raise UnknotError(
                f"{self.folder / 'study.json'}: is damaged; run the study again, which writes it anew."
            )
        return record

    @cached_property
    def spec(self) -> StudySpec:
        """The study's file as it was."""
        return parse_study(self.record["study"], Source(str(self.folder / "study.json")))

    def table(self, name: str) -> Any:
        """One of the tables `runs`, `scores`, `tasks` and `ranks`, as pandas reads it."""
        import pandas as pd

        path = self.folder / "tables" / f"{name}.parquet"
        if not path.is_file():
            raise UnknotError(f"{self.folder}: has no tables yet; run `unknot study` first.")
        return pd.read_parquet(path)


def too_few(scope: str, settings: Sequence[str]) -> bool:
    """Whether runs with these settings cannot be ranked: none of them has another to be compared with."""
    return len(settings) < 2 or (scope == "setting" and len(set(settings)) == len(settings))


def belongs_to(folder: Path, study: StudySpec) -> None:
    """Refuse a folder that holds another study, or something else."""
    if folder.exists() and not folder.is_dir():
        raise UnknotError(f"{folder}: is a file; a study needs a folder. Choose another with --output.")
    path = folder / "study.json"
    if not path.exists():
        strange = [p.name for p in folder.glob("*") if p.name != "study.lock"] if folder.is_dir() else []
        if strange:
            raise UnknotError(
                f"{folder}: holds no study, but other files ({', '.join(sorted(strange)[:3])}); choose another with "
                "--output."
            )
        return
    name = _read_json(path).get("name")
    if name is not None and study.name not in (name, renamed(str(name))):
        raise UnknotError(
            f"{folder}: belongs to the study '{name}', not to '{study.name}'; choose another with --output."
        )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    with written_whole(path) as beside:
        beside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
