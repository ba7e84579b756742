"""A tournament of starts, without labels: the start whose latents others found as well is trained to its end.

A start ends with latents along the axes of variation, or across them. There is one way to lie along and there are many
to lie across, so good starts are alike (UDR, Duan et al. 2020), and they are so long before the end of training. All
starts are trained for 40 % of their steps and compared with each other on the same images. Where no start is alike
enough to others, few of them are good, and some may be alike by chance: as many again are begun, once. The winner goes
on, and ends as the run of its seed alone would have, bit for bit.
"""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.metrics.arrays import Floats
from unknot.metrics.udr import Informative, informative, udr_scores
from unknot.models.codes import represent
from unknot.models.terms import kl_per_latent
from unknot.processes.pool import spread
from unknot.progress import Progress, silent
from unknot.reading.guard import parsing
from unknot.runs.batches import Feed
from unknot.runs.run import Run
from unknot.runs.schedules import ALIKE, judged_after
from unknot.runs.spec import RunSpec
from unknot.runs.trainer import DivergedError, seed_of
from unknot.runs.training import build_model

ROWS = 2_000  # images that starts are compared on
STARTS = 2**31 + 1  # tells seeds of starts from those of steps
QUARTILE = 75  # of a start's pair scores: half of the starts may fail, each in its own way


class TrainStart(Protocol):
    """Trains a start in a folder until a step, or to its end."""

    def __call__(self, spec: RunSpec, folder: Path, *, until: int | None, progress: Progress = silent) -> Run:
        """Train."""


def starts_of(spec: RunSpec, first: int = 0, last: int | None = None) -> list[RunSpec]:
    """The specs of the starts of a run, or of some of them, by number."""
    numbers = range(first, (spec.starts or 1) if last is None else last)
    return [spec.replace(seed=seed_of(spec.seed, STARTS, i), starts=None) for i in numbers]


def hold(run: Run, feed: Feed, train: TrainStart, jobs: int, progress: Progress) -> None:
    """Train the starts of a run, choose one, train it to its end, and make its files those of the run.

    Args:
        run: with starts.
        feed: the images that starts are compared on are drawn from it.
        train: trains one start.
        jobs: starts at a time.
        progress: told how many steps of all starts are done.
    """
    specs, folder, until = starts_of(run.spec), run.folder / "starts", judged_after(run.spec.steps)
    begun, updates = False, run.spec.updates

    def after(steps: int) -> Progress:
        """The progress of a start after so many steps of others; only the first says that training starts."""

        def told(stage: str, done: int, total: int, /, **facts: Any) -> None:
            nonlocal begun
            if facts or not begun:
                begun = True
                progress(stage, steps + done, updates, **facts)

        return told

    def begin(first: int) -> list[dict[str, float]]:
        """Train all starts from this one on until they are judged, and judge them with those before."""
        if jobs > 1:
            after(0)("training", first * until, updates)
            work = partial(_begin, train, folder, until)
            each = spread(_in_worker, work, specs[first:], min(jobs, len(specs) - first))
            for done, _ in enumerate(each, start=first + 1):
                after(0)("training", done * until, updates, starts=done)
        else:
            for i, spec in enumerate(specs[first:], start=first):
                _begin(train, folder, until, spec, progress=after(i * until))
        return _judged([Run(folder / spec.id) for spec in specs], feed)

    if not (run.folder / "starts.parquet").is_file():
        _must_have_latents(run, feed)
        rows, n = begin(0), len(specs)
        if not any(row["udr"] >= ALIKE for row in rows):
            specs += starts_of(run.spec, n, 2 * n)
            updates += n * until
            rows = begin(n)
        if not any(row["kept"] for row in rows):
            raise UnknotError(
                f"{run.folder}: of {len(rows)} starts no two can be compared: they diverged, or have no informative "
                "latent. Try more steps, a smaller learning rate, or less weight on what is not reconstruction.",
                field="starts",
            )
        run.write_table("starts", rows)
    table, updates = run.starts(), run.updates
    with parsing(run.folder / "starts.parquet", "the starts of a tournament", "Move it away."):
        winner = starts_of(run.spec, last=len(table))[int(table["kept"].argmax())]
        others = float(table["seconds"][table["kept"] == 0].sum())
    trained = train(winner, folder, until=None, progress=after((len(table) - 1) * until))
    _adopt(run, trained)
    facts = {name: fact for name, fact in trained.record.items() if name not in run.record}
    run.note(**facts | {"training_seconds": round(others + float(trained.record["training_seconds"]), 1)})
    with written_whole(run.weights) as beside:
        shutil.copyfile(trained.weights, beside)
    shutil.rmtree(folder, ignore_errors=True)


