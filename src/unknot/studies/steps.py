"""What is done for a study, one step at a time, on whichever machine: train, encode, score, tasks, rank.

A step reads and writes files of the study's folder alone, each complete or not at all, and does what is missing of
it: done twice, or begun again after a kill, it leaves the same files.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unknot.errors import UnknotError, UnknotWarning
from unknot.files import json_hash, write_json
from unknot.processes.threads import one_thread
from unknot.progress import Progress, silent
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.studies.paths import StudyPaths

if TYPE_CHECKING:
    from unknot.representation import Representation

Kind = Literal["train", "encode", "score", "task", "rank"]
KINDS: tuple[Kind, ...] = ("train", "encode", "score", "task", "rank")
RUN_KINDS = KINDS[:-1]  # those of one run alone
KEY = 16  # digits of the keys that say what a result depends on
# The latents of a run, by its id, if an engine has them in memory.
Shared = Callable[[str], "Representation | None"]


@dataclass(frozen=True)
class Conditions:
    """Where and how steps are done: nothing of it but the device's rounding decides a result.

    Attributes:
        device: for training and encoding.
        data: folder of data files.
        checkpoint_every: training steps that a kill can cost.
    """

    device: str = "cpu"
    data: Path | None = None
    checkpoint_every: int = 1000


@dataclass(frozen=True)
class Step:
    """One thing to do, as plain values that any process can be sent.

    Attributes:
        kind: which.
        id: of the run, or of the ranking.
        title: in words.
        folder: of the study.
        values: what it takes: `spec` to train; `rows` and `split` to encode; `metrics` and `limit` to score;
            `tasks` (name -> options) for tasks; `members` (id, setting), `method`, `scope`, `partners` and `rows` to
            rank.
        conditions: under which it is done.
    """

    kind: Kind
    id: str
    title: str
    folder: str
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)
    conditions: Conditions = Conditions()

    @property
    def run(self) -> Run:
        """The run, which may not be begun yet."""
        return Run.at(StudyPaths(Path(self.folder)).run(self.id))


def perform(
    step: Step, progress: Progress = silent, shared: Shared = lambda run_id: None
) -> "Representation | None":
    """Do a step. Results are files; the latents of an encode step are also returned, as its file holds them.

    Args:
        step: what to do.
        progress: told how far it is.
        shared: finds latents that are in memory already, to be used in place of the file they were written to.
    """
    with one_thread():  # one process per core is fastest, and sums come out in the same order everywhere
        if step.kind == "encode":
            return _encode(step, progress)
        if step.kind == "train":
            _train(step, progress)
        elif step.kind == "score":
            _score(step, progress, shared)
        elif step.kind == "task":
            _task(step, progress)
        else:
            _rank(step, progress, shared)
    return None


def latents_of(run: Run, shared: Shared) -> "Representation":
    """The latents of a run: those in memory if they were made as the file says, else those of the file."""
    from unknot.representation import read_representation

    held = shared(run.folder.name)
    if held is not None and held.source == run.latents_source():
        return held
    return read_representation(run.latents)


def _train(step: Step, progress: Progress) -> None:
    from unknot.runs.training import train

    first, last, since, seconds = 0, 0, 0.0, 0.0

    def told(stage: str, done: int, total: int, /, **facts: Any) -> None:
        nonlocal first, last, since, seconds
        if not facts:  # it starts
            first, since = done, time.perf_counter()
        last, seconds = done, time.perf_counter() - since
        progress(stage, done, total, **facts)

    if not step.run.finished:
        step.run.latents.unlink(missing_ok=True)  # of weights that are no more
    run = train(
        RunSpec(**step.values["spec"]),
        step.run.folder.parent,
        device=step.conditions.device,
        data=step.conditions.data,
        checkpoint_every=step.conditions.checkpoint_every,
        wait=True,  # for a process of a killed study that has not noticed yet
        progress=told,
    )
    if run.spec.id != step.id:
        raise UnknotError(f"{run.spec.title}: was planned as run {step.id} and trained as {run.spec.id}.")
    if last > first:
        run.keep_speed(seconds, last - first)


def _encode(step: Step, progress: Progress) -> "Representation":
    from unknot.encoders.encoding import encode
    from unknot.representation import read_representation

    run = Run(step.run.folder)
    run.remove_parts()
    representation = encode(
        run,
        rows=step.values["rows"],
        split=step.values["split"],
        device=step.conditions.device,
        data=step.conditions.data,
        progress=progress,
    )
    return read_representation(representation.write(run.latents))


def _score(step: Step, progress: Progress, shared: Shared) -> None:
    from unknot.scoring import scoring
    from unknot.scoring.kept_scores import keep_scores, records_by_key, score_keys

    run = step.run
    run.remove_parts()
    representation = latents_of(run, shared)
    keys = score_keys(step.values["metrics"], representation.source, step.values["limit"])
    kept = records_by_key(run)
    missing = [id_ for id_, key in keys.items() if key not in kept]
    if not missing:
        return
    with warnings.catch_warnings(action="ignore", category=UnknotWarning):  # the record says what was left out
        todo = scoring.plan(representation, metrics=missing, limit=step.values["limit"], null=0)
        card = scoring.scorecard(todo, [])
        for i, record in enumerate(scoring.run(todo)):
            keep_scores(run, replace(card, records={record.id: record}), run.latents)
            progress("scoring", i + 1, len(missing))


def _task(step: Step, progress: Progress) -> None:
    from unknot.tasks import TASKS

    run, conditions = Run(step.run.folder), step.conditions
    run.remove_parts()
    weights = (run.latents_source() or {}).get("encoder", {}).get("weights")
    for name, options in step.values["tasks"].items():
        path = task_file(run, name, options, weights)
        if path.is_file():
            continue
        where = {"device": conditions.device, "data": conditions.data, "folder": path.with_suffix("")}
        with warnings.catch_warnings(action="ignore", category=UnknotWarning):  # the notes say it
            result = TASKS[name].function(run, **options, **where, progress=progress)
        result.write(path)
        for other in run.results(name):
            if other != path:
                other.unlink()  # of other options, or of weights that are no more


def _rank(step: Step, progress: Progress, shared: Shared) -> None:
    from unknot.ranking.ranking import rank
    from unknot.studies.spec import parse_method

    values, paths = step.values, StudyPaths(Path(step.folder))
    # Latents are read in their turn.
    members = {id_: partial(latents_of, Run.at(paths.run(id_)), shared) for id_, _ in values["members"]}
    with warnings.catch_warnings(action="ignore", category=UnknotWarning):  # the notes say it
        ranking = rank(
            members,
            groups=[setting for _, setting in values["members"]],
            all_to_all=values["scope"] == "all",
            partners=values["partners"],
            rows=values["rows"],
            progress=progress,
            **(parse_method(values["method"]) or {}),
        )
    columns = ranking.names, *(c.tolist() for c in (ranking.scores, ranking.n_informative, ranking.compared))
    rows = [
        {"id": id_, "score": None if score != score else score, "informative": informative, "partners": partners}
        for id_, score, informative, partners in zip(*columns, strict=True)
    ]
    record = {"method": values["method"], "scope": values["scope"], "ranks": rows, "notes": list(ranking.notes)}
    write_json(paths.ranking(step.id), record)


def encoded(run: Run, id_: str, rows: int | str, split: str) -> dict[str, Any] | None:
    """How the latents of a run were made, if they are the ones a study wants."""
    source = run.latents_source()
    if source is None or source.get("encoder", {}).get("id") != id_:
        return None
    wanted = {"rows": rows, "split": split, "seed": 0}
    return source if all(source.get(name) == value for name, value in wanted.items()) else None


def task_file(run: Run, name: str, options: Mapping[str, Any], weights: str | None) -> Path:
    """Where the result of a task is; its name depends on everything its numbers depend on."""
    from unknot.tasks import TASKS

    return run.result_of(name, json_hash([name, TASKS[name].version, dict(options), weights], KEY))
