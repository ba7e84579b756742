"""What measured chance and paired comparisons cost at 10,000 rows of 10 latents and 5 factors, beside a plain loop."""

import time
import warnings

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


def plain_loop(latents: np.ndarray, factors: np.ndarray, instant: list[str]) -> float:
    """Seconds of one permutation: each metric called anew."""
    rng, start = np.random.default_rng(0), time.perf_counter()
    for _ in range(LOOPED):
        order = rng.permutation(len(factors))
        for name in instant:
            METRICS[name](latents, factors[order])
    return (time.perf_counter() - start) / LOOPED


def main() -> dict[str, float]:
    """Seconds of a null of 200 permutations, of 1,000 paired resamples, and of the plain loop for as many."""
    warnings.simplefilter("ignore", UnknotWarning)
    latents, factors = table()
    labelled = [name for name, metric in METRICS.items() if metric.facts.cost == "instant" and metric.facts.labels]
    loop = PERMUTATIONS * plain_loop(latents, factors, labelled)
    start = time.perf_counter()
    unknot.score(latents, factors, metrics="quick", null=PERMUTATIONS, jobs=2)
    null = time.perf_counter() - start
    print(
        f"{len(labelled)} metrics, {PERMUTATIONS} permutations: {null:.1f} s in two processes, plain loop {loop:.0f} s"
    )
    pair = {
        name: unknot.Representation(table(seed)[0] if seed else latents, factors)
        for seed, name in enumerate(("a", "b"))
    }
    start = time.perf_counter()
    unknot.compare(pair, metrics="quick", resamples=RESAMPLES, jobs=2)
    paired = time.perf_counter() - start
    print(f"18 metrics, {RESAMPLES} paired resamples of both: {paired:.1f} s in two processes")
    return {"null": null, "loop": loop, "paired": paired}


if __name__ == "__main__":
    main()
