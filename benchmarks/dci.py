"""DCI with boosted trees: ours against scikit-learn's GradientBoostingClassifier, same arrays, one run, one core.

    python benchmarks/dci.py                 two factors, 20 rounds: half a minute
    python benchmarks/dci.py --full          all five factors, 100 rounds: scikit-learn alone takes five minutes
    python benchmarks/dci.py --code rotated

The job is 10,000 training rows of 10 latents and factors with 3, 6, 40, 32 and 32 values. Ratios are of CPU time for
identical work: fit, importances, and prediction of 5,000 held-out rows.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SIZES = (3, 6, 40, 32, 32)
ROWS, TEST_ROWS, LATENTS = 10_000, 5_000, 10
Floats, Ints = NDArray[np.float64], NDArray[np.int64]
Result = tuple[Floats, Ints]  # importances, predictions
Run = Callable[[Floats, Ints, Floats, int], list[Result]]


def job(code: str, seed: int = 0) -> tuple[Floats, Ints]:
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


def peer(z: Floats, factors: Ints, z_test: Floats, rounds: int) -> list[Result]:
    """Importances and predictions of scikit-learn, one factor after the other."""
    from sklearn.ensemble import GradientBoostingClassifier

    models = [GradientBoostingClassifier(n_estimators=rounds, random_state=0).fit(z, y) for y in factors.T]
    return [(model.feature_importances_, model.predict(z_test)) for model in models]


def ours(exact: bool) -> Run:
    """Importances and predictions of our trees."""
    from unknot.metrics.boosting import fit_trees, tabulate

    def run(z: Floats, factors: Ints, z_test: Floats, rounds: int) -> list[Result]:
        table = tabulate(z)
        models = [fit_trees(table, y, rounds=rounds, exact=exact) for y in factors.T]
        return [(model.importances, model.predict(z_test)) for model in models]

    return run


def scores(run: Run, latents: Floats, factors: Ints, rounds: int) -> dict[str, float]:
    """D, C, I and CPU seconds of one implementation."""
    from unknot.metrics._importance import completeness, disentanglement

    start = time.process_time()
    results = run(latents[:ROWS], factors[:ROWS], latents[ROWS:], rounds)
    seconds = time.process_time() - start
    importance = np.stack([found for found, _ in results], axis=1)
    guesses = np.stack([guess for _, guess in results], axis=1)
    return {
        "D": disentanglement(importance)[0],
        "C": completeness(importance)[0],
        "I": float(np.mean(guesses == factors[ROWS:])),
        "seconds": seconds,
    }


def main(arguments: list[str] | None = None) -> None:
    """Print times, ratios and differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all factors and 100 rounds")
    parser.add_argument("--rounds", type=int, default=20, help="of two factors, without --full")
    parser.add_argument("--code", choices=("clean", "noisy", "rotated"), default="noisy")
    options = parser.parse_args(arguments)
    rounds, columns = (100, [0, 1, 2, 3, 4]) if options.full else (options.rounds, [1, 3])
    latents, factors = job(options.code)
    runs = {"dci[gbt]": ours(exact=True), "dci[gbt_fast]": ours(exact=False), "scikit-learn": peer}
    for run in list(runs.values())[:2]:
        run(latents[:300], factors[:300], latents[:10], 1)  # compilation is not part of the ratio
    found = {name: scores(run, latents, factors[:, columns], rounds) for name, run in runs.items()}
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
