"""Do models with a higher score do better at a task, and from which training step on? Bins of models over steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.statistics.columns import chosen, scores_and_accuracies
from unknot.statistics.resamples import Bootstrap, Bootstraps, interval, resamples, seeded, spans

if TYPE_CHECKING:
    import pandas as pd


def quartile_curves(
    table: "pd.DataFrame | Mapping[str, Any]",
    accuracies: Any,
    steps: Sequence[int],
    metrics: Sequence[str] | None = None,
    *,
    bins: int = 4,
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """Mean task accuracy of the models in each quarter of a metric, at each step of the task's training.

    Models are sorted by the metric and cut into bins of equal size, 1 the lowest. Intervals resample models, and cut
    each resample anew.

    Edge cases: models of equal score share their places in equal parts, and a model on a cut counts in part on both
    sides, so the order of rows does not matter and every bin holds m / bins models. A model without score or with a
    missing accuracy is left out, and `note` counts them. Fewer models than bins, or one score for all: NaN and a note.
    Departs from the paper: it gives no intervals, and does not say what becomes of ties.
    Reference: van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?,
    arXiv:1905.12506.

    Args:
        table: pandas table with one row a model, or metric -> scores (m,).
        accuracies: (m, t) of the same models in the same order, one column a step.
        steps: (t,) training steps of the task.
        metrics: columns of the table; all by default.
        bins: how many; 4 for quartiles.
        bootstraps: resamples for the intervals; 0 for none, or a `Bootstrap`.

    Returns:
        Table with metric, step, bin, mean, low, high, n, note.

    >>> curves = quartile_curves({"mig": [0.1, 0.2, 0.3, 0.4]}, [[0.2], [0.4], [0.5], [0.9]], [1000], bootstraps=0)
    >>> curves["mean"].tolist()
    [0.2, 0.4, 0.5, 0.9]
    """
    import pandas as pd

    bootstrap = seeded(bootstraps)
    if bins < 2:
        raise UnknotError(f"quartile_curves: bins is {bins}; two are the least.")
    rows = []
    for name, score, values, note in _usable("quartile_curves", table, accuracies, steps, metrics, bins):
        means, low, high = _binned(score, values, bins, bootstrap)
        for t, step in enumerate(steps):
            for k in range(bins):
                rows.append((name, step, k + 1, means[k, t], low[k, t], high[k, t], len(score), note))
    return pd.DataFrame(rows, columns=["metric", "step", "bin", "mean", "low", "high", "n", "note"])


def half_differences(
    table: "pd.DataFrame | Mapping[str, Any]",
    accuracies: Any,
    steps: Sequence[int],
    metrics: Sequence[str] | None = None,
    *,
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """Mean task accuracy of the top half of models by a metric, minus that of the bottom half, at each step.

    Above 0 the metric picks better models at that step. Ties, missing values and arguments as in `quartile_curves`.

    Returns:
        Table with metric, step, difference, low, high, n, note.

    >>> halves = half_differences({"mig": [0.1, 0.2, 0.3, 0.4]}, [[0.2], [0.4], [0.5], [0.9]], [1000], bootstraps=0)
    >>> halves["difference"].round(6).tolist()
    [0.4]
    """
    import pandas as pd

    bootstrap = seeded(bootstraps)
    rows = []
    for name, score, values, note in _usable("half_differences", table, accuracies, steps, metrics, 2):
        difference, low, high = _binned(score, values, 2, bootstrap, gap=True)
        for t, step in enumerate(steps):
            rows.append((name, step, difference[0, t], low[0, t], high[0, t], len(score), note))
    return pd.DataFrame(rows, columns=["metric", "step", "difference", "low", "high", "n", "note"])


def binned_means(score: Floats, values: Floats, counts: Floats, bins: int) -> Floats:
    """(b, bins, t) mean of values (m, t) in each bin of the score, within each resample."""
    start, end = spans(score, counts)
    tied = end - start
    share = np.divide(counts, tied, out=np.zeros_like(counts), where=tied > 0)
    total = counts.sum(axis=1, keepdims=True)
    means = []
    for k in range(bins):
        inside = np.minimum(end, total * (k + 1) / bins) - np.maximum(start, total * k / bins)
        means.append((share * np.maximum(inside, 0.0)) @ values / (total / bins))
    return np.stack(means, axis=1)


def _usable(
    who: str, table: Any, accuracies: Any, steps: Sequence[int], metrics: Sequence[str] | None, fewest: int
) -> Iterator[tuple[str, Floats, Floats, str]]:
    """Name, scores and accuracies of the models that have both, and what was left out."""
    scores, values = scores_and_accuracies(who, table, accuracies, steps)
    for name in chosen(scores, metrics):
        keep = ~np.isnan(scores[name]) & ~np.isnan(values).any(axis=1)
        missing = int((~keep).sum())
        note = f"{missing} of {len(keep)} models lack the score or an accuracy" if missing else ""
        yield name, scores[name][keep], values[keep], _reason(scores[name][keep], fewest) or note


def _reason(score: Floats, fewest: int) -> str:
    if len(score) < fewest:
        return f"{len(score)} model(s) are left; {fewest} are needed"
    return "the score is the same for all models" if score.min() == score.max() else ""


def _binned(
    score: Floats, values: Floats, bins: int, bootstrap: Bootstrap, *, gap: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Means (or, as a gap, last bin minus first) and the two ends of their intervals, each (bins, t)."""

    def of(counts: Floats) -> Floats:
        means = binned_means(score, values, counts, bins)
        return means[:, -1:] - means[:, :1] if gap else means

    shape = (1 if gap else bins, values.shape[1])
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    if _reason(score, bins):
        return np.full(shape, np.nan), low, high
    if bootstrap.times:
        samples = np.concatenate([of(counts) for counts in resamples(len(score), bootstrap)])
        for i in np.ndindex(shape):
            low[i], high[i] = interval(samples[:, *i], bootstrap.level)
    return of(np.ones((1, len(score))))[0], low, high
