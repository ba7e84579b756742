"""Score a representation with every metric that applies: `unknot.score(latents, factors)`.

Each metric is run on its own with the same seed, so that a number does not depend on which others were asked
for, in which order, or in how many processes.
"""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.inputs import check_latents, column_names, prepare
from unknot.metrics.score import Score, identity, parse_identity
from unknot.metrics.verdict import information_shares, verdicts
from unknot.progress import Progress, silent
from unknot.reading.arguments import checked
from unknot.reading.arrays import as_array
from unknot.representation import Representation, read_representation
from unknot.scoring.rows import Data, chosen
from unknot.scoring.scorecard import Plan, Record, Scorecard

if TYPE_CHECKING:
    from unknot.runs.run import Run

TRAIN_ROWS, TEST_ROWS = 10_000, 5_000  # what the literature trains probes and trees on


@checked
def score(
    latents: Any,
    factors: Any = None,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    factor_names: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = silent,
    **options: Any,
) -> Scorecard:
    """Score latents against factors with every metric that applies; those of a run are kept in its folder.

    Args:
        latents: (n, d) array, torch tensor or table; or a `Representation`; or the path of its file; or a run or its
            folder, which is encoded now unless it is already.
        factors: (n, f) factor classes; without them only the label-free metrics run.
        latents_test: held-out latents; a third of the rows is split off by `seed` where they are missing.
        factors_test: held-out factors.
        factor_names: names of the factors.
        jobs: number of processes.
        progress: told how many metrics are done.
        options: `metrics`, `exclude`, `seed`, `limit`, `bootstrap`: see `plan`.

    >>> import unknot
    >>> latents, factors = unknot.examples.toy_m1()
    >>> round(unknot.score(latents, factors, metrics=["mig"])["mig"].value, 3)
    0.189
    """
    scored = run_of(latents)
    if scored is not None:
        from unknot.encoders.encoding import representation_of

        latents = representation_of(scored, progress=progress)
    test = {"latents_test": latents_test, "factors_test": factors_test}
    todo = plan(_gathered(latents, factors, factor_names, **test), **options)
    card = scorecard(todo, run(todo, jobs=jobs, progress=progress))
    if scored is not None and factors is None:  # with factors of one's own they are no scores of the run alone
        from unknot.scoring.kept_scores import keep_scores

        try:
            keep_scores(scored, card, latents)
        except UnknotError as error:
            warnings.warn(f"the scores are not kept with the run: {error}", UnknotWarning, stacklevel=2)
    return card


def run_of(latents: Any) -> "Run | None":
    """The run that is to be scored, if it is one; what a run needs is not imported for arrays and files."""
    file = isinstance(latents, str | Path) and not Path(latents).is_dir()
    if file or isinstance(latents, np.ndarray | Representation):
        return None
    from unknot.encoders.source import Source

    return Source.of(latents).run


@checked
def plan(
    representation: Representation,
    *,
    metrics: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str = (),
    seed: int = 0,
    limit: int | None = None,
    bootstrap: int = 0,
) -> Plan:
    """Check the input and choose the metrics; nothing is computed yet.

    Args:
        representation: what is scored.
        metrics: which, by short or full name (`"mig"`, `"dci[lasso]"`). Left out, all that apply, but for those
            that take minutes or whose number another one reports (`facts.asked`).
        exclude: which ones not.
        seed: decides splits, resamples and whatever a metric draws.
        limit: use at most this many rows. Without it, metrics that train something use at most the literature's
            10,000 training and 5,000 test rows, and the others all rows.
        bootstrap: number of resamples for a 95 % interval of each training-free metric.
    """
    if seed < 0:
        raise UnknotError(f"score: seed is {seed}; expected 0 or more.")
    if limit is not None and limit < 2:
        raise UnknotError(f"score: limit is {limit}; at least two rows are needed.")
    if bootstrap < 0 or bootstrap == 1:
        raise UnknotError(
            f"score: bootstrap is {bootstrap}; use 0 for none, or a number of resamples such as 200."
        )
    rows = None
    if representation.factors is None:
        representation = replace(representation, latents=check_latents("score", representation.latents))
    else:
        rows = prepare(
            "score",
            representation.latents,
            representation.factors,
            representation.latents_test,
            representation.factors_test,
            names=representation.factor_names,
        )
        # double precision once, not by each metric again
        representation = replace(representation, latents=rows.latents, latents_test=rows.latents_test)
    tasks = _choose(metrics, exclude, labelled=rows is not None)
    return Plan(representation, rows, tasks, seed, limit, bootstrap)


