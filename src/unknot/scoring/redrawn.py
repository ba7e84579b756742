"""One metric on rows that are drawn anew: how far its value scatters and drifts, and what it gives by chance."""

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from typing import Any, cast

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.arrays import Floats
from unknot.metrics.score import Metric, Score
from unknot.progress import Progress, silent
from unknot.scoring.chance import Chance, permutations
from unknot.scoring.gaps import score_with_gaps
from unknot.scoring.rows import Data, whole
from unknot.scoring.scorecard import Plan

TRAIN_ROWS, TEST_ROWS = 10_000, 5_000  # what the literature trains probes and trees on
WORTH_COMPILING = 1_000_000  # latents of all draws together, whose counting takes longer than importing numba
HALVES = 20  # halves of the rows that a drift is measured by
Draw = Callable[[Data, np.random.Generator], Data]


def cap(todo: Plan, name: str, options: Mapping[str, Any]) -> int | None:
    """How many rows a metric sees at most."""
    free = todo.limit is not None or METRICS[name].facts.cost_of(options) == "instant"
    return todo.limit if free else TRAIN_ROWS + TEST_ROWS


def call(todo: Plan, name: str, data: Data, options: Mapping[str, Any]) -> Score:
    """The score of some rows."""
    metric, parameters = METRICS[name], _takes(METRICS[name])
    extra: dict[str, Any] = dict(options)
    if "rng" in parameters:
        extra["rng"] = todo.seed
    if "latents_test" in parameters and data.latents_test is not None:
        extra |= {"latents_test": data.latents_test, "factors_test": data.factors_test}
    return metric(data.checked, data.factors, **extra)


@dataclass(frozen=True)
class Drawn:
    """A metric that is scored on rows drawn anew.

    Attributes:
        name: its key.
        options: those of the variant.
        held_out: whether rows are held out before any draw, so that copies of a row do not come to stand on both sides.
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
    draw: Draw = Data.resampled,
    progress: Progress = silent,
) -> Floats:
    """The values (metrics, n) on rows drawn n times; NaN of a draw that cannot be scored.

    Representations of as many rows are given the same draws by the same seed. Metrics that look at the same rows
    share each draw and what they make of it; the numbers are those of each metric by itself.
    """
    values = np.full((len(metrics), n), np.nan)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for at, metric in enumerate(metrics):
        alike.setdefault(_looks_at(todo, metric), []).append(at)
    for (tested, most, apart, gaps), places in alike.items():
        data = whole(todo.representation, tested)
        data = data if gaps else data.capped(most, todo.seed)
        data = data.split(todo.seed) if apart else data
        if data.n * data.latents.shape[1] * n > WORTH_COMPILING:
            import numba  # noqa: F401  (from here on, counts are compiled)
        rng = np.random.default_rng(seed)
        for i in range(n):
            progress("resamples", i, n)
            rows = draw(data, rng)
            rows = rows.capped(most, todo.seed) if gaps else rows
            for at in places:
                # few rows can lose a factor's only other value; what cannot be scored tells nothing
                with suppress(UnknotError), warnings.catch_warnings(action="ignore", category=UnknotWarning):
                    values[at, i] = _value(todo, metrics[at], rows, gaps)
    return values


def _looks_at(todo: Plan, metric: Drawn) -> tuple[bool, int | None, bool, bool]:
    """Whether a metric takes test rows of their own, how many rows at most, a split of them, and missing labels."""
    facts, tested = METRICS[metric.name].facts, todo.representation.latents_test is not None
    takes_test = "latents_test" in _takes(METRICS[metric.name])
    apart = takes_test and (metric.held_out or todo.representation.groups is not None)
    gaps = facts.labels and whole(todo.representation, takes_test and tested).gaps
    return takes_test and tested, cap(todo, metric.name, metric.options), apart, gaps


def _value(todo: Plan, metric: Drawn, rows: Data, gaps: bool) -> float:
    if not gaps:
        return call(todo, metric.name, rows, metric.options).value
    again = partial(call, todo, metric.name, options=metric.options)
    return score_with_gaps(metric.name, METRICS[metric.name].facts, rows, again).value


def holds_out(result: Score) -> bool:
    """Whether a score is of rows that were held out."""
    return bool(result.parts.get("n_test_rows", 0))


def interval(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> tuple[float, float] | None:
    """How far the value would scatter on as many other rows like these: the spread of resamples, about the value.

    Repeated rows add bias to counts, so the resamples' own mean is taken off; the value's bias stays, see `drift`.
    """
    if not np.isfinite(result.value):
        return None
    metric = Drawn(name, options, holds_out(result))
    (values,) = redrawn(todo, [metric], todo.bootstrap, [todo.seed, todo.bootstrap])
    draws = values[np.isfinite(values)]
    if len(draws) < max(2, todo.bootstrap // 2):
        return None
    spread = np.quantile(draws, [0.025, 0.975]) - np.mean(draws)
    ends = np.clip(result.value + spread, *METRICS[name].facts.bounds)
    return float(ends[0]), float(ends[1])


def drift(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> float | None:
    """How much the value of all rows is above that of half of them: about its bias, where that falls as 1 / rows."""
    n = min(HALVES, todo.bootstrap)
    (values,) = redrawn(todo, [Drawn(name, options)], n, [todo.seed, n, 2], Data.halved)
    halves = values[np.isfinite(values)]
    return float(result.value - np.mean(halves)) if len(halves) > n // 2 and np.isfinite(result.value) else None


def chance(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> Chance | None:
    """What the metric gives where labels are those of other rows; by a formula where that was not to be measured."""
    facts = METRICS[name].facts
    if not facts.labels:
        return None
    n = permutations(todo.null, todo.representation.latents.shape[0], facts.cost_of(options))
    if not n:
        return Chance.by_formula(result, facts)
    (values,) = redrawn(todo, [Drawn(name, options)], n, [todo.seed, n, 1], Data.torn)
    return Chance.measured(result.value, values, facts)
