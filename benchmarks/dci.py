"""DCI with boosted trees: ours against scikit-learn's GradientBoostingClassifier, same arrays, one run, one core.

    python benchmarks/dci.py                 two factors, 10 rounds: about a minute
    python benchmarks/dci.py --full          all five factors, 100 rounds: scikit-learn alone takes five minutes
    python benchmarks/dci.py --code rotated

The job is 10,000 training rows of 10 latents and factors with 3, 6, 40, 32 and 32 values. Ratios are of CPU time for
identical work: fit, importances, and prediction of 5,000 held-out rows.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZES = (3, 6, 40, 32, 32)
ROWS, TEST_ROWS, LATENTS = 10_000, 5_000, 10
Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]


def job(code: str, seed: int = 0) -> Arrays:
    """Latents and factors: five latents carry the factors, cleanly, with noise or rotated; five carry nothing."""
    rng = np.random.default_rng(seed)
    n = ROWS + TEST_ROWS
    factors = rng.integers(0, SIZES, size=(n, len(SIZES)))
    sources = np.hstack([factors / (np.array(SIZES) - 1) - 0.5, 0.3 * rng.normal(size=(n, LATENTS - len(SIZES)))])
    if code == "clean":
        return sources, factors
    if code == "rotated":
        sources = sources @ np.linalg.qr(rng.normal(size=(LATENTS, LATENTS)))[0]
    return sources + 0.03 * rng.normal(size=sources.shape), factors


def peer(
    z: NDArray[np.float64], y: NDArray[np.int64], z_test: NDArray[np.float64], rounds: int
) -> tuple[Any, Any]:
    """Importances and predictions of scikit-learn."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(n_estimators=rounds, random_state=0).fit(z, y)
    return model.feature_importances_, model.predict(z_test)


def ours(exact: bool) -> Callable[..., tuple[Any, Any]]:
    """Importances and predictions of our trees."""
    from unknot.metrics.boosting import fit_trees, tabulate

    def run(
        z: NDArray[np.float64], y: NDArray[np.int64], z_test: NDArray[np.float64], rounds: int
    ) -> tuple[Any, Any]:
        trees = fit_trees(tabulate(z), y, rounds=rounds, exact=exact)
        return trees.importances, trees.predict(z_test)

    return run


def scores(
    run: Callable[..., tuple[Any, Any]], arrays: Arrays, columns: list[int], rounds: int
) -> dict[str, float]:
    """D, C, I and CPU seconds of one implementation."""
    from unknot.metrics._importance import completeness, disentanglement

    z, y = arrays
    start = time.process_time()
    results = [run(z[:ROWS], y[:ROWS, j], z[ROWS:], rounds) for j in columns]
    seconds = time.process_time() - start
    importance = np.stack([found for found, _ in results], axis=1)
    accuracy = [np.mean(guess == y[ROWS:, j]) for j, (_, guess) in zip(columns, results, strict=True)]
    return {
        "D": disentanglement(importance)[0],
        "C": completeness(importance)[0],
        "I": float(np.mean(accuracy)),
        "seconds": seconds,
    }


def main(arguments: list[str] | None = None) -> None:
    """Print times, ratios and differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all factors and 100 rounds")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--code", choices=("clean", "noisy", "rotated"), default="noisy")
    options = parser.parse_args(arguments)
    rounds, columns = (100, [0, 1, 2, 3, 4]) if options.full else (options.rounds, [1, 3])
    arrays = job(options.code)
    runs = {"dci[gbt]": ours(exact=True), "dci[gbt_fast]": ours(exact=False), "scikit-learn": peer}
    for run in list(runs.values())[:2]:
        run(arrays[0][:300], arrays[1][:300, 0], arrays[0][:10], 1)  # compilation is not part of the ratio
    found = {name: scores(run, arrays, columns, rounds) for name, run in runs.items()}
    reference = found["scikit-learn"]
    sizes = ", ".join(str(SIZES[j]) for j in columns)
    print(f"{options.code} code, {ROWS} x {LATENTS}, factors of {sizes} values, {rounds} rounds")
    print(f"{'':16}{'CPU s':>9}{'ratio':>8}{'D':>9}{'C':>9}{'I':>9}{'|dD|':>9}{'|dC|':>9}{'|dI|':>9}")
    for name, score in found.items():
        apart = [abs(score[key] - reference[key]) for key in "DCI"]
        values = "".join(f"{value:9.4f}" for value in [*(score[key] for key in "DCI"), *apart])
        print(f"{name:16}{score['seconds']:9.2f}{reference['seconds'] / score['seconds']:8.1f}{values}")


if __name__ == "__main__":
    main()