def run(todo: Plan, *, jobs: int = 1, progress: Progress = silent) -> Iterator[Record]:
    """Work through a plan, yielding each metric's record as it is finished.

    Args:
        todo: what to do.
        jobs: number of processes.
        progress: told how many metrics are done and, where one runs at a time, which is next.
    """
    if jobs < 1:
        raise UnknotError(f"score: jobs is {jobs}; expected at least one process.")
    total = len(todo.tasks)
    if jobs == 1 or total == 1:
        shared: dict[Any, Data] = {}
        for done, ((name, options), id_) in enumerate(zip(todo.tasks, todo.ids, strict=True)):
            progress("scoring", done, total, metric=id_)
            yield _run_one(todo, name, options, shared)
        progress("scoring", total, total)
        return
    from concurrent.futures.process import BrokenProcessPool

    from unknot.processes.pool import spread

    costs = ("minutes", "seconds", "instant")  # longest first keeps all processes busy to the end
    slow_first = sorted(todo.tasks, key=lambda task: costs.index(METRICS[task[0]].facts.cost))
    try:
        for done, record in enumerate(spread(_run_task, todo, slow_first, min(jobs, total)), start=1):
            progress("scoring", done, total)
            yield record
    except BrokenProcessPool:
        raise UnknotError(
            "score: a process died (out of memory?); try fewer jobs, or fewer rows with limit."
        ) from None


def scorecard(todo: Plan, records: Iterable[Record]) -> Scorecard:
    """Gather the records of a plan, in its order, with a verdict on each factor."""
    by_id = {record.id: record for record in records}
    ordered = {id_: by_id[id_] for id_ in todo.ids if id_ in by_id}
    if todo.rows is None:
        return Scorecard(todo, ordered)
    shares = information_shares(todo.rows)
    names = [todo.rows.names[j] for j in todo.rows.kept]
    return Scorecard(todo, ordered, verdicts(shares, names), shares)


def _gathered(latents: Any, factors: Any, factor_names: Sequence[str], **test: Any) -> Representation:
    """What is scored, as one; what would be passed over beside a file or a Representation is refused."""
    file = isinstance(latents, str | Path)
    if not file and not isinstance(latents, Representation):
        arrays = {"latents": latents, "factors": factors, **test}
        arrays = {name: as_array(array) for name, array in arrays.items() if array is not None}
        return Representation(**arrays, factor_names=tuple(factor_names) or column_names(factors))
    in_two_files = file and isinstance(factors, str | Path)
    names = factor_names if len(factor_names) else None
    beside = {"factors": None if in_two_files else factors, **test, "factor_names": names}
    ignored = [name for name, value in beside.items() if value is not None]
    if ignored:
        what = f"the file {latents}" if file else "a Representation"
        raise UnknotError(
            f"score: {', '.join(ignored)} beside {what} would be passed over; pass arrays throughout, or put "
            "all of them into one Representation."
        )
    return read_representation(latents, factors) if file else latents


