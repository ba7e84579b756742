"""Run a study: `run_study(plan, folder)`. Only what is missing or has changed is done.

A step that fails is tried again, then reported with its log while the others go on. Ctrl-C, or the death of any
process, leaves files from which the same call goes on.
"""

import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unknot.progress import Progress, silent
from unknot.studies.engines import Advance, Engine, Outcome, open_engine
from unknot.studies.plan import PlannedRun, StudyPlan
from unknot.studies.steps import KINDS, RUN_KINDS, Conditions, Kind, Step
from unknot.studies.store import Store, too_few

TABLES_EVERY = 30.0  # seconds between two writings of the tables while a study runs
TABLES_SHARE = 0.05  # of the time that they may take: a study of a thousand runs writes them less often
SHARED_DISK = 5.0  # seconds until every machine of a cluster sees a file
LOOK_EVERY = 0.5  # seconds between two looks at the engine


@dataclass
class StudyState:
    """What of a study is done, under way and failed.

    Attributes:
        total: steps of each kind.
        done: those of them that are done, from before included.
        running: how far each step under way is, if it says.
        failures: (title, error, log) of what failed for good.
        retried: how many attempts failed and were followed by another.
        notes: what was left out.
        trained: training steps (updates) done by this call.
        untrained: those still to do.
        event: the latest one in words; empty if there is none since the last look.
        seconds: since the call.
        finished: whether all is over.
    """

    total: dict[Kind, int]
    done: dict[Kind, int]
    running: dict[Step, tuple[int, int] | None] = field(default_factory=dict)
    failures: list[tuple[str, str, Path]] = field(default_factory=list)
    retried: int = 0
    notes: list[str] = field(default_factory=list)
    trained: int = 0
    untrained: int = 0
    event: str = ""
    seconds: float = 0.0
    finished: bool = False


def run_study(
    plan: StudyPlan,
    folder: Path | str,
    *,
    engine: Engine | str = "local",
    jobs: int | None = None,
    retries: int = 1,
    conditions: Conditions | None = None,
    progress: Progress = silent,
) -> StudyState:
    """Do what is missing of a study, and write its tables.

    Args:
        plan: from `unknot.studies.plan.plan_study`.
        folder: of the study; made if need be.
        engine: an `Engine`, which is left open, or the name of one.
        jobs: steps at a time, for an engine by name.
        retries: how often a failed step is tried again.
        conditions: device, folder of data files, and steps between checkpoints.
        progress: told how many steps are done, twice a second or so, with the whole `StudyState` as the fact `state`.
    """
    store, conditions = Store(folder, plan), conditions or Conditions()
    if conditions.data is not None:
        conditions = replace(conditions, data=conditions.data.absolute())
    with store.locked():
        store.write_study()
        opened = open_engine(engine, jobs=jobs) if isinstance(engine, str) else engine
        work = _Work(store, opened, conditions, retries, progress)
        stopped = True
        try:
            work.runs()
            work.rankings()
            stopped = False
        finally:
            if isinstance(engine, str) or stopped:
                opened.close(stop=stopped)
            store.write_tables()
        work.state.finished = True
        work.report("")
    return work.state


