"""One metric on rows that are drawn anew: how far its value scatters and drifts, and what it gives by chance."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.score import Score
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
    metric = METRICS[name]
    parameters = signature(metric).parameters
    extra: dict[str, Any] = dict(options)
    if "rng" in parameters:
        extra["rng"] = todo.seed
    if "latents_test" in parameters and data.latents_test is not None:
        extra |= {"latents_test": data.latents_test, "factors_test": data.factors_test}
    return metric(data.checked, data.factors, **extra)


def redrawn(
    todo: Plan,
    name: str,
    options: Mapping[str, Any],
    n: int,
    rng: np.random.Generator,
    draw: Draw = Data.resampled,
    *,
    held_out: bool = False,
) -> Iterator[float]:
    """The values of a metric on rows drawn n times; NaN of a draw that cannot be scored.

    Representations of as many rows, with generators of one seed, are given the same draws.

    Args:
        todo: what is scored.
        name: the metric's key.
        options: those of the variant.
        n: how many draws.
        rng: of the draws.
        draw: what is done to the rows each time.
        held_out: whether rows are held out before any draw, so that copies of a row do not come to stand on both sides.
    """
    metric = METRICS[name]
    takes_test = "latents_test" in signature(metric).parameters
    data = whole(todo.representation, takes_test and todo.representation.latents_test is not None)
    gaps = metric.facts.labels and data.gaps
    data = data if gaps else data.capped(cap(todo, name, options), todo.seed)
    apart = takes_test and (held_out or todo.representation.groups is not None)
    data = data.split(todo.seed) if apart else data
    if data.n * data.latents.shape[1] * n > WORTH_COMPILING:
        import numba  # noqa: F401  (from here on, counts are compiled)
    for _ in range(n):
        rows = draw(data, rng)
        value = np.nan
        # few rows can lose a factor's only other value; what cannot be scored tells nothing
        with suppress(UnknotError), warnings.catch_warnings(action="ignore", category=UnknotWarning):
            if gaps:
                again = partial(call, todo, name, options=options)
                rows = rows.capped(cap(todo, name, options), todo.seed)
                value = score_with_gaps(name, metric.facts, rows, again).value
            else:
                value = call(todo, name, rows, options).value
        yield value


def holds_out(result: Score) -> bool:
    """Whether a score is of rows that were held out."""
    return bool(result.parts.get("n_test_rows", 0))


def interval(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> tuple[float, float] | None:
    """How far the value would scatter on as many other rows like these: the spread of resamples, about the value.

    Repeated rows add bias to counts, so the resamples' own mean is taken off; the value's bias stays, see `drift`.
    """
    if not np.isfinite(result.value):
        return None
    rng = np.random.default_rng([todo.seed, todo.bootstrap])
    values = redrawn(todo, name, options, todo.bootstrap, rng, held_out=holds_out(result))
    draws = [value for value in values if np.isfinite(value)]
    if len(draws) < max(2, todo.bootstrap // 2):
        return None
    spread = np.quantile(draws, [0.025, 0.975]) - np.mean(draws)
    ends = np.clip(result.value + spread, *METRICS[name].facts.bounds)
    return float(ends[0]), float(ends[1])


def drift(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> float | None:
    """How much the value of all rows is above that of half of them: about its bias, where that falls as 1 / rows."""
    n = min(HALVES, todo.bootstrap)
    rng = np.random.default_rng([todo.seed, n, 2])
    halves = [half for half in redrawn(todo, name, options, n, rng, Data.halved) if np.isfinite(half)]
    return float(result.value - np.mean(halves)) if len(halves) > n // 2 and np.isfinite(result.value) else None


def chance(todo: Plan, name: str, options: Mapping[str, Any], result: Score) -> Chance | None:
    """What the metric gives where labels are those of other rows; by a formula where that was not to be measured."""
    facts = METRICS[name].facts
    if not facts.labels:
        return None
    n = permutations(todo.null, todo.representation.latents.shape[0], facts.cost_of(options))
    if not n:
        return Chance.by_formula(result, facts)
    rng = np.random.default_rng([todo.seed, n, 1])
    return Chance.measured(result.value, list(redrawn(todo, name, options, n, rng, Data.torn)), facts)
