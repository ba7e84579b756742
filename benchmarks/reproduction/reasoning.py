"""S4: does a WReN learn the rule from the true factors, and does it matter how a code mixes them?"""

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
Codes = NDArray[np.float64]


def onehot(seed: int, folder: Path) -> dict[str, Any]:
    """Accuracy over training on one-hot factors of Abstract-dSprites."""
    from unknot.tasks.reasoning import reasoning

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
    """One standardised number a factor; turned; bent. The same puzzles and initial weights for all three."""
    from unknot.factors import space
    from unknot.representation import Representation
    from unknot.scoring import score
    from unknot.tasks.reasoning import reasoning

    world = space({"background": 5, "object_color": 6, "shape": 3, "scale": 3, "x": 4, "y": 4})
    grid = world.classes(np.arange(world.size))
    codes = (grid - grid.mean(axis=0)) / grid.std(axis=0)
    rng = np.random.default_rng(seed)
    turns = [np.linalg.qr(rng.normal(size=(len(world), len(world))))[0] for _ in range(2)]
    rows = []
    for name, made in (("disentangled", codes), ("rotated", codes @ turns[0]), ("bent", bent(codes, *turns))):
        code = Representation(made.astype(np.float32), grid, world.names)
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


def intervals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the disentangled code is ahead by at each step: mean over seeds with a 95 % interval (t)."""
    from scipy.stats import t

    told = []
    for name in ("rotated", "bent"):
        ahead: dict[str, Any] = {"disentangled ahead of": name}
        for step in MIXED_AT:
            column = {
                code: [row[f"{step} steps"] for row in rows if row["code"] == code]
                for code in ("disentangled", name)
            }
            difference = np.subtract(column["disentangled"], column[name])
            half = t.ppf(0.975, len(difference) - 1) * difference.std(ddof=1) / len(difference) ** 0.5
            ahead[f"{step} steps"] = f"{difference.mean():.3f} ± {half:.3f}"
        told.append(ahead)
    return told


def run(folder: Path, jobs: int) -> str:
    """Three tables: learning curves, those of the mixed codes, and differences with intervals."""
    with workers(jobs) as pool:
        curves = list(pool.map(partial(onehot, folder=folder), range(ONEHOT_SEEDS)))
        mixtures = [row for rows in pool.map(partial(mixed, folder=folder), range(MIXED_SEEDS)) for row in rows]
    return "\n".join(table(rows) for rows in (curves, mixtures, intervals(mixtures)))
