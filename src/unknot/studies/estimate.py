"""How long a study will take: from the speed of its finished runs, else from a short trial of each kind of run."""

import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.metrics import METRICS, parse_identity
from unknot.processes.threads import threads_of_torch
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.scoring.kept_scores import kept_records
from unknot.studies.steps import Kind
from unknot.studies.store import Store
from unknot.tasks import TASKS, read_result

if TYPE_CHECKING:
    from unknot.models.model import Model
    from unknot.runs.batches import Feed

TRIAL = 1.0  # seconds of steps that are timed, after two that are not; a longer one is not repeated
ROWS = 256  # images that are encoded in a trial
FEW, SLOW = 2, 5.0  # a step of more seconds than this is not done whole, but with so few images
TIMED = 20  # finished results of a task whose times are read
COSTS = {"instant": 0.1, "seconds": 5.0, "minutes": 60.0}  # of a metric that was never timed here


@dataclass
class Estimate:
    """Seconds of work that are left, on one processor.

    Attributes:
        seconds: by kind of step; None where nothing is known, as for a world that is not here.
        basis: what the numbers rest on, in words.
        left_out: work that is left and that the numbers do not count, in words.
    """

    seconds: dict[Kind, float | None] = field(default_factory=dict)
    basis: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def total(self, workers: int) -> float:
        """Seconds with so many processes."""
        return sum(seconds or 0.0 for seconds in self.seconds.values()) / workers


@dataclass(frozen=True)
class Speed:
    """Seconds for one training step, and for one encoded image."""

    step: float
    row: float

    @classmethod
    def of_steps(cls, step: float, batch_size: int) -> "Speed":
        """The speed that steps tell of; a row costs about a third of its share of one."""
        return cls(step, step / batch_size / 3)


def estimate(store: Store, *, data: Path | None = None) -> Estimate:
    """What is left of a study, in seconds of one processor."""
    left = {run.id: store.missing(run) for run in store.runs}
    speeds = _finished(store)
    measured, tried, unknown = len(speeds), 0, 0
    train = encode = 0.0
    slow: dict[tuple[Any, ...], Speed] = {}
    for run in store.runs:
        if "encode" not in left[run.id]:
            continue
        if run.spec.world in store.plan.missing:
            unknown += 1
            continue
        kind = _kind(run.spec)
        if kind not in speeds:
            of_model = kind[1:]  # a slow step is the model's; what its world adds counts for nothing
            if of_model in slow:
                speeds[kind] = slow[of_model]
            else:
                speeds[kind] = trial(run.spec, data=data)
                tried += 1
            if speeds[kind].step > SLOW:
                slow[of_model] = speeds[kind]
        rows = 15_000 if store.plan.study.rows == "all" else int(store.plan.study.rows)
        encode += rows * (2 if run.spec.split else 1) * speeds[kind].row
        train += run.spec.updates * speeds[kind].step if "train" in left[run.id] else 0.0
    score, timed = _scoring(store)
    basis = []
    if measured:
        basis.append("training at the speed of finished runs")
    if tried:
        basis.append(f"training at the speed of {tried} short trial{'s' * (tried > 1)}")
    basis.append("scoring as timed in finished runs" if timed else "scoring by rule of thumb")
    task, of_tasks, left_out = task_seconds(store, data=data)
    if unknown:
        left_out = [f"training and encoding {unknown} runs on worlds that are not here", *left_out]
    seconds: dict[Kind, float | None] = {"train": train, "encode": encode, "score": score, "task": task}
    return Estimate(seconds, basis + of_tasks, left_out)


def trial(spec: RunSpec, *, data: Path | None = None) -> Speed:
    """Time a few training steps and the encoding of a few images; where those take long, one step with few images."""
    import torch

    from unknot.models.codes import represent
    from unknot.runs.training import build_model, feed
    from unknot.worlds import open_world

    scratch = TemporaryDirectory(prefix="unknot-")
    with threads_of_torch(1), scratch as folder, torch.random.fork_rng(devices=[]):
        world = open_world(spec.world, data=data)
        model, full = build_model(spec, world)
        few = full.replace(batch_size=min(FEW, full.batch_size))
        step = (
            _step(few, model, feed(few, model, world), Path(folder, "few"), 0.0) * full.batch_size / few.batch_size
        )
        batches = feed(full, model, world)
        if step > SLOW:
            return Speed.of_steps(step, full.batch_size)
        step = _step(full, model, batches, Path(folder, "all"), TRIAL)
        rows, rng = ROWS, np.random.default_rng(0)
        since = time.process_time()
        represent(model.eval(), batches.tensor(batches.region.sample(rows, rng), rng))
        return Speed(step, (time.process_time() - since) / rows)


