"""BetaVAE and FactorVAE scores, and IRS: draws from grouped rows beside the published loops with table lookups.

Both sides get the latents of a complete grid, so that only the scoring differs: the published procedures would encode
960,000 to 1.9 million images one batch at a time on top.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unknot.factors import space
from unknot.metrics.beta_vae_score import beta_vae_score
from unknot.metrics.factor_vae_score import factor_vae_score
from unknot.metrics.irs import irs

GRID = space({"shape": 3, "scale": 6, "orientation": 10, "x": 8, "y": 8})
POINTS, TEST_POINTS, BATCH, LATENTS = 10_000, 5_000, 64, 10


def code(seed: int = 0) -> NDArray[np.float64]:
    """Latents of every point of the grid: the factors, partly mixed, and noise."""
    rng = np.random.default_rng(seed)
    factors = GRID.scaled(GRID.classes(np.arange(GRID.size)))
    mix = np.eye(len(GRID), LATENTS) + 0.5 * rng.normal(size=(len(GRID), LATENTS))
    return factors @ mix + 0.2 * rng.normal(size=(GRID.size, LATENTS))


def sampled_at_once(rng: np.random.Generator) -> NDArray[np.int64]:
    """A batch of points, all factors in one draw: a faster reading of the published procedure."""
    return rng.integers(GRID.shape, size=(BATCH, len(GRID)))


def sampled(rng: np.random.Generator) -> NDArray[np.int64]:
    """A batch of points, drawn factor by factor as the public code does."""
    points = np.zeros((BATCH, len(GRID)), dtype=np.int64)
    for i, size in enumerate(GRID.shape):
        points[:, i] = rng.integers(size, size=BATCH)
    return points


def encoded(latents: NDArray[np.float64], points: NDArray[np.int64]) -> NDArray[np.float64]:
    """Encoding is a lookup in the grid."""
    return latents[np.array(np.dot(points, GRID.strides), dtype=np.int64)]


def beta_loop(
    latents: NDArray[np.float64],
    rng: np.random.Generator,
    sampled: Callable[[np.random.Generator], NDArray[np.int64]] = sampled,
) -> float:
    """One point at a time, as published."""
    from sklearn.linear_model import LogisticRegression

    features, labels = np.empty((POINTS + TEST_POINTS, LATENTS)), np.empty(POINTS + TEST_POINTS, dtype=np.int64)
    for p in range(POINTS + TEST_POINTS):
        j = rng.integers(len(GRID))
        first, second = sampled(rng), sampled(rng)
        second[:, j] = first[:, j]
        features[p] = np.mean(np.abs(encoded(latents, first) - encoded(latents, second)), axis=0)
        labels[p] = j
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops after 100 iterations, converged or not
        model = LogisticRegression().fit(features[:POINTS], labels[:POINTS])
    return float(model.score(features[POINTS:], labels[POINTS:]))


def factor_loop(
    latents: NDArray[np.float64],
    rng: np.random.Generator,
    sampled: Callable[[np.random.Generator], NDArray[np.int64]] = sampled,
) -> float:
    """One vote at a time, as published."""
    variance = np.var(latents[rng.integers(len(latents), size=10_000)], axis=0, ddof=1)
    votes, labels = np.empty((2, POINTS + TEST_POINTS), dtype=np.int64)
    for p in range(POINTS + TEST_POINTS):
        j = rng.integers(len(GRID))
        points = sampled(rng)
        points[:, j] = points[0, j]
        local = np.var(encoded(latents, points), axis=0, ddof=1)
        votes[p], labels[p] = np.argmin(local / variance), j
    table = np.zeros((LATENTS, len(GRID)))
    np.add.at(table, (votes[:POINTS], labels[:POINTS]), 1)
    return float(np.mean(table.argmax(axis=1)[votes[POINTS:]] == labels[POINTS:]))


def timed(action: Callable[[int], float], seeds: int) -> tuple[float, float, float]:
    """Fewest CPU seconds, mean and standard deviation of the value over seeds."""
    times, values = [], []
    for seed in range(seeds):
        start = time.process_time()
        values.append(action(seed))
        times.append(time.process_time() - start)
    return min(times), float(np.mean(values)), float(np.std(values))


def main() -> dict[str, float]:
    """Ratio of time and difference in value of both scores, and the time of IRS on a million rows."""
    latents, factors = code(), GRID.classes(np.arange(GRID.size))
    results: dict[str, float] = {}
    for name, ours, loop in (
        ("beta_vae_score", beta_vae_score, beta_loop),
        ("factor_vae_score", factor_vae_score, factor_loop),
    ):
        ours(latents, factors)  # compiles, or loads what was compiled before
        slow, theirs, _ = timed(lambda seed, loop=loop: loop(latents, np.random.default_rng(seed)), 3)
        fast, here, sd = timed(lambda seed, ours=ours: ours(latents, factors, rng=seed).value, 8)
        results[f"{name}_ratio"], results[f"{name}_difference"] = slow / fast, abs(here - theirs)
        print(f"{name:<17} {1e3 * slow:8.1f} ms published loop {1e3 * fast:8.2f} ms here {slow / fast:8.1f} x")
        quicker, *_ = timed(lambda seed, loop=loop: loop(latents, np.random.default_rng(seed), sampled_at_once), 3)
        results[f"{name}_ratio_to_draws_at_once"] = quicker / fast
        print(f"{'':<17} {1e3 * quicker:8.1f} ms with all factors in one draw {quicker / fast:27.1f} x")
        print(f"{'':<17} {theirs:.4f} and {here:.4f} (sd over seeds {sd:.4f})")
    rng = np.random.default_rng(0)
    many, of_many = rng.normal(size=(1_000_000, 10)), rng.integers(0, [3, 6, 40, 32, 32, 10], size=(1_000_000, 6))
    irs(many[:100], of_many[:100])
    results["irs_million_rows_seconds"] = timed(lambda _: irs(many, of_many).value, 2)[0]
    print(f"{'irs':<17} {results['irs_million_rows_seconds']:8.2f} s for a million rows, 10 latents, 6 factors")
    return results


if __name__ == "__main__":
    main()
