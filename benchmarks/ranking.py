"""The whole ranking of Duan et al. 2020: 5,400 models in 108 settings of 50 seeds, each against the other 49.

python benchmarks/ranking.py            a few settings, and what 108 would take
python benchmarks/ranking.py --full     all of them

Latents (10,000 x 10 a model) are made when it is the model's turn, as they would be read from a file; CPU time of
one core, making them included. The goal is 15 minutes for the cross-validated Lasso, with memory that does not
grow with the number of models.
"""

import functools
import resource
import sys
import time

import numpy as np
from numpy.typing import NDArray

from unknot.ranking.ranking import rank
from unknot.representation import Representation

SETTINGS, SEEDS, ROWS, LATENTS = 108, 50, 10_000, 10
SOME = 2  # settings of the short version


@functools.cache
def sources() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(ROWS, LATENTS))


def model(setting: int, seed: int, settings: int) -> Representation:
    """Sources mixed the more, the later the setting; some seeds switch latents off."""
    rng = np.random.default_rng([setting, seed])
    mix = np.linalg.qr(np.eye(LATENTS) + rng.normal(size=(LATENTS, LATENTS)) * setting / settings)[0]
    latents = sources() @ mix[:, rng.permutation(LATENTS)] + 0.3 * rng.normal(size=(ROWS, LATENTS))
    kl = np.where(rng.random(LATENTS) < 0.2, 0.001, 1.0)
    return Representation(latents=latents.astype(np.float32), kl=kl)


def timed(settings: int, spread: int, **options: object) -> tuple[float, int]:
    """CPU seconds and number of pairs for some settings spread over all."""
    chosen = np.linspace(0, spread - 1, settings).round().astype(int)
    makers = [functools.partial(model, int(k), s, spread) for k in chosen for s in range(SEEDS)]
    groups = [f"setting {k}" for k in chosen for _ in range(SEEDS)]
    start = time.process_time()
    ranking = rank(makers, groups=groups, **options)
    return time.process_time() - start, len(ranking.pairs)


def peak() -> float:
    """Largest memory of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(full: bool = False) -> dict[str, float]:
    """CPU seconds of 5,400 x 49 comparisons, measured or from a part of them."""
    results: dict[str, float] = {}
    for method, alpha in (("lasso", 0.1), ("lasso", "cv"), ("spearman", 0.1)):
        rank([functools.partial(model, 0, s, SETTINGS) for s in range(3)], method=method, alpha=alpha)  # compile
        settings = SETTINGS if full else SOME
        seconds, pairs = timed(settings, SETTINGS, method=method, alpha=alpha)
        name = f"{method}{'_cv' if alpha == 'cv' else ''}"
        results[f"{name}_minutes"] = seconds * SETTINGS / settings / 60
        how = "measured" if full else f"from {settings} of {SETTINGS} settings"
        print(f"{name:<10} {pairs:>7} pairs in {seconds:7.1f} s", end="")
        print(f"   5,400 models: {results[f'{name}_minutes']:5.1f} min ({how}), peak {peak():.0f} MB", flush=True)
    return results


if __name__ == "__main__":
    main("--full" in sys.argv[1:])
