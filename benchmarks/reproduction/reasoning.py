"""S4: how far does a WReN get with the true factors, and does it matter if they are rotated?"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from reproduce import table

STEPS, ROTATED_STEPS, SEEDS = 40_000, 750, 3


def onehot(folder: Path) -> list[dict[str, Any]]:
    """Accuracy over training on one-hot factors of Abstract-dSprites."""
    from unknot.tasks.reasoning import reasoning

    at = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    found = reasoning(
        world="abstract_dsprites_rendered",
        input="onehot",
        steps=STEPS,
        at=at,
        precision="bfloat16",
        folder=folder / "onehot",
    )
    shown = {f"{step} steps": found.values[f"accuracy_{step}"] for step in at}
    return [{"code": "one-hot factors", **shown, "third row alone": found.values["third_row"]}]


def rotated(seed: int, folder: Path) -> list[dict[str, Any]]:
    """The same code as it is, and times a random rotation, with the same puzzles and initial weights."""
    import numpy as np

    from unknot.factors import space
    from unknot.representation import Representation
    from unknot.tasks.reasoning import reasoning

    world = space({"background": 5, "object_color": 6, "shape": 3, "scale": 3, "x": 4, "y": 4})
    grid = world.classes(np.arange(world.size))
    codes = np.hstack([np.eye(n)[grid[:, i]] for i, n in enumerate(world.shape)])
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(codes.shape[1],) * 2))
    at = (125, 250, 375, 500, 625, 750)
    rows = []
    for name, made in (("one-hot", codes), ("rotated", codes @ turn)):
        found = reasoning(
            Representation(made.astype(np.float32), grid, world.names),
            classes={},
            steps=ROTATED_STEPS,
            at=at,
            evaluate_every=125,
            precision="bfloat16",
            seed=seed,
            folder=folder / f"{name}-{seed}",
        )
        rows.append({"code": name, "seed": seed, **{f"{s} steps": found.values[f"accuracy_{s}"] for s in at}})
    return rows


def run(folder: Path, jobs: int) -> str:
    """Two tables: the learning curve, and the pairs."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        curve = pool.submit(onehot, folder)
        pairs = [row for rows in pool.map(partial(rotated, folder=folder), range(SEEDS)) for row in rows]
        return table(curve.result()) + "\n" + table(pairs)
