"""vansteenkiste2019: does a WReN learn the rule from the true factors, and does it matter how a code mixes them?

The last is asked of three learners: the reasoner, logistic regression and boosted trees.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduce import table, workers

STEPS, MIXED_STEPS = 8_000, 1_500
ONEHOT_SEEDS, MIXED_SEEDS = 3, 5
AT = (500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000)
MIXED_AT = (250, 500, 750, 1_000, 1_250, 1_500)
HEAD_ROWS = (30, 100, 300, 1_000)
Codes = NDArray[np.float64]


def onehot(seed: int, folder: Path) -> dict[str, Any]:
    """Accuracy over training on one-hot factors of Abstract-dSprites."""
    from unknot.tasks.reasoning.task import reasoning

    found = reasoning(
        world="abstract_dsprites_rendered",
        input="onehot",
        steps=STEPS,
        at=AT,
        evaluate_every=500,
        precision="bfloat16",
        seed=seed,
        folder=folder / f"onehot-{seed}",
    )
    shown = {f"{step} steps": found.values[f"accuracy_{step}"] for step in AT}
    one_fixed = found.tables["by relations"][0]["accuracy"]
    return {"seed": seed, **shown, "one fixed factor": one_fixed, "third row alone": found.values["third_row"]}


def mixed(seed: int, folder: Path) -> list[dict[str, Any]]:
    """A reasoner on each code; the same puzzles and initial weights for all three."""
    from unknot.scoring.scoring import score
    from unknot.tasks.reasoning.task import reasoning

    rows = []
    for name, code in codes(seed).items():
        found = reasoning(
            code,
            classes={},
            steps=MIXED_STEPS,
            at=MIXED_AT,
            evaluate_every=250,
            precision="bfloat16",
            seed=seed,
            folder=folder / f"{name}-{seed}",
        )
        shown = {f"{step} steps": found.values[f"accuracy_{step}"] for step in MIXED_AT}
        rows.append({"code": name, "seed": seed, "MIG": score(code, metrics=["mig"])["mig"].value, **shown})
    return rows


def heads(seed: int) -> list[dict[str, Any]]:
    """How well the factors are read from each code after so many rows, by two kinds of heads."""
    from unknot.metrics.downstream import gbt_accuracy, lr_accuracy

    return [
        {
            "head": head,
            "code": name,
            "seed": seed,
            **{f"{n} rows": metric(code.latents, code.factors, n=n, rng=seed).value for n in HEAD_ROWS},
        }
        for head, metric in (("boosted trees", gbt_accuracy), ("logistic regression", lr_accuracy))
        for name, code in codes(seed).items()
    ]


def codes(seed: int) -> dict[str, Any]:
    """One standardised number a factor; turned; bent."""
    from unknot.factors import space
    from unknot.representation import Representation

    world = space({"background": 5, "object_color": 6, "shape": 3, "scale": 3, "x": 4, "y": 4})
    grid = world.classes(np.arange(world.size))
    straight = (grid - grid.mean(axis=0)) / grid.std(axis=0)
    rng = np.random.default_rng(seed)
    turns = [np.linalg.qr(rng.normal(size=(len(world), len(world))))[0] for _ in range(2)]
    made = {"disentangled": straight, "rotated": straight @ turns[0], "bent": bent(straight, *turns)}
    return {name: Representation(code.astype(np.float32), grid, world.names) for name, code in made.items()}


def bent(codes: Codes, first: Codes, second: Codes) -> Codes:
    """Turned, then each plane of two numbers wound up by an angle that grows with the radius, then turned again.

    The map is one to one and keeps volumes and norms, so nothing is lost, but no linear map undoes it.
    """
    turned = codes @ first
    x, y = turned[:, 0::2], turned[:, 1::2]
    angle = 1.5 * np.hypot(x, y)
    wound = [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)]
    result: Codes = np.hstack(wound) @ second
    return result


def ahead(rows: list[dict[str, Any]], columns: list[str]) -> list[dict[str, Any]]:
    """What the disentangled code is ahead by: mean over seeds with a 95 % interval (t)."""
    from scipy.stats import t

    told = []
    for name in ("rotated", "bent"):
        row: dict[str, Any] = {"disentangled ahead of": name}
        for column in columns:
            of = {code: [row[column] for row in rows if row["code"] == code] for code in ("disentangled", name)}
            difference = np.subtract(of["disentangled"], of[name])
            half = t.ppf(0.975, len(difference) - 1) * difference.std(ddof=1) / len(difference) ** 0.5
            row[column] = f"{difference.mean():.3f} ± {half:.3f}"
        told.append(row)
    return told


def run(folder: Path, jobs: int) -> str:
    """Learning curves on one-hot factors; then, for each learner, curves on the mixed codes and their differences."""
    with workers(jobs) as pool:
        curves = list(pool.map(partial(onehot, folder=folder), range(ONEHOT_SEEDS)))
        reasoners = [row for rows in pool.map(partial(mixed, folder=folder), range(MIXED_SEEDS)) for row in rows]
        read = [row for rows in pool.map(heads, range(MIXED_SEEDS)) for row in rows]
    tables = [curves, reasoners, ahead(reasoners, [f"{step} steps" for step in MIXED_AT])]
    for head in dict.fromkeys(row["head"] for row in read):
        of_head = [row for row in read if row["head"] == head]
        tables += [of_head, ahead(of_head, [f"{n} rows" for n in HEAD_ROWS])]
    return "\n".join(table(rows) for rows in tables)
