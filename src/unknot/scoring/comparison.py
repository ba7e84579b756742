"""Better, or luck? Differences of scores between representations, with parts of their rows.

Where the rows are the same, both are given the same parts, so that what they share falls out of the difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.score import identity
from unknot.progress import Progress, silent, within
from unknot.reading.arguments import checked
from unknot.representation import Representation, read_representation
from unknot.scoring.baselines import Baseline, copies_held_out, read_baseline, rows_hash
from unknot.scoring.judging import doubts, judged, untold
from unknot.scoring.redrawn import Drawn, holds_out, redrawn
from unknot.scoring.scorecard import Plan
from unknot.scoring.scoring import plan, run
from unknot.statistics.differences import Difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

TRAINED = 20  # parts of the rows that a metric which trains something is trained on, at most
FEWEST = 20  # parts
Task = tuple[str, Mapping[str, Any]]  # a metric with its options
Place = tuple[str, int]  # a name, and which of its representations


class Parted(NamedTuple):
    """A score, those of parts of the rows, and how many rows, or groups of rows, were parted."""

    value: float
    draws: Floats
    units: int


Values = dict[Place, Parted]  # of each representation


@dataclass(frozen=True)
class Comparison:
    """Representations against each other.

    Attributes:
        names: of the representations.
        differences: of all pairs by all metrics.
        paired: whether their rows are the same.
        resamples: how many parts of the rows were scored; 0 if there were no rows.
        notes: what was left out or assumed.
    """

    names: tuple[str, ...]
    differences: tuple[Difference, ...]
    paired: bool
    resamples: int
    notes: tuple[str, ...] = ()

    def ranks(self, metric: str) -> dict[str, tuple[int, int]]:
        """Name -> the best and the worst place it may have by a metric, as far as the rows can tell."""
        better, worse = dict.fromkeys(self.names, 0), dict.fromkeys(self.names, 0)
        known = [each for each in self.differences if each.metric == metric]
        if not known:
            raise UnknotError(f"compare: {metric} was not compared; there are {', '.join(self.metrics)}.")
        for each in known:
            if each.verdict in ("better", "worse"):
                ahead, behind = (each.second, each.first)[:: 1 if each.verdict == "better" else -1]
                better[behind] += 1
                worse[ahead] += 1
        return {name: (1 + better[name], len(self.names) - worse[name]) for name in self.names}

    @property
    def metrics(self) -> list[str]:
        """Full names of the metrics, in their order."""
        return list(dict.fromkeys(each.metric for each in self.differences))

    def to_frame(self) -> "DataFrame":
        """A row for each difference."""
        from pandas import DataFrame

        return DataFrame([asdict(each) for each in self.differences])

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw each difference with its interval into axes of matplotlib."""
        from matplotlib import pyplot

        axes = pyplot.gca() if axes is None else axes
        for place, each in enumerate(self.differences):
            axes.plot([each.low, each.high], [place, place], color="0.6")
            axes.plot(each.difference, place, "o", color="0.6" if each.verdict == "undecided" else "C0")
        names = [f"{each.metric}: {each.second} less {each.first}" for each in self.differences]
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="0.8", zorder=0)
        axes.invert_yaxis()
        axes.set(xlabel="difference, with its 95 % interval")
        return axes

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False, float_format="{:.3f}".format))

    def __repr__(self) -> str:
        """A line for each difference."""
        lines = [f"Comparison of {', '.join(self.names)}, {self.resamples} resamples"]
        for each in self.differences:
            values = f"{each.difference:+.3f} ({each.low:+.3f} to {each.high:+.3f})"
            lines.append(f"{each.metric}  {each.second} less {each.first}: {values}, {each.verdict}")
        return "\n".join(lines)


