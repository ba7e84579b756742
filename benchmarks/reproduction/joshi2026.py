"""The grid of Joshi et al. (UAI 2026, arXiv:2602.24278): four generators, ten encoders, six metrics.

Generators and encoders follow the description of the authors' suite, with its defaults (1,000 rows of five factors);
the code is ours, and so are the functions that bend (theirs grow as exp(x³)) and the variants of the metrics.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from reproduce import table

from reproduction.draws import kept, path_of, read
from reproduction.generators import Numbers

FOLDER, ROWS, FACTORS = "joshi2026", 1_000, 5
METRICS = ("mcc", "mcc[spearman]", "dci[lasso]", "dci[forest]", "r2", "mig", "infomec[explicitness=False]", "tmex")
BENDS: tuple[Callable[[Numbers], Numbers], ...] = (
    np.tanh,
    lambda x: np.sinh(2 * x),
    lambda x: np.sign(x) * np.sqrt(np.abs(x)),
    lambda x: x**3,
    np.exp,
)


def _independent(rng: np.random.Generator) -> Numbers:
    return rng.normal(size=(ROWS, FACTORS))


def _correlated(rng: np.random.Generator) -> Numbers:
    return rng.multivariate_normal(np.zeros(FACTORS), 0.5 + 0.5 * np.eye(FACTORS), ROWS)


def _follows_one(rng: np.random.Generator) -> Numbers:
    factors = _independent(rng)
    factors[:, 1] = np.tanh(2 * factors[:, 0] ** 3)
    return factors


def _follows_two(rng: np.random.Generator) -> Numbers:
    factors = _independent(rng)
    factors[:, 2:4] = np.column_stack([factors[:, 0] * factors[:, 1], factors[:, 0] + factors[:, 1]])
    return factors


GENERATORS = {
    "independent": _independent,
    "correlated": _correlated,
    "one follows another": _follows_one,
    "two follow two others": _follows_two,
}


def encoders(factors: Numbers, rng: np.random.Generator) -> Iterator[tuple[str, Numbers]]:
    """The ten codes of factors, by name."""
    order = rng.permutation(FACTORS)
    more = rng.permutation([*range(FACTORS), rng.integers(FACTORS)])
    bent = [BENDS[j % len(BENDS)](factors[:, more[j]]) for j in range(FACTORS + 1)]
    yield "1 rescaled", factors[:, order] * _scales(FACTORS, rng)
    yield "2 bent", np.column_stack([BENDS[j](factors[:, order[j]]) for j in range(FACTORS)])
    yield "3 mixed", factors @ _mixing(FACTORS, rng)
    yield "4 one left out", factors[:, 1:] * _scales(FACTORS - 1, rng)
    yield "5 one twice", factors[:, more] * _scales(FACTORS + 1, rng)
    yield "6 one twice, bent", np.column_stack(bent)
    yield "7 mixed into twice as many", factors @ _mixing(2 * FACTORS, rng)
    yield "8 sine and cosine", np.hstack([np.sin(factors[:, order]), np.cos(factors[:, order])])
    yield "9 normal noise", rng.normal(size=factors.shape)
    yield "10 uniform noise", rng.uniform(-1, 1, size=factors.shape)


def _scales(n: int, rng: np.random.Generator) -> Numbers:
    return rng.uniform(0.5, 2, n) * rng.choice([-1, 1], n)


def _mixing(width: int, rng: np.random.Generator) -> Numbers:
    """A dense matrix whose largest stretch is ten times its smallest."""
    left, _ = np.linalg.qr(rng.normal(size=(FACTORS, FACTORS)))
    right, _ = np.linalg.qr(rng.normal(size=(width, FACTORS)))
    return left * np.linspace(1, 0.1, FACTORS) @ right.T


def measure(folder: Path, generator: str, seed: int) -> None:
    """Scores of all encoders on one draw, kept in a file, and whether the card warned of each."""
    kept(path_of(folder / FOLDER, generator, seed), lambda: _scores(generator, seed))


def _scores(generator: str, seed: int) -> dict[str, Any]:
    from unknot import Representation
    from unknot.processes.threads import one_thread
    from unknot.scoring.scoring import plan, run

    warnings.simplefilter("ignore")
    factors = GENERATORS[generator](np.random.default_rng([seed, 3]))
    results: dict[str, Any] = {}
    with one_thread():
        for name, latents in encoders(factors, np.random.default_rng([seed, 4])):
            todo = plan(Representation(latents, factors), metrics=METRICS, seed=seed, null=0)
            warned = {key for advice in todo.advice for key in advice.metrics}
            results[name] = {
                record.id: (record.score.value if record.score else np.nan, record.name in warned)
                for record in run(todo)
            }
    return results


def report(folder: Path, seeds: int) -> str:
    """Means of the seeds: a row for each encoder, four numbers for the generators, * where most cards warn."""
    results = {name: [read(folder / FOLDER, name, seed) for seed in range(seeds)] for name in GENERATORS}
    rows = []
    draws = next(iter(results.values()))
    for encoder, by_metric in draws[0].items():
        row: dict[str, Any] = {"encoder": encoder}
        for metric in by_metric:
            cells = [np.array([draw[encoder][metric] for draw in draws]) for draws in results.values()]
            row[f"`{metric}`"] = " ".join(_cell(values, metric) for values in cells)
        rows.append(row)
    return table(rows)


def _cell(values: Numbers, metric: str) -> str:
    mean, warned = values.mean(axis=0)
    number = f"{mean:.1f}" if metric.startswith("tmex") else f"{mean:.2f}".replace("0.", ".", 1)
    return f"{number}{'*' if warned > 0.5 else ''}"