class _Work:
    """The steps of a study that wait, and those under way."""

    def __init__(
        self, store: Store, engine: Engine, conditions: Conditions, retries: int, progress: Progress
    ) -> None:
        self.store, self.engine, self.conditions = store, engine, conditions
        self.retries, self.progress = retries, progress
        self.began = time.monotonic()
        self.next_tables = self.began + TABLES_EVERY
        self.attempts: dict[Step, int] = {}
        self.waiting: deque[Step] = deque()
        self.advanced: dict[Step, int] = {}  # training step at which one under way was first seen
        left = {run.id: store.missing(run) for run in store.runs}
        kinds = RUN_KINDS if store.plan.study.tasks else RUN_KINDS[:-1]
        none = dict.fromkeys(KINDS, 0)
        self.by_id = {run.id: run for run in store.runs}
        self.state = StudyState(
            total=none | dict.fromkeys(kinds, len(store.runs)) | {"rank": len(store.planned_rankings)},
            done=none | {kind: sum(kind not in missing for missing in left.values()) for kind in kinds},
            untrained=sum(run.spec.updates for run in store.runs if "train" in left[run.id]),
        )
        for run in store.runs:
            if not left[run.id]:
                store.paths.log(run.id).unlink(missing_ok=True)  # mended by hand
            else:
                self.waiting.append(self._next(run))

    def runs(self) -> None:
        """Train, encode and score every run, and put it to its tasks."""
        self.report("")
        self._drain()

    def rankings(self) -> None:
        """Rank the runs that are there, those of each world and split for themselves."""
        current: set[str] = set()
        for group in self.store.plan.ranked_groups:
            for method, scope in self.store.plan.rankings:
                key, members = self.store.ranking_key(group, method, scope)
                current.add(key)
                if too_few(scope, [setting for _, setting in members]):
                    where = f"{group.world}, {group.split} split" if group.split else group.world
                    self.state.notes.append(f"{where}: too few runs for a ranking by {method}, scope {scope}.")
                elif self.store.ranked(key):
                    self.state.done["rank"] += 1
                else:
                    self.waiting.append(self._ranking(key, members, method, scope, group.world))
        self._drain()
        for path in (self.store.folder / "ranks").glob("*.json"):
            if path.stem not in current:
                path.unlink()

    def report(self, event: str) -> None:
        """Say how far the study is."""
        state = self.state
        state.event, state.seconds = event, time.monotonic() - self.began
        self.progress("study", sum(state.done.values()), sum(state.total.values()), state=state)

    def _drain(self) -> None:
        while self.waiting or self.state.running:
            while self.waiting and self.engine.has_room():
                step = self.waiting.popleft()
                self.state.running[step] = None
                self.engine.submit(step)
            for event in self.engine.wait(LOOK_EVERY):
                if isinstance(event, Advance):
                    self._advance(event)
                else:
                    self._ended(event)
            self.report("")
            if (began := time.monotonic()) > self.next_tables:
                self.store.write_tables()
                ended = time.monotonic()
                self.next_tables = ended + max(TABLES_EVERY, (ended - began) / TABLES_SHARE)

    def _advance(self, event: Advance) -> None:
        _, planned = self.state.running.get(event.step) or (0, event.total)
        self.state.running[event.step] = (event.done, event.total)
        if event.step.kind == "train":
            self.state.untrained += event.total - planned  # a tournament may begin more starts
            before = self.advanced.get(event.step, event.done)
            self.advanced[event.step] = event.done
            self.state.trained += event.done - before
            self.state.untrained -= event.done - before

    def _ended(self, outcome: Outcome) -> None:
        step = outcome.step
        self.state.running.pop(step, None)
        self.attempts[step] = self.attempts.get(step, 0) + 1
        if not outcome.error and not self._is_there(step):
            outcome = replace(outcome, error="it ended well, but its result is not in the study's folder")
        if outcome.error:
            self._failed(step, outcome)
            return
        self.store.paths.log(step.id).unlink(missing_ok=True)
        self.state.done[step.kind] += 1
        if step.kind != "rank":
            run = self.by_id[step.id]
            if self.store.missing(run):
                self.waiting.appendleft(self._next(run))  # ended runs are worth more than begun ones
        self.report(f"{step.kind} done: {step.title} ({outcome.seconds:.1f} s)")

    def _is_there(self, step: Step) -> bool:
        """Whether a step that ended well left its result; a shared disk may show it a little later."""
        until = time.monotonic() + SHARED_DISK
        while True:
            self.store.forget(step.id)
            run = self.by_id.get(step.id)
            if self.store.ranked(step.id) if run is None else step.kind not in self.store.missing(run):
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.2)

    def _failed(self, step: Step, outcome: Outcome) -> None:
        attempts = self.attempts[step]
        if attempts <= self.retries:
            self.state.retried += 1
            self.waiting.append(step)
            self.report(f"{step.kind} failed, will be tried again: {step.title}: {outcome.error}")
            return
        log = self.store.write_log(step, outcome.error, outcome.log, attempts)
        self.state.failures.append((f"{step.kind} {step.title}", outcome.error, log))
        self.report(f"{step.kind} FAILED: {step.title}: {outcome.error}")

    def _next(self, run: PlannedRun) -> Step:
        """The first step of a run that is missing."""
        kind: Kind = self.store.missing(run)[0]
        study = self.store.plan.study
        taken: dict[str, dict[str, Any]] = {
            "train": {"spec": run.spec.model_dump()},
            "encode": {"rows": study.rows, "split": run.spec.split},
            "score": {"metrics": run.metrics, "limit": study.limit},
            "task": {"tasks": {name: dict(options) for name, options in study.tasks.items()}},
        }
        setting = "" if run.setting == "default" else f", {run.setting}"
        split = f", {run.spec.split}" if run.spec.split else ""
        title = f"{run.spec.model}{setting}, {run.spec.world}{split}, seed {run.spec.seed}"
        return Step(kind, run.id, title, str(self.store.folder), taken[kind], self.conditions)

    def _ranking(self, key: str, members: list[tuple[str, str]], method: str, scope: str, world: str) -> Step:
        how = self.store.plan.study.ranking
        values = {"members": members, "method": method, "scope": scope, "partners": how.partners, "rows": how.rows}
        title = f"{method}, scope {scope}, {len(members)} runs on {world}"
        return Step("rank", key, title, str(self.store.folder), values, self.conditions)
