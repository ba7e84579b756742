"""What of a study is done and what is missing, as the files of its folder tell."""

import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unknot import __version__
from unknot.errors import UnknotError, UnknotWarning
from unknot.files import (
    json_hash,
    must_be_ours,
    plain,
    read_json,
    remove_parts,
    write_json,
    write_parquet,
    written_whole,
)
from unknot.papers import renamed
from unknot.processes.lock import HeldError, held
from unknot.reading.versions import newer
from unknot.runs.run import Run
from unknot.scoring.kept_scores import records_by_key, score_keys
from unknot.studies.paths import StudyPaths
from unknot.studies.plan import PlannedRun, RankGroup, StudyPlan
from unknot.studies.spec import StudySpec
from unknot.studies.steps import KEY, Kind, Step, encoded, task_file


class Store:
    """A study's folder, and the plan it is filled by."""

    def __init__(self, folder: Path | str, plan: StudyPlan) -> None:
        self.paths, self.plan = StudyPaths(Path(folder).absolute()), plan
        self._sources: dict[str, dict[str, Any] | None] = {}
        belongs_to(self.folder, plan.study)

    @property
    def folder(self) -> Path:
        """The folder of the study."""
        return self.paths.folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process of one machine at a time work on the study; a killed one lets go of it."""
        with ExitStack() as stack:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(self.folder / "study.lock"))
            except HeldError as busy:
                raise UnknotError(
                    f"{self.folder}: {busy.holder} is running this study; wait until it ends.{busy.holder.hint}"
                ) from None
            except OSError as error:
                raise UnknotError(f"{self.folder}: cannot be written ({error.strerror or error}).") from None
            for name in ("", "tables", "ranks", "logs"):
                remove_parts(self.folder / name)
            yield

    def write_study(self) -> None:
        """Write the study as it was resolved, unless its file says the same already."""
        study, path = self.plan.study, self.paths.record
        runs = [
            {"id": r.id, "setting": r.setting, "metrics": r.metrics, "spec": r.spec.model_dump()}
            for r in self.runs
        ]
        ranking = [{"method": method, "scope": scope} for method, scope in self.plan.rankings]
        record = {"name": study.name, "about": study.about, "study": study.data, "runs": runs, "rankings": ranking}
        before, record = read_json(path), plain(record)
        if {key: before.get(key) for key in record} == record:
            return
        if what := newer(before):
            warnings.warn(f"{path}: is written anew.{what}", UnknotWarning, stacklevel=3)
        started = before.get("started") or datetime.now(UTC).isoformat(timespec="seconds")
        versions = {"unknot": __version__, "python": platform.python_version()}
        write_json(path, {**before, **record, "started": started, "versions": versions})

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """The runs of the plan."""
        return self.plan.runs

    def run(self, run: PlannedRun) -> Run:
        """One run on disk, which may not be begun yet."""
        return Run.at(self.paths.run(run.id))

    def trained(self, run: PlannedRun) -> bool:
        """Whether training is over."""
        return self.run(run).finished

    def source(self, run: PlannedRun) -> dict[str, Any] | None:
        """How the latents were made, if they are the ones the study wants."""
        if self._sources.get(run.id) is None:
            rows = self.plan.study.rows
            self._sources[run.id] = encoded(self.run(run), run.id, rows, run.spec.split)
        return self._sources[run.id]

    def forget(self, run_id: str) -> None:
        """Look at a run's latents anew."""
        self._sources.pop(run_id, None)

    def unscored(self, run: PlannedRun) -> tuple[str, ...]:
        """The metrics that have no result for the latents there are."""
        source = self.source(run)
        if source is None:
            return run.metrics
        kept, keys = records_by_key(self.run(run)), score_keys(run.metrics, source, self.plan.study.limit)
        return tuple(id_ for id_, key in keys.items() if key not in kept)

    def task_files(self, run: PlannedRun) -> dict[str, Path]:
        """Task -> where its result is, or will be."""
        weights = (self.source(run) or {}).get("encoder", {}).get("weights")
        tasks = self.plan.study.tasks.items()
        return {name: task_file(self.run(run), name, options, weights) for name, options in tasks}

    def undone(self, run: PlannedRun) -> list[str]:
        """The tasks that have no result for the weights there are."""
        return [name for name, path in self.task_files(run).items() if not path.is_file()]

    def missing(self, run: PlannedRun) -> list[Kind]:
        """The steps of a run that are still to be done, in their order."""
        scored: list[Kind] = ["score"] if self.unscored(run) else []
        tasks: list[Kind] = ["task"] if self.undone(run) else []
        if not self.trained(run):
            return ["train", "encode", *scored, *tasks]
        if self.source(run) is None:
            return ["encode", *scored, *tasks]
        return [*scored, *tasks]

    def ranking_key(self, group: RankGroup, method: str, scope: str) -> tuple[str, list[tuple[str, str]]]:
        """The name of a ranking's file, a hash of all it depends on; and its members, as they are now."""
        how = self.plan.study.ranking
        sources = [(run, source) for run in group.runs if (source := self.source(run)) is not None]
        members = [(run.id, _full_setting(run)) for run, _ in sources]
        weights = [source["encoder"].get("weights") for _, source in sources]
        key = json_hash([method, scope, how.partners, how.rows, self.plan.study.rows, members, weights], KEY)
        return key, members

    @property
    def planned_rankings(self) -> list[tuple[RankGroup, str, str]]:
        """(runs, method, scope) of the rankings there will be if no run fails."""
        return [
            (group, method, scope)
            for group in self.plan.ranked_groups
            for method, scope in self.plan.rankings
            if not too_few(scope, [_full_setting(run) for run in group.runs])
        ]

    def ranked(self, key: str) -> bool:
        """Whether a ranking is there."""
        return "ranks" in read_json(self.paths.ranking(key))

    def write_log(self, step: Step, error: str, log: str, attempts: int) -> Path:
        """Keep what a failed step said; its first line is the error."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        head = f"{step.kind}: {error}\n{step.title}\n{when}, after {attempts} attempt(s)\n\n"
        path = self.paths.log(step.id)
        with written_whole(path) as beside:
            beside.write_text(head + log, encoding="utf-8", errors="backslashreplace")
        return path

    def error(self, run: PlannedRun) -> str:
        """Why a run failed; empty if it did not."""
        try:
            with self.paths.log(run.id).open(encoding="utf-8", errors="replace") as file:
                return file.readline().strip()
        except OSError:
            return ""

    def write_tables(self) -> None:
        """Make the tables of the files there are now."""
        from unknot.studies.tables import make_tables

        for name, table in make_tables(self).items():
            write_parquet(self.paths.table(name), table)


def _full_setting(run: PlannedRun) -> str:
    """The setting of a run among all models."""
    return f"{run.spec.model}, {run.setting}"


def too_few(scope: str, settings: Sequence[str]) -> bool:
    """Whether runs with these settings cannot be ranked: none of them has another to be compared with."""
    return len(settings) < 2 or (scope == "setting" and len(set(settings)) == len(settings))


def belongs_to(folder: Path, study: StudySpec) -> None:
    """Refuse a folder that holds another study, or something else."""
    must_be_ours(folder, "study", ["study.json", "study.lock"])
    path = StudyPaths(folder).record
    if not path.exists():
        return
    name = read_json(path).get("name")
    if name is not None and study.name not in (name, renamed(str(name))):
        raise UnknotError(
            f"{folder}: belongs to the study '{name}', not to '{study.name}'; choose another with --output."
        )
