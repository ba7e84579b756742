"""Better, or luck? Differences of scores between representations, with resamples of their rows.

Where the rows are the same, both are given the same resamples, so that what they share falls out of the difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.metrics.arrays import Floats
from unknot.metrics.score import identity
from unknot.progress import Progress, silent, within
from unknot.reading.arguments import checked
from unknot.representation import Representation, read_representation
from unknot.scoring.baselines import Baseline, read_baseline, rows_hash
from unknot.scoring.redrawn import Drawn, holds_out, redrawn
from unknot.scoring.scorecard import Plan
from unknot.scoring.scoring import plan, run
from unknot.statistics.correlations import holm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

LEVEL = 0.05  # of errors that are accepted
ENDS = (0.025, 0.975, 0.05, 0.95)  # of the interval, and of the one that tells equals
SEEN = 2.8  # standard errors: a difference that 80 % of such comparisons would call one
Task = tuple[str, Mapping[str, Any]]  # a metric with its options
Values = dict[str, tuple[float, Floats]]  # representation -> its score, and those of resamples


@dataclass(frozen=True)
class Difference:
    """One metric of two representations.

    Attributes:
        metric: its full name.
        first: name of one of them.
        second: name of the other.
        values: of both.
        difference: the second's value less the first's.
        low: end of the 95 % interval of the difference.
        high: its other end.
        p: that a difference as large comes about where there is none, by a normal approximation.
        p_holm: the same, corrected for all metrics and pairs that were compared.
        smallest: the difference that would have been noticed in four of five cases.
        verdict: "better" or "worse" of the second, "equal" within the margin, or "undecided".
    """

    metric: str
    first: str
    second: str
    values: tuple[float, float]
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    smallest: float
    verdict: str

    def loses(self, least: float) -> bool:
        """Whether the second is surely worse, nearer to a loss of `least` than to none, and that may be the loss."""
        loss, error = abs(self.difference), self.smallest / SEEN
        return self.verdict == "worse" and loss > least / 2 and loss + 3 * error >= least


@dataclass(frozen=True)
class Comparison:
    """Representations against each other.

    Attributes:
        names: of the representations.
        differences: of all pairs by all metrics.
        paired: whether their rows are the same.
        resamples: how many.
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

    Rows are drawn with replacement, whole groups where there are groups. The interval is the spread of the differences
    of the resamples about the difference itself, and says how it would move on other rows, not with other seeds of
    training.

    Args:
        representations: name -> `Representation`, or the path of its file, or a `Baseline` or its file; two or more.
        metrics: which, as in `unknot.score`; if left out those of a baseline, or those that train nothing. One that
            trains is trained anew on each resample.
        resamples: how many; those of a baseline, if there is one, and then its seed.
        margin: differences within it count as none: "equal" is said where the whole 90 % interval lies inside.
        seed: decides resamples, splits and whatever a metric draws.
        jobs: number of processes; the numbers do not change.
        progress: told how many metrics are done.

    >>> import unknot
    >>> latents, factors = unknot.examples.toy_m2(copies=20)
    >>> noisy = latents + np.random.default_rng(0).normal(size=latents.shape)
    >>> of = {"clean": unknot.Representation(latents, factors), "noisy": unknot.Representation(noisy, factors)}
    >>> [each.verdict for each in unknot.compare(of, metrics="mcc").differences]
    ['worse']
    """
    if len(representations) < 2:
        raise UnknotError(f"compare: got {len(representations)} representation; expected two or more.")
    if resamples < 20:
        raise UnknotError(f"compare: resamples is {resamples}; expected at least 20.")
    if not margin >= 0:
        raise UnknotError(f"compare: margin is {margin}; expected 0 or more.")
    names = tuple(representations)
    sources = {name: _source(source) for name, source in representations.items()}
    kept = {name: source for name, source in sources.items() if isinstance(source, Baseline)}
    if len(kept) == len(names):
        raise UnknotError("compare: all are baselines; expected a representation to compare with them.")
    for first in kept.values():
        resamples, seed = first.resamples, first.seed
    if any((each.resamples, each.seed) != (resamples, seed) for each in kept.values()):
        raise UnknotError("compare: baselines of different seeds or resamples; make them again with the same.")
    chosen = metrics or [id_ for each in kept.values() for id_ in each.scores] or "quick"
    plans = {name: _plan(name, source, chosen, seed) for name, source in sources.items() if name not in kept}
    paired, notes = _pairing(plans, kept)
    tasks = next(iter(plans.values())).tasks
    work = _Work(names, plans, kept, resamples, seed, paired)
    values, refused = _all_values(work, tasks, jobs, progress)
    notes += [f"{id_} is left out: {why}" for id_, why in refused.items()]
    return Comparison(names, tuple(_differences(names, values, margin)), paired, resamples, tuple(notes))


def _source(source: Any) -> Representation | Baseline:
    """What is compared, read from its file if it is the path of one."""
    if isinstance(source, Representation | Baseline):
        return source
    return read_baseline(source) if Path(source).suffix == ".json" else read_representation(source)


def _plan(name: str, source: Any, metrics: Sequence[str] | str, seed: int) -> Plan:
    try:
        return plan(source, metrics=metrics, seed=seed)
    except UnknotError as error:
        raise UnknotError(f"{name}: {error}") from None


def _pairing(plans: Mapping[str, Plan], kept: Mapping[str, Baseline]) -> tuple[bool, list[str]]:
    """Whether all have the same rows in the same order, as far as their factors tell; and what is to be noted."""
    (name, first), *others = plans.items()
    known = first.representation
    for other, todo in others:
        own = todo.representation
        _check_names(name, known.factor_names, other, own.factor_names)
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
    for other, baseline in kept.items():
        _check_names(other, baseline.factor_names, name, known.factor_names)
        if baseline.rows != rows_hash(known):
            return False, [f"{other} and {name} are of other rows, or in another order: resampled apart."]
    return True, []


def _check_names(first: str, of_first: Sequence[str], second: str, of_second: Sequence[str]) -> None:
    if tuple(of_first) != tuple(of_second):
        raise UnknotError(
            f"compare: {first} has the factors {', '.join(of_first) or 'none'} and {second} has "
            f"{', '.join(of_second) or 'none'}; scores of different factors are no comparison."
        )


@dataclass(frozen=True)
class _Work:
    """What the comparison of one metric needs."""

    names: tuple[str, ...]
    plans: Mapping[str, Plan]
    kept: Mapping[str, Baseline]
    resamples: int
    seed: int
    paired: bool


def _all_values(
    work: _Work, tasks: Sequence[Task], jobs: int, progress: Progress
) -> tuple[dict[str, Values], dict[str, str]]:
    """Metric -> of each representation its score and those of resamples; and why metrics have none."""
    if jobs < 1:
        raise UnknotError(f"compare: jobs is {jobs}; expected at least one process.")
    here = [name for name in work.names if name not in work.kept]
    parts = min(len(tasks), -(-jobs // len(here)))
    items = [(name, tasks[part::parts]) for name in here for part in range(parts)]
    values: dict[str, Values] = {identity(METRICS[metric], **options): {} for metric, options in tasks}
    refused: dict[str, str] = {}
    for name, baseline in work.kept.items():
        for id_, of_each in values.items():
            if id_ in baseline.scores:
                of_each[name] = baseline.scores[id_].value, baseline.scores[id_].draws
            else:
                refused.setdefault(id_, f"{name} has no score of it")
    if jobs > 1 and len(items) > 1:
        from unknot.processes.pool import spread

        results = spread(_values, work, items, min(jobs, len(items)))
    else:
        results = (_values(work, item, within(progress, item[0])) for item in items)
    for done, (name, scores, unscored) in enumerate(results, 1):
        progress("comparing", done, len(items), representation=name)
        for id_, score in scores.items():
            values[id_][name] = score
        for id_, why in unscored.items():
            refused.setdefault(id_, f"{name}: {why}")
    return {id_: of_each for id_, of_each in values.items() if id_ not in refused}, refused


def _values(
    work: _Work, item: tuple[str, Sequence[Task]], progress: Progress = silent
) -> tuple[str, dict[str, tuple[float, Floats]], dict[str, str]]:
    """A representation, its score by each of some metrics with those of resamples, and why some have none."""
    name, tasks = item
    todo = work.plans[name]
    scores, metrics, refused = {}, [], {}
    for record in run(replace(todo, tasks=tuple(tasks), null=0)):
        if record.score is None or not np.isfinite(record.score.value):
            refused[record.id] = record.refused or "the score is undefined"
        else:
            scores[record.id] = record.score.value
            metrics.append(Drawn(record.name, record.options, holds_out(record.score)))
    at = 0 if work.paired else work.names.index(name)
    draws = redrawn(todo, metrics, work.resamples, [work.seed, work.resamples, at], progress=progress)
    return name, dict(zip(scores, zip(scores.values(), draws, strict=True), strict=True)), refused


def _differences(names: Sequence[str], found: Mapping[str, Values], margin: float) -> Iterator[Difference]:
    from scipy.stats import norm

    rows = []
    for id_, values in found.items():
        for first, second in combinations(names, 2):
            difference = values[second][0] - values[first][0]
            draws = values[second][1] - values[first][1]
            draws = draws[np.isfinite(draws)]
            spread = float(draws.std(ddof=1)) if len(draws) > 1 else np.nan
            ends = difference + np.quantile(draws, ENDS) - draws.mean() if len(draws) else np.full(4, np.nan)
            p = 2 * norm.sf(abs(difference) / spread) if spread > 0 else float(difference == 0)
            rows.append((id_, first, second, (values[first][0], values[second][0]), difference, ends, p, spread))
    corrected: Sequence[float] | Floats = holm([row[6] for row in rows]) if rows else ()
    for (id_, first, second, both, difference, ends, p, spread), p_holm in zip(rows, corrected, strict=True):
        higher = METRICS[id_.partition("[")[0]].facts.higher_is_better
        verdict = "undecided"
        if margin and -margin < ends[2] and ends[3] < margin:
            verdict = "equal"
        elif p_holm < LEVEL and abs(difference) > margin:
            verdict = "better" if (difference > 0) == higher else "worse"
        low, high = float(ends[0]), float(ends[1])
        numbers = float(difference), low, high, float(p), float(p_holm), SEEN * spread
        yield Difference(id_, first, second, both, *numbers, verdict)
