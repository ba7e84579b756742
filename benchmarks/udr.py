"""UDR of 60 models, all 3,540 ordered pairs, beside one scikit-learn or scipy call for each pair.

The slow side is timed on a few pairs and multiplied; 10 latents, 10,000 rows, CPU time.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.udr import informative, similarity, udr_scores

MODELS, ROWS, LATENTS = 60, 10_000, 10
PAIRS = MODELS * (MODELS - 1)
Model = NDArray[np.float64]


def models(seed: int = 0) -> list[Model]:
    """Half the models permute the same sources, half rotate them; all add noise."""
    rng = np.random.default_rng(seed)
    sources = rng.normal(size=(ROWS, LATENTS))
    mixes = [
        np.linalg.qr(rng.normal(size=(LATENTS, LATENTS)))[0]
        if m % 2
        else np.eye(LATENTS)[rng.permutation(LATENTS)]
        for m in range(MODELS)
    ]
    return [sources @ mix + 0.3 * rng.normal(size=sources.shape) for mix in mixes]


def standard(latents: Model) -> Model:
    result: Model = (latents - latents.mean(axis=0)) / latents.std(axis=0)
    return result


def lasso_pair(a: Model, b: Model) -> tuple[Model, float]:
    from sklearn.linear_model import Lasso

    return np.abs(Lasso(alpha=0.1).fit(a, b).coef_.T), 0.1


def multi_task_pair(a: Model, b: Model) -> tuple[Model, float]:
    from sklearn.linear_model import MultiTaskLassoCV

    model = MultiTaskLassoCV(cv=5).fit(a, b)
    return np.abs(model.coef_.T), float(model.alpha_)


def spearman_pair(a: Model, b: Model) -> tuple[Model, float]:
    from scipy.stats import spearmanr

    return np.array([[abs(spearmanr(x, y)[0]) for y in b.T] for x in a.T]), 0.0


def timed(action: Callable[[], object], repeats: int) -> float:
    """Fewest CPU seconds of several runs: others on the machine only ever add time."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def main() -> dict[str, float]:
    """Ratio of time, largest difference of a coefficient, and whether the penalties chosen agree."""
    raw = models()
    plain = [standard(z) for z in raw[:4]]
    results: dict[str, float] = {}
    jobs = (
        ("lasso", "lasso", 0.1, lasso_pair, 5),
        ("multi_task_lasso_cv", "lasso", "cv", multi_task_pair, 1),
        ("spearman", "spearman", 0.1, spearman_pair, 1),
    )
    for name, method, alpha, pair, repeats in jobs:

        def prepared(method=method):
            return [informative(z, method=method) for z in raw]

        some = prepared()[:4]
        differences, penalties = [], []
        for a, b in ((0, 1), (2, 3), (0, 2)):
            (wanted, penalty), (found, chosen) = (
                pair(plain[a], plain[b]),
                similarity(some[a], some[b], alpha=alpha),
            )
            differences.append(np.abs(wanted - found).max())
            penalties.append(abs(penalty - (chosen or 0.0)))
        udr_scores(some, alpha=alpha)
        ready = prepared()
        fast = timed(lambda ready=ready, alpha=alpha: udr_scores(ready, alpha=alpha), 5)
        slow = PAIRS * timed(lambda pair=pair: pair(plain[0], plain[1]), repeats)
        # Once per model on either side: standardise; for Spearman our ranks too, which the slow side takes per pair.
        before, theirs = timed(prepared, 3), MODELS * timed(lambda: standard(raw[0]), 3)
        used = fast if method == "lasso" else fast + before
        results[f"{name}_ratio"] = slow / used
        results[f"{name}_ratio_from_raw_latents"] = (slow + theirs) / (fast + before)
        results[f"{name}_difference"] = float(max(differences))
        results[f"{name}_penalty_difference"] = float(max(penalties))
        print(f"{name:<20} {slow:8.1f} s pair by pair {used:8.3f} s here {slow / used:8.1f} x", end="")
        print(f" ({results[f'{name}_ratio_from_raw_latents']:.0f} x from raw latents)", end="")
        print(f"   largest difference {max(differences):.1e}, of the penalty {max(penalties):.1e}")
    return results


if __name__ == "__main__":
    main()
