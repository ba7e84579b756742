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


def plain_loop(latents: np.ndarray, factors: np.ndarray, metrics: list[str], permuted: bool) -> float:
    """Seconds of a processor for one permutation, or for a third of the rows or the others: each metric called anew."""
    rng, n, seconds = np.random.default_rng(0), len(factors), 0.0
    for _ in range(LOOPED):
        order = rng.permutation(n)
        parts = (
            [(np.arange(n), order)] if permuted else [(rows, rows) for rows in (order[: n // 3], order[n // 3 :])]
        )
        start = time.process_time()
        for rows, labels in parts:
            for name in metrics:
                METRICS[name](latents[rows], factors[labels])
        seconds += (time.process_time() - start) / len(parts)
    return seconds / LOOPED


def main() -> dict[str, float]:
    """Seconds of a null of 200 permutations and of 1,000 paired parts of the rows, and of plain loops for as many."""
    warnings.simplefilter("ignore", UnknotWarning)
    latents, factors = table()
    instant = [
        name for name, metric in METRICS.items() if metric.facts.cost == "instant" and not metric.facts.asked
    ]
    labelled = [name for name in instant if METRICS[name].facts.labels]
    pair = {
        name: unknot.Representation(table(seed)[0] if seed else latents, factors)
        for seed, name in enumerate(("a", "b"))
    }
    for name in instant:  # compiled, and libraries loaded
        METRICS[name](latents, factors)
    null, null_cpu = spent(lambda: unknot.score(latents, factors, metrics="quick", null=PERMUTATIONS, jobs=2))
    paired, paired_cpu = spent(lambda: unknot.compare(pair, metrics="quick", resamples=RESAMPLES, jobs=2))
    loops = (
        PERMUTATIONS * plain_loop(latents, factors, labelled, permuted=True),
        2 * RESAMPLES * plain_loop(latents, factors, instant, permuted=False),
    )
    for what, clock, cpu, loop in (
        (f"{len(labelled)} metrics, {PERMUTATIONS} permutations", null, null_cpu, loops[0]),
        (f"{len(instant)} metrics, {RESAMPLES} paired parts of the rows of both", paired, paired_cpu, loops[1]),
    ):
        print(
            f"{what}: {clock:.1f} s in two processes, {cpu:.1f} s of CPU; plain loop {loop:.0f} s of CPU", end=" "
        )
        print(f"({LOOPED} rounds, multiplied)")
    return {"null": null, "null_cpu": null_cpu, "paired": paired, "paired_cpu": paired_cpu}


if __name__ == "__main__":
    main()
