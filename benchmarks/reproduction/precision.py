"""Does bfloat16 cost anything? The same runs trained in float32 and in bfloat16, and their scores."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from reproduce import table, workers

PRECISIONS, SEEDS = ("float32", "bfloat16"), 5
METRICS = ["mig", "snc", "modularity", "dci", "beta_vae_score", "factor_vae_score"]


def one(of: tuple[str, int], folder: Path) -> dict[str, Any]:
    """Train and score one run."""
    from unknot.encoders.encoding import representation_of
    from unknot.runs.spec import RunSpec
    from unknot.runs.training import train
    from unknot.scoring.scoring import score

    precision, seed = of
    common: dict[str, Any] = {"steps": 1_500, "lr": 1e-3, "image_size": 32, "options": {"beta": 4.0}}
    run = train(
        RunSpec(world="dsprites_rendered", model="beta_vae", precision=precision, seed=seed, **common), folder
    )
    card = score(representation_of(run), metrics=METRICS)
    loss = float(run.curve()["loss"].tail(10).mean())
    return {"precision": precision, "loss": loss, **{name: float(card[name].value) for name in METRICS}}


def run(folder: Path, jobs: int) -> str:
    """Means over seeds and their standard deviations; then what bfloat16 is ahead by, seed for seed (95 %, t)."""
    from scipy.stats import t

    with workers(jobs) as pool:
        found = list(pool.map(partial(one, folder=folder), product(PRECISIONS, range(SEEDS))))
    columns = {
        precision: {name: np.array([r[name] for r in found if r["precision"] == precision]) for name in found[0]}
        for precision in PRECISIONS
    }
    rows = []
    for name in found[0]:
        if name != "precision":
            full, half = (columns[precision][name] for precision in PRECISIONS)
            ahead = half - full
            width = t.ppf(0.975, SEEDS - 1) * ahead.std(ddof=1) / SEEDS**0.5
            rows.append(
                {
                    "score": name,
                    **{
                        p: f"{v.mean():.3f} ({v.std(ddof=1):.3f})"
                        for p, v in zip(PRECISIONS, (full, half), strict=True)
                    },
                    "difference": f"{ahead.mean():.3f} ± {width:.3f}",
                }
            )
    return table(rows)
