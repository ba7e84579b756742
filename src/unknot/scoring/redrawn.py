"""One metric on rows that are drawn anew: how far its value scatters and drifts, and what it gives by chance."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from inspect import signature, unwrap
from typing import Any, cast

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.score import Metric, Score
from unknot.processes.threads import one_thread
from unknot.progress import Progress, silent
from unknot.scoring.chance import Chance, permutations
from unknot.scoring.gaps import score_with_gaps
from unknot.scoring.rows import Data, whole
from unknot.scoring.scorecard import Plan
from unknot.statistics.scatter import of_half, off_scale, on_scale, scatter, untold, usable

TRAIN_ROWS, TEST_ROWS = 10_000, 5_000  # what the literature trains probes and trees on
WORTH_COMPILING = 1_000_000  # latents of all draws together, whose counting takes longer than importing numba
FEWEST = 4  # parts of the rows, which are two splits of them
Draw = Callable[[Data, np.random.Generator], Iterator[Data]]


def cap(todo: Plan, name: str, options: Mapping[str, Any]) -> int | None:
    """How many rows a metric sees at most."""
    free = todo.limit is not None or METRICS[name].facts.cost_of(options) == "instant"
    return todo.limit if free else TRAIN_ROWS + TEST_ROWS


def call(todo: Plan, name: str, data: Data, options: Mapping[str, Any], *, again: bool = False) -> Score:
    """The score of some rows; `again` spares options that it was called with before a look at their types."""
    metric, parameters = METRICS[name], _takes(METRICS[name])
    extra: dict[str, Any] = dict(options)
    if "rng" in parameters:
        extra["rng"] = todo.seed
    if "latents_test" in parameters and data.latents_test is not None:
        extra |= {"latents_test": data.latents_test, "factors_test": data.factors_test}
    score: Score = (unwrap(metric) if again else metric)(data.checked, data.factors, **extra)
    return score


@dataclass(frozen=True)
class Drawn:
    """A metric that is scored on rows drawn anew.

    Attributes:
        name: its key.
        options: those of the variant.
        held_out: whether rows are held out before any draw, so that training and test rows are drawn apart.
    """

    name: str
    options: Mapping[str, Any]
    held_out: bool = False


def _takes(metric: Metric) -> frozenset[str]:
    """The names of a metric's arguments, looked up once."""
    return _arguments(cast(Hashable, metric))


@cache
def _arguments(metric: Hashable) -> frozenset[str]:
    return frozenset(signature(cast(Metric, metric)).parameters)


def redrawn(
    todo: Plan,
    metrics: Sequence[Drawn],
    n: int,
    seed: Sequence[int],
    draw: Draw = Data.parted,
    progress: Progress = silent,
) -> tuple[Floats, Ints]:
    """The values (metrics, n) on rows drawn n times, and of how many units (`Data.units`) each metric's draws are.

    NaN is the value of draws that cannot be scored, and of those that few units have none of. Representations of as
    many rows are given the same draws by the same seed. Metrics that look at the same rows share each draw and what
    they make of it; the numbers are those of each metric by itself.
    """
    values, units = np.full((len(metrics), n), np.nan), np.zeros(len(metrics), dtype=np.int64)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for at, metric in enumerate(metrics):
        alike.setdefault(_looks_at(todo, metric), []).append(at)
    for (tested, most, apart, gaps), places in alike.items():
        data = whole(todo.representation, tested)
        # with gaps, as many as hold the most complete rows: those that a value is of
        drawn_from = -(-most * data.n // max(1, data.complete().n)) if gaps and most else most
        data = data.capped(drawn_from, todo.seed)
        data = data.split(todo.seed) if apart else data
        if data.n * data.latents.shape[1] * n > WORTH_COMPILING:
            import numba  # noqa: F401  (from here on, counts are compiled)
        units[places] = data.units
        rng = np.random.default_rng(seed)
        with one_thread(), warnings.catch_warnings(action="ignore", category=UnknotWarning):
            for i, rows in zip(range(n), draw(data, rng), strict=False):
                progress("resamples", i, n)
                part = most and -(-most * rows.n // data.n)  # of the rows that a value with gaps is cut to
                for at in places:
                    # few rows can lose a factor's only other value; what cannot be scored tells nothing
                    with suppress(UnknotError):
                        values[at, i] = _value(todo, metrics[at], rows, gaps, part)
    return values, units


def _looks_at(todo: Plan, metric: Drawn) -> tuple[bool, int | None, bool, bool]:
    """Whether a metric takes test rows of their own, how many rows at most, a split of them, and missing labels."""
    facts, tested = METRICS[metric.name].facts, todo.representation.latents_test is not None
    takes_test = "latents_test" in _takes(METRICS[metric.name])
    apart = takes_test and (metric.held_out or todo.representation.groups is not None)
    gaps = facts.labels and whole(todo.representation, takes_test and tested).gaps
    return takes_test and tested, cap(todo, metric.name, metric.options), apart, gaps


def _value(todo: Plan, metric: Drawn, rows: Data, gaps: bool, most: int | None) -> float:
    if not gaps:
        return call(todo, metric.name, rows, metric.options, again=True).value

    def again(known: Data) -> Score:
        return call(todo, metric.name, known.capped(most, todo.seed), metric.options)

    return score_with_gaps(metric.name, METRICS[metric.name].facts, rows, again).value


def holds_out(result: Score) -> bool:
    """Whether a score is of rows that were held out."""
    return bool(result.parts.get("n_test_rows", 0))


def interval_and_drift(
    todo: Plan, name: str, options: Mapping[str, Any], result: Score
) -> tuple[tuple[float, float] | None, float | None, str]:
    """Where the value would lie on as many other rows like these, and how much it is above that of half of them.

    The second is about its bias, where that falls as 1 / rows. None where parts of the rows do not tell; why comes
    third.
    """
    from scipy.stats import t

    metric = Drawn(name, options, holds_out(result))
    (draws,), (units,) = redrawn(todo, [metric], todo.bootstrap, [todo.seed, todo.bootstrap])
    scatters = usable(METRICS[name].facts.scattering(options), draws, result.value)
    variance, freedom = scatter(on_scale(draws, scatters), units, scatters)
    if not np.isfinite(result.value):
        return None, None, ""
    if not freedom:
        return None, None, f"no interval: {untold(units)}."
    half = float(t.ppf(0.975, freedom)) * variance**0.5
    ends = off_scale(on_scale(result.value, scatters) + np.array([-half, half]), scatters)
    low, high = np.clip(ends, *METRICS[name].facts.bounds)
    return (float(low), float(high)), result.value - of_half(draws), ""


def chance(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> Chance | None:
    """What the metric gives where labels are those of other rows; by a formula where that was not to be measured."""
    facts = METRICS[name].facts
    if not facts.labels:
        return None
    n = permutations(todo.null, todo.representation.latents.shape[0], facts.cost_of(options))
    if not n:
        return Chance.by_formula(result, facts)
    (values,), _ = redrawn(todo, [Drawn(name, options)], n, [todo.seed, n, 1], Data.torn)
    return Chance.measured(result.value, values, facts)