def _choose(
    metrics: Sequence[str] | str | None, exclude: Sequence[str] | str, *, labelled: bool
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    metrics = [metrics] if isinstance(metrics, str) else metrics
    exclude = [exclude] if isinstance(exclude, str) else exclude
    left_out = {parse_identity(text, METRICS)[0] for text in exclude}
    if metrics:
        wanted = [parse_identity(text, METRICS) for text in metrics]
        needing = [name for name, _ in wanted if METRICS[name].facts.labels]
        if needing and not labelled:
            raise UnknotError(
                f"score: {', '.join(needing)} needs factors, and there are none; give a file of factors."
            )
    else:
        suite = {name: metric.facts for name, metric in METRICS.items() if not metric.facts.asked}
        wanted = [(name, {}) for name, facts in suite.items() if labelled or not facts.labels]
    chosen = tuple((name, options) for name, options in wanted if name not in left_out)
    if not chosen:
        raise UnknotError("score: every metric is excluded; nothing is left to compute.")
    return chosen


def _run_one(todo: Plan, name: str, options: Mapping[str, Any], shared: dict[Any, Data] | None = None) -> Record:
    """Run one metric; a refusal is a result, any other error is a bug and passes through.

    Metrics that see the same rows find them in `shared`, checked and coded by the first.
    """
    metric = METRICS[name]
    id_ = identity(metric, **options)
    start = time.perf_counter()
    data = _data(todo, name, {} if shared is None else shared)
    refused, interval, result = "", None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = _call(todo, name, data, options)
            if todo.bootstrap and metric.facts.cost == "instant":
                interval = _interval(todo, name, options, data, result)
        except UnknotError as error:
            refused = str(error)
    # constant factors are announced once, by `plan`, not by each metric again
    texts = dict.fromkeys(str(w.message) for w in caught if not issubclass(w.category, UnknotWarning))
    return Record(id_, name, dict(options), result, time.perf_counter() - start, refused, interval, tuple(texts))


def _run_task(todo: Plan, task: tuple[str, Mapping[str, Any]]) -> Record:
    return _run_one(todo, *task)


def _data(todo: Plan, name: str, shared: dict[Any, Data]) -> Data:
    rep, metric = todo.representation, METRICS[name]
    cap = todo.limit if todo.limit is not None or metric.facts.cost == "instant" else TRAIN_ROWS + TEST_ROWS
    tested = rep.latents_test is not None and "latents_test" in signature(metric).parameters
    if (cap, tested) not in shared:
        shared[cap, tested] = chosen(todo.representation, cap, tested, todo.seed)
    return shared[cap, tested]


def _call(todo: Plan, name: str, data: Data, options: Mapping[str, Any]) -> Score:
    metric = METRICS[name]
    parameters = signature(metric).parameters
    extra: dict[str, Any] = dict(options)
    if "rng" in parameters:
        extra["rng"] = todo.seed
    if "latents_test" in parameters and data.latents_test is not None:
        extra |= {"latents_test": data.latents_test, "factors_test": data.factors_test}
    return metric(data.checked, data.factors, **extra)


def _interval(
    todo: Plan, name: str, options: Mapping[str, Any], data: Data, result: Score
) -> tuple[float, float] | None:
    """How far the value would scatter on other rows like these: the spread of resamples, about the value itself.

    Repeated rows add bias to counts, so the resamples' own mean is taken off; the value's bias stays.
    """
    if not np.isfinite(result.value):
        return None
    rng = np.random.default_rng([todo.seed, todo.bootstrap])
    if "latents_test" in signature(METRICS[name]).parameters:
        data = data.split(todo.seed)
    draws = []
    for _ in range(todo.bootstrap):
        # a resample of few rows can lose a factor's only other value; what cannot be scored is drawn no interval from
        with suppress(UnknotError):
            draws.append(_call(todo, name, data.resampled(rng), options).value)
    draws = [draw for draw in draws if np.isfinite(draw)]
    if len(draws) < max(2, todo.bootstrap // 2):
        return None
    spread = np.quantile(draws, [0.025, 0.975]) - np.mean(draws)
    ends = np.clip(result.value + spread, *METRICS[name].facts.bounds)
    return float(ends[0]), float(ends[1])