def _step(spec: RunSpec, model: "Model", batches: "Feed", folder: Path, seconds: float) -> float:
    """CPU seconds of a step, over at least so many after two that are not timed; of a slow one, the second.

    The first loads libraries and says nothing of the others.
    """
    import torch

    from unknot.runs.trainer import Trainer

    trainer = Trainer(Run.create(folder, spec), model, batches, torch.device("cpu"))
    trainer.model.train()
    with closing(trainer.batches):
        trainer.advance()
        since = time.process_time()
        trainer.advance()
        if (took := time.process_time() - since) > TRIAL:
            return took
        steps, since, began = 0, time.process_time(), time.perf_counter()
        while not steps or time.perf_counter() - began < seconds:
            trainer.advance()
            steps += 1
        return (time.process_time() - since) / steps


def _kind(s: RunSpec) -> tuple[Any, ...]:
    """What decides the speed of a run."""
    return s.world, s.model, s.architecture, s.image_size, s.batch_size, s.latents, s.precision


def _finished(store: Store) -> dict[tuple[Any, ...], Speed]:
    """Speeds of finished runs."""
    times: dict[tuple[Any, ...], list[float]] = {}
    for run in store.runs:
        took = store.run(run).minutes
        if store.trained(run) and took == took:
            times.setdefault(_kind(run.spec), []).append(took * 60 / run.spec.updates)
    sizes = {_kind(run.spec): run.spec.batch_size for run in store.runs}
    means = {kind: sum(steps) / len(steps) for kind, steps in times.items()}
    return {kind: Speed.of_steps(step, sizes[kind]) for kind, step in means.items()}


def _scoring(store: Store) -> tuple[float, bool]:
    seen: dict[str, list[float]] = {}
    for run in store.runs:
        for record in kept_records(store.run(run)):
            for id_, score in record["scores"].items():
                seen.setdefault(id_, []).append(float(score["seconds"]))
    known = {id_: sum(times) / len(times) for id_, times in seen.items()}
    left = [id_ for run in store.runs for id_ in (store.unscored(run) if store.trained(run) else run.metrics)]
    variants = {id_: parse_identity(id_, METRICS) for id_ in {*left}}
    guess = {id_: COSTS[METRICS[name].facts.cost_of(options)] for id_, (name, options) in variants.items()}
    costs = guess | known
    return sum(costs[id_] for id_ in left), bool(known)


def task_seconds(store: Store, *, data: Path | None = None) -> tuple[float, list[str], list[str]]:
    """Seconds of the tasks that are left, on one processor; what they rest on, and what they leave out, in words."""
    total = 0.0
    basis: list[str] = []
    left_out: list[str] = []
    undone = {run.id: store.undone(run) for run in store.runs}
    for name, values in store.plan.study.tasks.items():
        left = [run for run in store.runs if name in undone[run.id]]
        done = [run for run in store.runs if name not in undone[run.id]][:TIMED]
        if not left:
            continue
        if done:
            times = [read_result(store.task_files(run)[name]).seconds for run in done]
            total += len(left) * sum(times) / len(times)
            basis.append(f"{name} as timed in finished runs")
            continue
        task = TASKS[name]
        worlds = {values.get("world") or run.spec.world for run in left} - set(store.plan.missing)
        if task.estimate is None or not worlds:
            left_out.append(f"the task {name}")
            continue
        options = task.options(**{option: value for option, value in values.items() if option != "world"})
        seconds = {world: task.estimate(world, options, data) for world in sorted(worlds)}
        total += sum(seconds.get(values.get("world") or run.spec.world, 0.0) for run in left)
        basis.append(f"{name} at the speed of a short trial")
    return total, basis, left_out


def in_words(seconds: float) -> str:
    """A duration as people say it.

    >>> in_words(40), in_words(600), in_words(7500), in_words(300_000)
    ('40 s', '10 min', '2 h 5 min', '3 days 11 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    hours, minutes_ = divmod(round(seconds / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes_} min"
    return f"{hours // 24} days {hours % 24} h"
