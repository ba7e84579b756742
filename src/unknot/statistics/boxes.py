"""Which setting of the hyper-parameters is best, and how sure is that? Box-plot statistics per setting."""

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.statistics.columns import chosen, columns_of
from unknot.statistics.resamples import Bootstrap, Bootstraps, interval, seeded

if TYPE_CHECKING:
    import pandas as pd


def box_statistics(
    table: "pd.DataFrame | Mapping[str, Any]",
    settings: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    lower_is_better: Sequence[str] = (),
    bootstraps: Bootstraps = 1000,
) -> "pd.DataFrame":
    """Median, quartiles and whiskers of each score within each setting, and how often the setting comes out best.

    Whiskers reach to the last value within 1.5 times the distance between the quartiles (Tukey). `low` and `high`
    bound the median, by resampling the models of the setting. `best` is the share of resamples in which the
    setting has the best median, ties shared; its sum over settings is 1.

    Edge cases: missing scores are left out; a setting without any has NaN, n = 0 and a note. With one model the
    interval is that model's value, and `note` says so: nothing is known of the seeds' spread.

    Args:
        table: pandas table with one row a model, or column name -> scores (m,).
        settings: (m,) the setting of each model.
        columns: whose statistics; all by default.
        lower_is_better: columns whose best setting has the lowest median.
        bootstraps: resamples for the intervals and `best`; 0 for none, or a `Bootstrap`.

    Returns:
        Table with column, setting, n, mean, min, whisker_low, q1, median, q3, whisker_high, max, low, high, best, note.

    >>> boxes = box_statistics({"mig": [1, 2, 3, 7, 8, 9]}, ["beta 1"] * 3 + ["beta 4"] * 3)
    >>> boxes[["setting", "q1", "median", "q3", "best"]]
      setting   q1  median   q3  best
    0  beta 1  1.5     2.0  2.5   0.0
    1  beta 4  7.5     8.0  8.5   1.0
    """
    import pandas as pd

    bootstrap = seeded(bootstraps)
    scores = columns_of("box_statistics", table)
    labels = np.array([str(setting) for setting in settings])
    m = len(next(iter(scores.values())))
    if len(labels) != m:
        raise UnknotError(f"box_statistics: {len(labels)} settings for {m} models; each model needs one.")
    chosen(scores, lower_is_better)
    order = list(dict.fromkeys(labels.tolist()))
    rows = []
    for name in chosen(scores, columns):
        groups = [scores[name][(labels == setting) & ~np.isnan(scores[name])] for setting in order]
        medians = _medians(groups, order, bootstrap)
        best = _best(-medians if name in lower_is_better else medians)
        for i, (setting, values) in enumerate(zip(order, groups, strict=True)):
            low, high = interval(medians[i], bootstrap.level) if bootstrap.times else (np.nan, np.nan)
            row = {"column": name, "setting": setting, "n": len(values), **_box(values)}
            rows.append({**row, "low": low, "high": high, "best": best[i], "note": _note(len(values))})
    return pd.DataFrame(rows)


def _box(values: Floats) -> dict[str, float]:
    names = ("mean", "min", "whisker_low", "q1", "median", "q3", "whisker_high", "max")
    if not len(values):
        return dict.fromkeys(names, float("nan"))
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q3 - q1)
    # The quartiles are between values, so the last value within reach may lie inside the box; the box is the least.
    low = min(q1, values[values >= q1 - reach].min())
    high = max(q3, values[values <= q3 + reach].max())
    numbers = (values.mean(), values.min(), low, q1, median, q3, high, values.max())
    return dict(zip(names, map(float, numbers), strict=True))


def _medians(groups: Sequence[Floats], names: Sequence[str], bootstrap: Bootstrap) -> Floats:
    """The median of each setting in each resample, (settings, times); NaN for a setting without scores."""
    medians = np.full((len(groups), bootstrap.times), np.nan)
    for i, (values, name) in enumerate(zip(groups, names, strict=True)):
        if len(values):
            # Seeded by the setting's name, so that another setting in the table moves no interval.
            rng = np.random.default_rng([bootstrap.seed, zlib.crc32(name.encode())])
            medians[i] = np.median(values[rng.integers(len(values), size=(bootstrap.times, len(values)))], axis=1)
    return medians


def _best(medians: Floats) -> Floats:
    if medians.shape[1] == 0 or np.isnan(medians).all():
        return np.full(len(medians), np.nan)
    keys = np.where(np.isnan(medians), -np.inf, medians)
    winners = keys == keys.max(axis=0)
    result: Floats = (winners / winners.sum(axis=0)).mean(axis=1)
    return result


def _note(n: int) -> str:
    return {0: "no model of this setting has the score", 1: "one model: its spread is not known"}.get(n, "")