def _must_have_latents(run: Run, feed: Feed) -> None:
    """Refuse models that could not be compared, before hours of training."""
    model, _ = build_model(run.spec, feed.world)
    rng = np.random.default_rng(0)
    shape = represent(model.eval(), feed.tensor(feed.region.sample(2, rng), rng)).mean.shape
    if len(shape) != 2:
        raise UnknotError(
            f"{run.spec.model}: has slots, {shape[1]} of {shape[2]} numbers, in any order, and starts are compared "
            "latent by latent; leave starts out.",
            field="starts",
        )


def _begin(train: TrainStart, folder: Path, until: int, spec: RunSpec, progress: Progress = silent) -> None:
    """Train a start until it is judged; one that diverges has lost."""
    try:
        train(spec, folder, until=until, progress=progress)
    except DivergedError:
        Run(folder / spec.id).checkpoint.unlink(missing_ok=True)


def _in_worker(work: Any, spec: RunSpec) -> None:
    work(spec)


def _judged(starts: Sequence[Run], feed: Feed) -> list[dict[str, float]]:
    """A row for each start: its UDR, how many informative latents it has, its seconds, and whether it is kept."""
    rng = np.random.default_rng([feed.seed, STARTS])
    images = feed.tensor(feed.region.sample(ROWS, rng), rng)
    seconds, codes = {}, {}
    for run in [run for run in starts if run.checkpoint.is_file()]:
        seconds[run], codes[run] = _reached(run, feed, images)
    scores = dict(zip(codes, likeness(list(codes.values())).tolist(), strict=True)) if len(codes) > 1 else {}
    known = {run: score for run, score in scores.items() if not np.isnan(score)}
    best = max(known, key=lambda run: known[run], default=None)
    return [
        {
            "seed": run.spec.seed,
            "udr": scores.get(run, np.nan),
            "informative": int(codes[run].mask.sum()) if run in codes else 0,
            "seconds": seconds.get(run, 0.0),
            "kept": int(run is best),
        }
        for run in starts
    ]


def _reached(run: Run, feed: Feed, images: torch.Tensor) -> tuple[float, Informative]:
    """The seconds of a start, and its code of images."""
    model, _ = build_model(run.spec, feed.world)
    with parsing(run.checkpoint, "the checkpoint of a start", "Move it away, and this start is begun anew."):
        state = torch.load(run.checkpoint, "cpu", weights_only=True)
        model.load_state_dict(state["model"])
        seconds = float(state["seconds"])
    q = represent(model.eval(), images)
    kl = None if q.logvar is None else kl_per_latent(q).numpy()
    return seconds, informative(q.mean.numpy(), kl, method="spearman", who="starts")


def likeness(codes: Sequence[Informative]) -> Floats:
    """How alike each code is to others: the upper quartile of its pair scores; NaN without an informative latent.

    Departs from Duan et al. 2020: their median over partners needs half of them to be good.

    >>> z = np.random.default_rng(0).normal(size=(100, 2))
    >>> likeness([informative(code, method="spearman") for code in (z, -z, z @ [[1, 1], [1, -1]])]).round(1)
    array([0.8, 0.8, 0.4])
    """
    n = len(codes)
    pairs = np.full((n, n), np.nan)  # predictor by target
    pairs[~np.eye(n, dtype=bool)] = udr_scores(codes)
    scores, scored = np.full(n, np.nan), ~np.isnan(pairs).all(axis=0)
    scores[scored] = np.nanpercentile(pairs[:, scored], QUARTILE, axis=0)
    return scores


def _adopt(run: Run, winner: Run) -> None:
    """Copy the tables and pictures of a start."""
    for path in [*winner.folder.glob("*.parquet"), *winner.pictures.glob("*")]:
        target = run.folder / path.relative_to(winner.folder)
        target.parent.mkdir(exist_ok=True)
        with written_whole(target) as beside:
            shutil.copyfile(path, beside)
