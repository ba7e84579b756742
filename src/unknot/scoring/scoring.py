"""Score a representation with every metric that applies: `unknot.score(latents, factors)`.

Each metric is run on its own with the same seed, so that a number does not depend on which others were asked
for, in which order, or in how many processes.
"""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.examples import located
from unknot.metrics import METRICS
from unknot.metrics.arrays import WIDE
from unknot.metrics.held_out import third_of_groups
from unknot.metrics.inputs import Rows, column_names, prepare
from unknot.metrics.latents import Checked, checked_latents
from unknot.metrics.score import Facts, Score, identity, parse_identity
from unknot.metrics.verdict import information_shares, least_shares, verdicts
from unknot.progress import Progress, silent
from unknot.reading.arguments import checked
from unknot.representation import Representation, read_representation
from unknot.scoring import redrawn
from unknot.scoring.gaps import score_with_gaps
from unknot.scoring.redrawn import call, cap
from unknot.scoring.rows import Data, whole
from unknot.scoring.scorecard import Plan, Record, Scorecard
from unknot.tables.labels import labels_of

if TYPE_CHECKING:
    from unknot.runs.run import Run

TIERS = ("quick", "default", "all")  # of metrics: those that take no training, the usual ones, every one


@checked
def score(
    latents: Any,
    factors: Any = None,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    factor_names: Sequence[str] = (),
    groups: Any = None,
    missing: Sequence[Any] = (),
    jobs: int = 1,
    progress: Progress = silent,
    **options: Any,
) -> Scorecard:
    """Score latents against factors with every metric that applies; those of a run are kept in its folder.

    Args:
        latents: (n, d) array or tensor of any library, sparse matrix, table or column of lists; or a `Representation`;
            or the path of its file; or a run or its folder, which is encoded now unless it is already.
        factors: (n, f) classes, words, dates or numbers, None or NaN where one is missing; without factors only the
            label-free metrics run.
        latents_test: held-out latents; a third of the rows is split off by `seed` where they are missing.
        factors_test: held-out factors.
        factor_names: names of the factors.
        groups: (n,) what each row belongs to, such as a patient: rows of one group are held out and resampled together.
        missing: values that stand for an unknown label, besides None, NaN and empty words.
        jobs: number of processes.
        progress: told how many metrics are done.
        options: `metrics`, `exclude`, `seed`, `limit`, `bootstrap`, `null`: see `plan`.

    >>> import unknot
    >>> latents, factors = unknot.examples.toy_m1()
    >>> round(unknot.score(latents, factors, metrics=["mig"])["mig"].value, 3)
    0.189
    """
    scored = run_of(latents)
    if scored is not None:
        from unknot.encoders.encoding import representation_of

        latents = representation_of(scored, progress=progress)
    more = {"latents_test": latents_test, "factors_test": factors_test, "groups": groups}
    todo = plan(_gathered(latents, factors, factor_names, missing, **more), **options)
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
    file = isinstance(latents, str | Path) and not located(latents).is_dir()
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
    null: int | None = None,
) -> Plan:
    """Check the input and choose the metrics; nothing is computed yet.

    Args:
        representation: what is scored.
        metrics: which, by short or full name (`"mig"`, `"dci[lasso]"`), or a tier: `"quick"` for those that train
            nothing, `"default"`, or `"all"`. Left out, or by default, all that apply, but for those
            that take minutes or whose number another one reports (`facts.asked`). Slots (n, k, d) are scored by their
            mean, and not by metrics that look at single latents (`facts.of_slots`). Where a factor is continuous, some
            are scored by variants that cut nothing into bins (`facts.continuous`). More than 100 latents are scored
            by variants that are right for them (`facts.wide`), without those that would take too long there
            (`facts.widest`); the notes of the plan say which.
        exclude: which ones not.
        seed: decides splits, resamples and whatever a metric draws.
        limit: use at most this many rows. Without it, metrics that train something use at most the literature's
            10,000 training and 5,000 test rows, and the others all rows.
        bootstrap: on how many parts of the rows, thirds and the other two in turn, each training-free metric is scored
            for a 95 % interval: where it would lie on as many other rows. Beside it stands the drift, how much the
            value is above that of half of the rows.
        null: number of permutations that measure what each metric gives by chance: the same latents, with labels of
            other rows (of the same group, where there are groups). Metrics that take seconds get ten at most, those
            that take minutes none. Left out, training-free metrics get 10 where there are fewer than 1,000 rows;
            0 is none.
    """
    if seed < 0:
        raise UnknotError(f"score: seed is {seed}; expected 0 or more.")
    if limit is not None and limit < 2:
        raise UnknotError(f"score: limit is {limit}; at least two rows are needed.")
    if bootstrap and bootstrap < redrawn.FEWEST:
        raise UnknotError(
            f"score: bootstrap is {bootstrap}; use 0 for none, or a number of resamples such as 200, "
            f"{redrawn.FEWEST} at least."
        )
    if null is not None and (null < 0 or null == 1):
        raise UnknotError(f"score: null is {null}; use 0 for none, or a number of permutations such as 200.")
    rows = None
    slots = representation.latents.shape[1] if representation.latents.ndim == 3 else 0
    representation = representation.pooled()
    if representation.groups is not None:
        third_of_groups(representation.groups, seed)  # which refuses groups that cannot be held apart
    # double precision once, not by each metric again
    latents = checked_latents("score", representation.latents)
    latents_test = representation.latents_test
    if representation.factors is not None:
        if latents_test is not None:
            latents_test = checked_latents("score", latents_test, "latents_test")
        test = None if latents_test is None else Checked(latents_test)
        rows = prepare(
            "score",
            Checked(latents),
            representation.labels,
            test,
            representation.labels_test,
            as_is=True,
            gaps=True,
        )
    representation = replace(representation, latents=latents, latents_test=latents_test)
    metrics = [metrics] if isinstance(metrics, str) else list(metrics if metrics is not None else ())
    tasks = _choose(metrics, exclude, rows, latents, slots=bool(slots))
    by_width = not metrics or "default" in metrics
    return Plan(representation, rows, tasks, seed, limit, bootstrap, null, by_width=by_width, slots=slots)


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
    slow_first = sorted(todo.tasks, key=lambda task: costs.index(METRICS[task[0]].facts.cost_of(task[1])))
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
    least = least_shares(todo.rows, len(shares))
    return Scorecard(todo, ordered, verdicts(shares, names, least), shares)