@checked
def compare(
    representations: Mapping[str, Any],
    *,
    metrics: Sequence[str] | str | None = None,
    resamples: int = 200,
    margin: float = 0.0,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress = silent,
) -> Comparison:
    """Compare representations metric by metric: how large is each difference, and may it be luck?

    Rows, or their groups, are split into a third and the others, again and again, and scored on both: how these values
    scatter tells how far other rows would move the difference (`unknot.statistics.scatter`). Where several seeds of
    one setting are given, what seeds change is added, and the difference is one of settings; of one seed each, it is
    one of these two representations only.

    Args:
        representations: name -> `Representation`, or the path of its file, or a `Baseline` or its file, or a list of
            representations that differ by their seed; two or more names.
        metrics: which, as in `unknot.score`; if left out those of a baseline, or those that train nothing.
        resamples: how many parts of the rows are scored, two of each split; as many as those of a baseline, if there is
            one, and then with its seed. A metric that trains something is trained anew on each of 20 of them.
        margin: differences within it count as none: "equal" is said where the whole 90 % interval lies inside.
        seed: decides parts, splits and whatever a metric draws.
        jobs: number of processes; the numbers do not change.
        progress: told how many parts are done.

    >>> import unknot
    >>> latents, factors = unknot.examples.toy_m2(copies=20)
    >>> noisy = latents + np.random.default_rng(0).normal(size=latents.shape)
    >>> of = {"clean": unknot.Representation(latents, factors), "noisy": unknot.Representation(noisy, factors)}
    >>> [each.verdict for each in unknot.compare(of, metrics="mcc").differences]
    ['worse']
    """
    if len(representations) < 2:
        raise UnknotError(f"compare: got {len(representations)} representation; expected two or more.")
    if resamples < FEWEST:
        raise UnknotError(f"compare: resamples is {resamples}; expected at least {FEWEST}.")
    if not margin >= 0:
        raise UnknotError(f"compare: margin is {margin}; expected 0 or more.")
    names = tuple(representations)
    sources = {
        (name, at): _source(name, source)
        for name, given in representations.items()
        for at, source in enumerate(_seeds(name, given))
    }
    kept = {place: source for place, source in sources.items() if isinstance(source, Baseline)}
    if len(kept) == len(sources):
        raise UnknotError("compare: all are baselines; expected a representation to compare with them.")
    for first in kept.values():
        resamples, seed = first.resamples, first.seed
    if any((each.resamples, each.seed) != (resamples, seed) for each in kept.values()):
        raise UnknotError("compare: baselines of different seeds or resamples; make them again with the same.")
    chosen = metrics or [id_ for each in kept.values() for id_ in each.scores] or "quick"
    plans = {
        place: _plan(place[0], source, chosen, seed) for place, source in sources.items() if place not in kept
    }
    paired, notes = _pairing(plans, kept)
    groups = _copies_in_any(plans) if paired else None
    if groups is not None and kept:
        paired, notes = False, ["rows are copies of each other in some representations only: resampled apart."]
    elif groups is not None:
        plans = {
            place: replace(todo, representation=replace(todo.representation, groups=groups))
            for place, todo in plans.items()
        }
        notes = [
            "rows that are copies of each other in one representation are held out and resampled together in all."
        ]
    tasks = next(iter(plans.values())).tasks
    work = _Work(tuple(sources), plans, kept, resamples, seed, paired)
    values, refused = _all_values(work, tasks, jobs, progress)
    trained = [id_ for id_, of_each in values.items() if next(iter(of_each.values())).draws.size < resamples]
    if trained:
        notes.append(f"{TRAINED} parts of the rows only, on each of which it is trained: {', '.join(trained)}.")
    notes += [f"{id_} is left out: {why}" for id_, why in refused.items()]
    of_names = {
        id_: {name: [each for (whose, _), each in of_each.items() if whose == name] for name in names}
        for id_, of_each in values.items()
    }
    found = judged(of_names, names, margin)
    return Comparison(names, found, paired, resamples, (*notes, *untold(found, of_names), *doubts(found)))


def _seeds(name: str, given: Any) -> Sequence[Any]:
    """The representations of one name: one, or one for each seed."""
    seeds = given if isinstance(given, list | tuple) else [given]
    if not seeds:
        raise UnknotError(f"compare: {name} has no representation; expected one, or one for each seed.")
    return seeds


def _source(name: str, source: Any) -> Representation | Baseline:
    """What is compared, read from its file if it is the path of one."""
    if isinstance(source, Representation | Baseline):
        return source
    if not isinstance(source, str | Path):
        raise UnknotError(
            f"compare: {name} is {source!r:.60}; expected a Representation, a Baseline, the path of either, or a list."
        )
    return read_baseline(source) if Path(source).suffix == ".json" else read_representation(source)


def _plan(name: str, source: Any, metrics: Sequence[str] | str, seed: int) -> Plan:
    try:
        return plan(source, metrics=metrics, seed=seed)
    except UnknotError as error:
        raise UnknotError(f"{name}: {error}") from None


def _pairing(plans: Mapping[Place, Plan], kept: Mapping[Place, Baseline]) -> tuple[bool, list[str]]:
    """Whether all have the same rows in the same order, as far as their factors tell; and what is to be noted."""
    ((name, _), first), *others = plans.items()
    known = first.representation
    for (other, _), todo in others:
        _check_names(name, known.factor_names, other, todo.representation.factor_names)
    for (other, _), baseline in kept.items():
        _check_names(other, baseline.factor_names, name, known.factor_names)
    for (other, _), todo in others:
        own = todo.representation
        same = known.latents.shape[0] == own.latents.shape[0] and all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
            for a, b in (
                (known.factors, own.factors),
                (known.factors_test, own.factors_test),
                (known.groups, own.groups),
            )
        )
        if not same:
            return False, [f"{name} and {other} are of other rows, or in another order: resampled apart."]
    for (other, _), baseline in kept.items():
        if baseline.rows != rows_hash(known):
            return False, [f"{other} and {name} are of other rows, or in another order: resampled apart."]
    return True, []


