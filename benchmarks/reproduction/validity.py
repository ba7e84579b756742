"""Where each metric is right, fooled or blind: generators x codes x metrics x seeds, and what the warnings catch.

A code that keeps factors apart, or mixes them, is told by how it was made. A score is put on the scale from noise (0:
the same generator) to the perfect code of independent factors (1); a metric is *fooled* where that is more than a half
off what its question deserves, and *blind* where the generator's own perfect code is not told from noise. Thresholds
of the warnings were chosen on the generators of TUNED; HELD_OUT were looked at afterwards.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduce import table, workers

ROWS, SEEDS = 1_500, range(20)
METRICS = (
    "snc",
    "mig",
    "mig[auto,corrected]",
    "mig_sup",
    "conditional_mig",
    "sap",
    "modularity",
    "med[informativeness=False]",
    "dci[lasso]",
    "dcimig",
    "jemmig",
    "infomec[explicitness=False]",
    "mcc",
    "explicitness",
    "r2",
    "irs",
    "factor_vae_score",
    "tmex",
)
Numbers = NDArray[np.float64]
Drawn = tuple[Numbers, NDArray[np.int64]]  # what the codes are made of, and the labels


def _independent(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (4, 6, 8, 10), size=(ROWS, 4))
    return labels * 1.0, labels


def _correlated(rng: np.random.Generator) -> Drawn:
    numbers = rng.multivariate_normal(np.zeros(4), 0.7 + 0.3 * np.eye(4), ROWS)
    labels = np.digitize(numbers, np.linspace(-1.5, 1.5, 7))
    return labels * 1.0, labels


def _discrete(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (40, 40, 3), size=(ROWS, 3))
    return labels * 1.0, labels


def _more_factors(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (4, 5, 6, 7, 8, 9), size=(ROWS, 6))
    return labels[:, :4] * 1.0, labels


def _nonlinear(rng: np.random.Generator) -> Drawn:
    sizes = (6, 8, 8, 10)
    labels = rng.integers(0, sizes, size=(ROWS, 4))
    made = [rng.permutation(size)[column] for column, size in zip(labels.T, sizes, strict=True)]
    return np.column_stack(made) * 1.0, labels


def _confounded(rng: np.random.Generator) -> Drawn:
    hidden = rng.integers(0, 6, size=(ROWS, 1))
    labels = np.where(rng.random((ROWS, 3)) < 0.85, hidden, rng.integers(0, 6, size=(ROWS, 3)))
    return labels * 1.0, labels


def _unbalanced(rng: np.random.Generator) -> Drawn:
    labels = np.column_stack([rng.choice(5, ROWS, p=(0.55, 0.2, 0.12, 0.08, 0.05)) for _ in range(4)])
    return labels * 1.0, labels


def _few_rows(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (12, 12, 12), size=(250, 3))
    return labels * 1.0, labels


def _circular(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (5, 12, 12), size=(ROWS, 3))
    made = labels * 1.0
    made[:, 1:] = np.abs(labels[:, 1:] - 4) + 0.3 * (
        labels[:, 1:] > 4
    )  # folded: classes far apart lie side by side
    return made, labels


def _chained(rng: np.random.Generator) -> Drawn:
    columns = [rng.integers(0, 7, ROWS)]
    for _ in range(3):
        columns.append(np.where(rng.random(ROWS) < 0.7, columns[-1], rng.integers(0, 7, ROWS)))
    labels = np.column_stack(columns)
    return labels * 1.0, labels


def _bell(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, 5, size=(ROWS, 3, 2)).sum(axis=2)
    return labels * 1.0, labels


def _coarse(rng: np.random.Generator) -> Drawn:
    made = rng.integers(0, 12, size=(ROWS, 3))
    return made * 1.0, made // 3


def _shuffled_few(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (7, 9, 9), size=(400, 3))
    made = [labels[:, 0], *(rng.permutation(9)[column] for column in labels[:, 1:].T)]
    return np.column_stack(made) * 1.0, labels


def _lagged(rng: np.random.Generator) -> Drawn:
    lags = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    numbers = rng.multivariate_normal(np.zeros(4), 0.6**lags, ROWS)
    labels = np.digitize(numbers, (-1.0, -0.4, 0.1, 0.6, 1.2))
    return labels * 1.0, labels


def _frequent_first(rng: np.random.Generator) -> Drawn:
    shares = 1 / np.arange(1, 9)
    labels = rng.choice(8, size=(ROWS, 3), p=shares / shares.sum())
    return labels * 1.0, labels


def _squared(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (6, 9, 12), size=(ROWS, 3))
    return labels**2.0, labels


def _few_dependent(rng: np.random.Generator) -> Drawn:
    hidden = rng.integers(0, 5, size=(350, 1))
    labels = np.where(rng.random((350, 4)) < 0.6, hidden, rng.integers(0, 5, size=(350, 4)))
    return labels * 1.0, labels


TUNED = {
    "independent": _independent,
    "correlated": _correlated,
    "discrete": _discrete,
    "more factors": _more_factors,
    "non-linear": _nonlinear,
    "confounded": _confounded,
    "unbalanced": _unbalanced,
    "few rows": _few_rows,
    "folded": _circular,
    "chained": _chained,
    "bell": _bell,
    "coarse": _coarse,
    "shuffled": _shuffled_few,
}
HELD_OUT = {
    "lagged": _lagged,
    "frequent first": _frequent_first,
    "squared": _squared,
    "few and dependent": _few_dependent,
}


def codes(made: Numbers, rng: np.random.Generator) -> Iterator[tuple[str, Numbers]]:
    """Codes of what a generator drew, by name."""
    n, k = made.shape
    near = (made - made.mean(axis=0)) / made.std(axis=0) + 0.02 * rng.normal(size=made.shape)
    rotation, _ = np.linalg.qr(rng.normal(size=(k, k)))
    half = near.copy()
    half[:, k // 2 :] = rng.normal(size=(n, k - k // 2))
    digits = [np.stack(np.divmod(column, np.ceil(np.sqrt(column.max() + 1))), axis=1) for column in made.T]
    yield "perfect", near
    yield "rotated", near @ rotation
    yield "bent", np.exp(2 * near)
    yield "redundant", np.hstack([near, -near])
    yield "partial", half
    yield "noisy", near + 1.5 * rng.normal(size=near.shape)
    yield "split", np.hstack(digits) + 0.02 * rng.normal(size=(n, 2 * k))
    yield "wide", np.hstack([near, rng.normal(size=(n, 12))])
    yield "noise", rng.normal(size=near.shape)


# What a question deserves: 1 kept apart, 0 not; a code that is not named, or a generator, lies between or is not asked.
APART = {"perfect": 1, "rotated": 0, "bent": 1, "wide": 1}
DESERVED: dict[str, dict[str, int]] = {
    "modularity": {**APART, "redundant": 1, "split": 1},
    "compactness": {**APART, "split": 0},
    "holistic": {**APART, "split": 0},
    "robustness": {**APART, "redundant": 1, "split": 1},
    "explicitness": {"perfect": 1, "rotated": 1, "bent": 1, "redundant": 1, "split": 1, "wide": 1},
}
ASKED_OF_PARTS = ("modularity", "robustness")  # what can be asked where a code holds some factors only


def run(folder: Path, jobs: int, seeds: int = len(SEEDS)) -> str:
    """Tables of what metrics make of the codes, and of what the warnings catch."""
    with workers(jobs) as pool:
        todo = [(folder, name, seed) for seed in SEEDS[:seeds] for name in (*TUNED, *HELD_OUT)]
        list(pool.map(measure, *zip(*todo, strict=True)))
    return report(folder, seeds)


def measure(folder: Path, generator: str, seed: int) -> None:
    """Scores and warnings of all codes of one draw, kept in a file."""
    from unknot import Representation
    from unknot.processes.threads import one_thread
    from unknot.scoring.scoring import plan
    from unknot.scoring.scoring import run as scored

    path = folder / "results" / f"{generator.replace(' ', '_')}-{seed}.json"
    if path.is_file():
        return
    warnings.simplefilter("ignore")
    drawn = {**TUNED, **HELD_OUT}[generator]
    made, labels = drawn(np.random.default_rng([seed, 1]))
    results: dict[str, Any] = {}
    with one_thread():
        for code, latents in codes(made, np.random.default_rng([seed, 2])):
            todo = plan(Representation(latents, labels), metrics=METRICS, seed=seed, null=0)
            values = {r.id: r.score.value if r.score else None for r in scored(todo)}
            warned = sorted({name for advice in todo.advice for name in advice.metrics})
            why = {advice.assumption: list(advice.metrics) for advice in todo.advice}
            results[code] = {"values": values, "warned": warned, "why": why}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results))


def cases(folder: Path, seeds: int) -> Iterator[dict[str, Any]]:
    """Each score whose question is decided, with how far it is off, and whether the card warned of it."""
    from unknot.metrics import METRICS as ALL

    results = {
        (name, seed): json.loads((folder / "results" / f"{name.replace(' ', '_')}-{seed}.json").read_text())
        for name in (*TUNED, *HELD_OUT)
        for seed in range(seeds)
    }

    def mean(generator: str, code: str, metric: str) -> float:
        values = [results[generator, seed][code]["values"][metric] for seed in range(seeds)]
        return float(np.nanmean([np.nan if value is None else value for value in values]))

    for metric in results["independent", 0]["perfect"]["values"]:
        key = metric.partition("[")[0]
        measures = ALL[key].facts.measures
        best, nothing = mean("independent", "perfect", metric), mean("independent", "noise", metric)
        for generator in (*TUNED, *HELD_OUT):
            floor, top = mean(generator, "noise", metric), mean(generator, "perfect", metric)
            blind = abs(top - floor) < 0.1 * abs(best - nothing)
            if generator == "more factors" and measures not in ASKED_OF_PARTS:
                continue
            for code, deserved in DESERVED[measures].items():
                for seed in range(seeds):
                    result = results[generator, seed][code]
                    value = result["values"][metric]
                    on_scale = np.nan if value is None else (value - floor) / (best - floor)
                    yield {
                        "metric": metric,
                        "generator": generator,
                        "code": code,
                        "scale": on_scale,
                        "fooled": not abs(on_scale - deserved) <= 0.5,
                        "blind": blind,
                        "warned": key in result["warned"],
                        "why": [name for name, metrics in result["why"].items() if key in metrics],
                    }


def report(folder: Path, seeds: int) -> str:
    """Both tables, of the seeds that are done."""
    every = list(cases(folder, seeds))
    metrics = dict.fromkeys(case["metric"] for case in every)
    rows = []
    for metric in metrics:
        row: dict[str, Any] = {"metric": f"`{metric}`"}
        for generator in (*TUNED, *HELD_OUT):
            own = [case for case in every if (case["metric"], case["generator"]) == (metric, generator)]
            fooled = dict.fromkeys(
                case["code"]
                for case in own
                if np.mean([c["fooled"] for c in own if c["code"] == case["code"]]) > 0.5
            )
            blind = "blind: " if own and own[0]["blind"] else ""
            row[generator] = "-" if not own else blind + (", ".join(fooled) or "right")
        rows.append(row)
    caught = []
    for title, generators in (("chosen on", TUNED), ("kept out", HELD_OUT)):
        own = [case for case in every if case["generator"] in generators]
        fooled = [case["warned"] for case in own if case["fooled"]]
        fine = [case["warned"] for case in own if not case["fooled"]]
        caught.append(
            {
                "generators": f"{title}: {', '.join(generators)}",
                "fooled": len(fooled),
                "of them warned of": f"{np.mean(fooled):.0%}" if fooled else "-",
                "right": len(fine),
                "warned of without need": f"{np.mean(fine):.0%}" if fine else "-",
            }
        )
    return (
        f"{seeds} seeds, {ROWS:,} rows. Codes that fool a metric, by generator:\n\n{table(rows)}\n"
        f"What the warnings of a card catch:\n\n{table(caught)}"
    )
