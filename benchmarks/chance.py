"""What measured chance and paired comparisons cost at 10,000 rows of 10 latents and 5 factors, beside a plain loop."""

import os
import time
import warnings
from collections.abc import Callable

import numpy as np

import unknot
from unknot.errors import UnknotWarning
from unknot.metrics import METRICS

SIZES = (3, 6, 40, 32, 32)
PERMUTATIONS, RESAMPLES, LOOPED = 200, 1000, 3


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Half of the latents know a factor each, half know nothing."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, SIZES, size=(10_000, 5))
    known = factors / np.array(SIZES) + 0.2 * rng.normal(size=factors.shape)
    return np.hstack([known, rng.normal(size=(10_000, 5))]), factors


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and those of the processors, of work in other processes."""
    before, start = os.times(), time.perf_counter()
    work()
    after = os.times()
    return time.perf_counter() - start, sum(after[:4]) - sum(before[:4])


def plain_loop(latents: np.ndarray, factors: np.ndarray, instant: list[str]) -> float:
    """Seconds of one permutation: each metric called anew."""
    rng, start = np.random.default_rng(0), time.perf_counter()
    for _ in range(LOOPED):
        order = rng.permutation(len(factors))
        for name in instant:
            METRICS[name](latents, factors[order])
    return (time.perf_counter() - start) / LOOPED


def main() -> dict[str, float]:
    """Seconds of a null of 200 permutations, of 1,000 paired halves, and of the plain loop for as many."""
    warnings.simplefilter("ignore", UnknotWarning)
    latents, factors = table()
    labelled = [name for name, metric in METRICS.items() if metric.facts.cost == "instant" and metric.facts.labels]
    loop = PERMUTATIONS * plain_loop(latents, factors, labelled)
    null, cpu = spent(lambda: unknot.score(latents, factors, metrics="quick", null=PERMUTATIONS, jobs=2))
    print(
        f"{len(labelled)} metrics, {PERMUTATIONS} permutations: {null:.1f} s in two processes, plain loop {loop:.0f} s"
    )
    pair = {
        name: unknot.Representation(table(seed)[0] if seed else latents, factors)
        for seed, name in enumerate(("a", "b"))
    }
    paired, cpu = spent(lambda: unknot.compare(pair, metrics="quick", resamples=RESAMPLES, jobs=2))
    print(f"18 metrics, {RESAMPLES} paired halves of both: {paired:.1f} s in two processes ({cpu:.1f} s of CPU)")
    return {"null": null, "loop": loop, "paired": paired}


if __name__ == "__main__":
    main()
