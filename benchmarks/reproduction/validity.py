"""Where each metric is right, fooled or blind: generators x codes x metrics x seeds, and what the warnings catch.

A code that keeps factors apart, or mixes them, is told by how it was made. A score is put on the scale from noise (0:
the same generator) to the perfect code of independent factors (1); a metric is *fooled* where that is more than a half
off what its question deserves, and *blind* where the generator's own perfect code is not told from noise. Thresholds
of the warnings were chosen on the generators of TUNED; HELD_OUT were looked at afterwards.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from reproduce import table, workers

from reproduction import joshi2026
from reproduction.draws import cpu_seconds, kept, of_this_code, path_of, read
from reproduction.generators import GENERATORS, HELD_OUT, ROWS, TUNED, codes

SEEDS = range(20)
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
)

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
    folder = of_this_code(folder)
    with workers(jobs) as pool:
        draws = [
            pool.submit(work, folder, name, seed)
            for seed in SEEDS[:seeds]
            for work, generators in ((measure, GENERATORS), (joshi2026.measure, joshi2026.GENERATORS))
            for name in generators
        ]
        for draw in draws:
            draw.result()
    return (
        f"{report(folder, seeds)}\n{joshi2026.report(folder, seeds)}\n"
        f"All {len(draws)} draws together took {cpu_seconds(folder):.0f} s of CPU.\n"
    )


def measure(folder: Path, generator: str, seed: int) -> None:
    """Scores and warnings of all codes of one draw, kept in a file."""
    kept(path_of(folder / "results", generator, seed), lambda: _results(generator, seed))


def _results(generator: str, seed: int) -> dict[str, Any]:
    from unknot import Representation
    from unknot.processes.threads import one_thread
    from unknot.scoring.scoring import plan
    from unknot.scoring.scoring import run as scored

    warnings.simplefilter("ignore")
    drawn = GENERATORS[generator]
    made, labels = drawn(np.random.default_rng([seed, 1]))
    results: dict[str, Any] = {}
    with one_thread():
        for code, latents in codes(made, np.random.default_rng([seed, 2])):
            todo = plan(Representation(latents, labels), metrics=METRICS, seed=seed, null=0)
            values = {r.id: r.score.value if r.score else None for r in scored(todo)}
            warned = sorted({name for advice in todo.advice for name in advice.metrics})
            why = {advice.assumption: list(advice.metrics) for advice in todo.advice}
            results[code] = {"values": values, "warned": warned, "why": why}
    return results


def cases(folder: Path, seeds: int) -> Iterator[dict[str, Any]]:
    """Each score whose question is decided, with how far it is off, and whether the card warned of it."""
    from unknot.metrics import METRICS as ALL

    results = {(name, seed): read(folder / "results", name, seed) for name in GENERATORS for seed in range(seeds)}

    def mean(generator: str, code: str, metric: str) -> float:
        values = [results[generator, seed][code]["values"][metric] for seed in range(seeds)]
        return float(np.nanmean([np.nan if value is None else value for value in values]))

    for metric in results["independent", 0]["perfect"]["values"]:
        key = metric.partition("[")[0]
        measures = ALL[key].facts.measures
        best, nothing = mean("independent", "perfect", metric), mean("independent", "noise", metric)
        for generator in GENERATORS:
            floor, top = mean(generator, "noise", metric), mean(generator, "perfect", metric)
            blind = abs(top - floor) < 0.1 * abs(best - nothing)
            if generator == "more factors" and measures not in ASKED_OF_PARTS:
                continue
            for code, deserved in DESERVED[measures].items():
                for seed in range(seeds):
                    result = results[generator, seed][code]
                    value = result["values"][metric]
                    on_scale = float(np.clip(((value or 0.0) - floor) / (best - floor), 0, 1))
                    if value is None or np.isnan(on_scale):
                        continue  # refused, or undefined
                    yield {
                        "metric": metric,
                        "generator": generator,
                        "code": code,
                        "scale": on_scale,
                        "fooled": abs(on_scale - deserved) > 0.5,
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
        for generator in GENERATORS:
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