def _gathered(
    latents: Any, factors: Any, factor_names: Sequence[str], missing: Sequence[Any], **more: Any
) -> Representation:
    """What is scored, as one; what would be passed over beside a file or a Representation is refused."""
    file = isinstance(latents, str | Path)
    if not file and not isinstance(latents, Representation):
        names = tuple(factor_names) or column_names(factors)
        for name, values in {"factors": factors, "factors_test": more["factors_test"]}.items():
            if values is not None:
                more[name] = labels_of(values, who=f"score: {name}", names=names, missing=missing)
        return Representation(latents, **more, factor_names=names)
    in_two_files = file and isinstance(factors, str | Path)
    beside = {"factors": None if in_two_files else factors, **more}
    beside |= {"factor_names": tuple(factor_names) or None, "missing": tuple(missing) or None}
    ignored = [name for name, value in beside.items() if value is not None]
    if ignored:
        what = f"the file {latents}" if file else "a Representation"
        raise UnknotError(
            f"score: {', '.join(ignored)} beside {what} would be passed over; pass arrays throughout, or put "
            "all of them into one Representation."
        )
    return read_representation(latents, factors) if file else latents


def _choose(
    metrics: Sequence[str],
    exclude: Sequence[str] | str,
    rows: Rows | None,
    latents: Any,
    *,
    slots: bool,
) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The metrics that are asked for with their options, those of a tier as fits the factors and so many latents."""
    labelled, measured = rows is not None, rows is not None and bool(rows.continuous.any())
    exclude = [exclude] if isinstance(exclude, str) else exclude
    left_out = {parse_identity(text, METRICS)[0] for text in exclude}
    applies = {
        name: metric.facts
        for name, metric in METRICS.items()
        if (labelled or not metric.facts.labels) and (metric.facts.of_slots or not slots)
    }
    if metrics:
        wanted = [task for text in metrics for task in _tasks(text, applies, latents, measured)]
        wanted = [task for at, task in enumerate(wanted) if task not in wanted[:at]]
        needing = [name for name, _ in wanted if METRICS[name].facts.labels]
        if needing and not labelled:
            raise UnknotError(
                f"score: {', '.join(needing)} needs factors, and there are none; give a file of factors."
            )
    else:
        wanted = _tasks("default", applies, latents, measured)
    chosen = tuple((name, options) for name, options in wanted if name not in left_out)
    if not chosen:
        raise UnknotError("score: every metric is excluded; nothing is left to compute.")
    return chosen


def _tasks(
    text: str, applies: Mapping[str, Facts], latents: Any, measured: bool
) -> list[tuple[str, dict[str, Any]]]:
    """The metric of a name, or those of a tier; those of quick ones cut measurements into bins."""
    wide = latents.shape[1] > WIDE
    if text not in TIERS:
        name, options = parse_identity(text, METRICS)
        return [(name, dict(options))]
    usual = {
        name: dict((facts.wide if wide else facts.continuous if measured and text != "quick" else None) or {})
        for name, facts in applies.items()
        if text == "all"
        or ((not facts.asked or (facts.wide is not None and wide)) and not facts.too_wide(latents))
    }
    return [task for task in usual.items() if text != "quick" or applies[task[0]].cost == "instant"]


def _run_one(todo: Plan, name: str, options: Mapping[str, Any], shared: dict[Any, Data] | None = None) -> Record:
    """Run one metric; a refusal is a result, any other error is a bug and passes through.

    Metrics that see the same rows find them in `shared`, checked and coded by the first.
    """
    metric = METRICS[name]
    id_ = identity(metric, **options)
    start = time.perf_counter()
    refused, interval, drift, untold, chance, result = "", None, None, "", None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if todo.slots and not metric.facts.of_slots:
                raise UnknotError(
                    f"{id_}: looks at single latents, and slots, which come in any order, have none; lay them side by "
                    "side on purpose with flattened() or --flatten-slots."
                )
            result = _score(todo, name, options, {} if shared is None else shared)
            if todo.bootstrap and metric.facts.cost_of(options) == "instant":
                interval, drift, untold = redrawn.interval_and_drift(todo, name, options, result)
            chance = redrawn.chance(todo, name, options, result)
        except UnknotError as error:
            refused = str(error)
    # constant factors are announced once, by `plan`, not by each metric again
    texts = dict.fromkeys(str(w.message) for w in caught if not issubclass(w.category, UnknotWarning))
    notes = (*texts, *filter(None, [untold]))
    seconds = time.perf_counter() - start
    return Record(id_, name, dict(options), result, seconds, refused, interval, notes, chance, drift)


def _run_task(todo: Plan, task: tuple[str, Mapping[str, Any]]) -> Record:
    return _run_one(todo, *task)


def _score(todo: Plan, name: str, options: Mapping[str, Any], shared: dict[Any, Data]) -> Score:
    """The score of the rows that a metric may see."""
    metric = METRICS[name]
    takes_test = "latents_test" in signature(metric).parameters
    tested = takes_test and todo.representation.latents_test is not None
    apart = takes_test and todo.representation.groups is not None

    def scored(data: Data) -> Score:
        data = data.split(todo.seed) if apart else data
        return call(todo, name, data.capped(most, todo.seed), options)

    most = cap(todo, name, options)
    data = shared.setdefault(tested, whole(todo.representation, tested))
    if metric.facts.labels and data.gaps:
        all_rows = None if apart or most is not None else partial(call, todo, name, options=options)
        return score_with_gaps(identity(metric, **options), metric.facts, data, scored, at_once=all_rows)
    key = most, tested, apart
    if key not in shared:
        shared[key] = (data.split(todo.seed) if apart else data).capped(most, todo.seed)
    return call(todo, name, shared[key], options)