def _copies_in_any(plans: Mapping[Place, Plan]) -> Ints | None:
    """Groups (n,) of rows that are copies in any of the representations; None where all hold out the same rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    of_each = [copies_held_out(todo.representation) for todo in plans.values()]
    known = [codes for codes in of_each if codes is not None]
    if not known or (len(known) == len(of_each) and all(np.array_equal(known[0], codes) for codes in known)):
        return None
    n = len(known[0])
    first = np.concatenate([np.unique(codes, return_index=True)[1][codes] for codes in known])
    links = coo_array((np.ones(len(first)), (np.tile(np.arange(n), len(known)), first)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1])


def _check_names(first: str, of_first: Sequence[str], second: str, of_second: Sequence[str]) -> None:
    if tuple(of_first) != tuple(of_second):
        raise UnknotError(
            f"compare: {first} has the factors {', '.join(of_first) or 'none'} and {second} has "
            f"{', '.join(of_second) or 'none'}; scores of different factors are no comparison."
        )


@dataclass(frozen=True)
class _Work:
    """What is to be measured."""

    places: tuple[Place, ...]
    plans: Mapping[Place, Plan]
    kept: Mapping[Place, Baseline]
    resamples: int
    seed: int
    paired: bool


def _all_values(
    work: _Work, tasks: Sequence[Task], jobs: int, progress: Progress
) -> tuple[dict[str, Values], dict[str, str]]:
    """Metric -> of each representation its score and those of parts of its rows; and why metrics have none."""
    if jobs < 1:
        raise UnknotError(f"compare: jobs is {jobs}; expected at least one process.")
    parts = min(len(tasks), -(-jobs // len(work.plans)))
    items = [(place, tasks[part::parts]) for place in work.plans for part in range(parts)]
    values: dict[str, Values] = {identity(METRICS[metric], **options): {} for metric, options in tasks}
    refused: dict[str, str] = {}
    for place, baseline in work.kept.items():
        for id_, of_each in values.items():
            if id_ in baseline.scores:
                score = baseline.scores[id_]
                of_each[place] = Parted(score.value, score.draws, score.units)
            else:
                refused.setdefault(id_, f"{place[0]} has no score of it")
    if jobs > 1 and len(items) > 1:
        from unknot.processes.pool import spread

        results = spread(_values, work, items, min(jobs, len(items)))
    else:
        results = (_values(work, item, within(progress, item[0][0])) for item in items)
    for done, (place, scores, unscored) in enumerate(results, 1):
        progress("comparing", done, len(items), representation=place[0])
        for id_, parted in scores.items():
            values[id_][place] = parted
        for id_, why in unscored.items():
            refused.setdefault(id_, f"{place[0]}: {why}")
    return {id_: of_each for id_, of_each in values.items() if id_ not in refused}, refused


def _values(
    work: _Work, item: tuple[Place, Sequence[Task]], progress: Progress = silent
) -> tuple[Place, dict[str, Parted], dict[str, str]]:
    """A representation, its score by each of some metrics with those of parts, and why some have none."""
    place, tasks = item
    todo = work.plans[place]
    scores: dict[str, Parted] = {}
    records = list(run(replace(todo, tasks=tuple(tasks), null=0)))
    refused = {
        record.id: record.refused or "the score is undefined"
        for record in records
        if record.score is None or not np.isfinite(record.score.value)
    }
    names = list(dict.fromkeys(name for name, _ in work.places))  # seeds of a setting share their parts
    seed = [work.seed, work.resamples, 0 if work.paired else names.index(place[0])]
    for trains in (False, True):
        own = {
            record.id: (record.score.value, Drawn(record.name, record.options, holds_out(record.score)))
            for record in records
            if record.score is not None
            and record.id not in refused
            and (METRICS[record.name].facts.cost_of(record.options) != "instant") == trains
        }
        parts = min(TRAINED, work.resamples) if trains else work.resamples
        draws, units = redrawn(todo, [metric for _, metric in own.values()], parts, seed, progress=progress)
        scores |= {
            id_: Parted(value, row, int(parted))
            for (id_, (value, _)), row, parted in zip(own.items(), draws, units, strict=True)
        }
    return place, scores, refused
