"""How often 95 % intervals hold what they should: the mean over as many other rows, and what very many rows give.

python benchmarks/intervals.py [--rows 1000] [--tables 40] [--resamples 40]
"""

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import unknot
from unknot.metrics import METRICS

SIZES = np.array([3, 8, 20])
MANY = 200_000


def table(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three factors, each in a latent of its own with noise; a latent that mixes two; one that knows nothing."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, SIZES, size=(n, 3))
    known = factors / SIZES + 0.15 * rng.normal(size=factors.shape)
    mixed = known[:, :1] / 2 + known[:, 1:2] / 2 + 0.05 * rng.normal(size=(n, 1))
    return np.hstack([known, mixed, rng.normal(size=(n, 1))]), factors


def rows_of(n: int, tables: int, resamples: int) -> list[dict[str, Any]]:
    """For each instant metric, how often three readings of the interval are right."""
    warnings.simplefilter("ignore")
    names = [name for name, metric in METRICS.items() if metric.facts.cost == "instant" and not metric.facts.asked]
    limit = unknot.score(*table(MANY, 10**6), metrics=names, null=0).values()
    cards = [
        unknot.score(*table(n, seed), metrics=names, bootstrap=resamples, null=0, seed=seed).records
        for seed in range(tables)
    ]
    rows = []
    for id_, many in limit.items():
        records = [card[id_] for card in cards if card[id_].interval and card[id_].drift is not None]
        if not records:
            rows.append({"metric": id_, "tables": 0})
            continue
        ends = np.array([record.interval for record in records])
        drift = np.array([record.drift for record in records])[:, None]
        mean = np.mean([record.score.value for record in records if record.score])
        readings = {
            "as many rows": (ends, mean),
            "many rows": (ends, many),
            "many rows, with drift": (ends + drift, many),
        }
        held = {
            name: float(np.mean((at[:, 0] <= value) & (value <= at[:, 1])))
            for name, (at, value) in readings.items()
        }
        rows.append({"metric": id_, "tables": len(records), "mean": float(mean), "of many rows": many, **held})
    return rows


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Print a row for each metric."""
    parser = argparse.ArgumentParser()
    for name, default in (("rows", 1000), ("tables", 40), ("resamples", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args(arguments)
    rows = rows_of(options.rows, options.tables, options.resamples)
    print(f"{options.tables} tables of {options.rows} rows, {options.resamples} resamples")
    print("| metric | mean | of many rows | holds: as many rows | many rows | many rows, with drift |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        cells = [f"{value:.2f}" for value in list(row.values())[2:]]
        print(f"| `{row['metric']}` | {' | '.join(cells) or 'undefined'} |")
    return rows


if __name__ == "__main__":
    main()
