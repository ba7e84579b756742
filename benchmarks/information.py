"""How fast the mutual information behind MIG, MED, modularity and the SNC alignment is, beside a scikit-learn loop."""

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score

from unknot.metrics.kernels import information
from unknot.metrics.kernels.information import equal_frequency_cuts, frequency_information, width_information
from unknot.metrics.mig import mig

SIZES = np.array([3, 6, 40, 32, 32])


def table(
    n: int, d: int, sizes: NDArray[np.int64], seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Latents that know something of uniform factors."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, sizes, size=(n, len(sizes)))
    return factors / sizes @ rng.normal(size=(len(sizes), d)) + 0.3 * rng.normal(size=(n, d)), factors


def loop_equal_width(latents: NDArray[np.float64], factors: NDArray[np.int64]) -> NDArray[np.float64]:
    """The usual way: digitize each latent, then one scikit-learn call for each pair."""
    codes = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in latents.T]
    return np.array([[mutual_info_score(y, code) for y in factors.T] for code in codes])


def loop_equal_frequency(latents: NDArray[np.float64], factors: NDArray[np.int64]) -> NDArray[np.float64]:
    """As many bins as the factor has values, cut anew for each pair."""
    return np.array(
        [
            [
                mutual_info_score(y, np.digitize(z, equal_frequency_cuts(np.sort(z), int(y.max()) + 1)))
                for y in factors.T
            ]
            for z in latents.T
        ]
    )


def best_of(action: Callable[[], object], repeats: int) -> float:
    """Fewest seconds of several runs: others on the machine only ever add time."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def main() -> dict[str, float]:
    """Ratios to the scikit-learn loop, largest differences, and seconds for a million rows."""
    latents, factors = table(10_000, 10, SIZES)
    results: dict[str, float] = {}
    pairs = {
        "equal width": (lambda: width_information(latents, factors, SIZES), loop_equal_width),
        "equal frequency": (lambda: frequency_information(latents, factors, SIZES), loop_equal_frequency),
    }
    import numba  # noqa: F401  (from here on the compiled path is taken)

    for name, (ours, loop) in pairs.items():
        found = ours()  # compiles, or loads what was compiled before
        slow = best_of(lambda loop=loop: loop(latents, factors), 3)
        fast = best_of(ours, 30)
        results[f"{name.replace(' ', '_')}_ratio"] = slow / fast
        difference = float(np.abs(found - loop(latents, factors)).max())
        results[f"{name.replace(' ', '_')}_largest_difference"] = difference
        print(f"{name:<16} {1e3 * slow:8.1f} ms scikit-learn loop {1e3 * fast:8.2f} ms here {slow / fast:8.1f} x")
        print(f"{'':<16} largest difference {difference:.1e} nats")

    original, information._compiled = information._compiled, lambda work: False
    try:
        plain = best_of(pairs["equal width"][0], 10)
    finally:
        information._compiled = original
    slow = best_of(lambda: loop_equal_width(latents, factors), 3)
    results["without_numba_ratio"] = slow / plain
    print(
        f"{'without numba':<16} {1e3 * slow:8.1f} ms scikit-learn loop {1e3 * plain:8.2f} ms here {slow / plain:8.1f} x"
    )

    sizes = np.array([3, 6, 40, 32, 32, 10])
    many, of_many = table(1_000_000, 10, sizes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results["million_rows_seconds"] = best_of(lambda: width_information(many, of_many, sizes), 3)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (
        2**20 if sys.platform == "darwin" else 2**10
    )
    results["million_rows_memory_growth_mb"] = grown
    results["million_rows_mig_seconds"] = best_of(lambda: mig(many, of_many), 1)
    print(f"{'a million rows':<16} {results['million_rows_seconds']:8.3f} s, {grown:.0f} MB more")
    return results


if __name__ == "__main__":
    main()
