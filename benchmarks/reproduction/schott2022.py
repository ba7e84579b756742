"""Networks trained on factors, and a beta-VAE with a readout, in four splits of two rendered worlds."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from reproduce import table, workers

WORLDS = ("dsprites_rendered", "shapes3d_rendered")
SPLITS = ("random", "composition", "interpolation", "extrapolation")
MODELS = ("mlp", "cnn", "coord_conv", "beta_vae")
STEPS = 2_000  # the paper: 500,000
ROWS = 10_000  # test images, and training images of the readout


def one(of: tuple[str, str, str], folder: Path) -> dict[str, Any]:
    """Train one model in one split, and measure R² on its test part."""
    from unknot.runs.spec import RunSpec
    from unknot.runs.training import train
    from unknot.tasks.generalisation.task import generalisation

    world, model, split = of
    more: dict[str, Any] = {"options": {"beta": 1.0}, "precision": "bfloat16"} if model == "beta_vae" else {}
    trained = train(
        RunSpec(world=world, model=model, split=split, steps=STEPS, lr=5e-4, seed=0, **more),
        folder / "runs",
    )
    found = generalisation(trained, rows=ROWS, train_rows=ROWS, folder=folder / "tasks" / trained.folder.name)
    (mean,) = found.tables["splits"]
    return {
        "world": world,
        "model": model,
        "split": split,
        "R²": found.values[f"{split}_r2"],
        "mean of everything": mean["constant_full_mean"],
        "training mean": mean["constant_train_mean"],
        "R² of unseen factors": mean["r2_ood"],
        "training mean, unseen": mean["constant_ood"],
        "R² of the others": mean["r2_id"],
        "training mean, others": mean["constant_id"],
    }


def run(folder: Path, jobs: int) -> str:
    """The table of R²."""
    with workers(jobs) as pool:
        rows = []
        for row in pool.map(partial(one, folder=folder), product(WORLDS, MODELS, SPLITS)):
            print(row, flush=True)
            rows.append(row)
    return table(rows)
