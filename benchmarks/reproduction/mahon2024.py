"""Tables 3 and 4: novel combinations of a size and a shape, for encoders that know both; which metric foretells them?

Rendered Shapes3D is drawn once at 16 pixels, so that a run takes half a minute of one core: a dense encoder, 20 latents
and little pressure tell eight sizes and four shapes apart. Every model is trained once for each combination left out.
`cells.csv` has a row for each run as soon as it is there.
"""

import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduce import correlated, table, workers

from reproduction.drawing import drawn

if TYPE_CHECKING:
    import pandas as pd

WORLD, PIXELS = "shapes3d_rendered", 16
HELD_OUT = ("size=0,shape=0", "size=2,shape=1", "size=5,shape=2")  # the first three of the paper's eight
ROWS = 150_000  # images that heads learn from or are tested on
SCORED = 5_000  # images that metrics look at
KNOWN = 0.9  # accuracy of both on known combinations from which on a model knows size and shape
FIELDS: dict[str, Any] = {
    "architecture": "dense256",
    "image_size": PIXELS,
    "latents": 20,
    "steps": 5000,
    "batch_size": 128,
    "lr": 2e-3,
    "schedule": "cosine",
    "precision": "bfloat16",
    "seed": 0,
}
MODELS: dict[str, dict[str, Any]] = {  # name -> fields in which it differs
    "beta_vae, 0.002": {"model": "beta_vae", "options": {"beta": 0.002}},
    "beta_vae, 0.02": {"model": "beta_vae", "options": {"beta": 0.02}},
    "beta_vae, 0.1": {"model": "beta_vae", "options": {"beta": 0.1}},
    "beta_tc_vae, 0.005 x 10": {
        "model": "beta_tc_vae",
        "batch_size": 64,
        "steps": 7000,
        "options": {"beta": 10.0},
        "pressure": "0.005..0.005",
    },
    "mtd": {"model": "mtd", "batch_size": 64, "steps": 3000},
    "ada_gvae": {"model": "ada_gvae", "batch_size": 64, "options": {"beta": 0.005}},
    "factor_vae": {
        "model": "factor_vae",
        "batch_size": 64,
        "options": {"gamma": 10.0, "discriminator_layers": 1, "discriminator_lr": 1e-3, "same_batch": True},
        "pressure": "0.005..0.005",
    },
    "dip_vae_i": {"model": "dip_vae_i", "options": {"lambda_od": 10.0}, "pressure": "0.005..0.005"},
    "dip_vae_ii": {"model": "dip_vae_ii", "options": {"lambda_od": 10.0}, "pressure": "0.005..0.005"},
    "cci_vae": {"model": "cci_vae", "options": {"c_max": 60.0, "gamma": 0.1, "c_steps": 2500}},
    "autoencoder": {"model": "autoencoder"},
    "parted_vae": {
        "model": "parted_vae",
        "options": {"gamma_z": 1.0, "gamma_u": 1.0, "capacity_z": 60.0, "capacity_steps": 2500},
        "pressure": "0.1..0.1",
    },
}
TARGET = "mlp novel both"
FEWEST = 3  # different accuracies, below which no correlation over models is told of a combination
METRICS = ("snc", "nk", "mig", "sap", "dci", "med", "irs")
Cell = tuple[str, str]


def cells() -> list[Cell]:
    """Combination and model of every run: all models for one combination before the next."""
    return list(product(HELD_OUT, MODELS))


def run(folder: Path, jobs: int) -> str:
    """Accuracies beside the published ones, and the correlation of metrics with accuracy on novel combinations."""
    import pandas as pd

    world = images_of(folder)
    rows: list[dict[str, Any]] = []
    with workers(jobs) as pool:
        for row in pool.map(partial(one, folder=folder, world=world), cells()):
            print(row, flush=True)
            rows.append(row)
            pd.DataFrame(rows).to_csv(folder / "cells.csv", index=False)
    return text(pd.DataFrame(rows))


def images_of(folder: Path) -> Path:
    """The file of all images of the world."""
    import numpy as np

    from unknot.worlds import open_world

    world = open_world(WORLD)
    every = world.factors.classes(np.arange(world.factors.size))
    return drawn(folder / f"{WORLD}{PIXELS}.npz", world, every, PIXELS)


def one(cell: Cell, folder: Path, world: Path) -> dict[str, Any]:
    """A model trained without a combination: what heads read from it, and what metrics say of it."""
    from unknot import score
    from unknot.processes.threads import one_thread
    from unknot.runs.spec import RunSpec
    from unknot.runs.training import train
    from unknot.tasks.combinations.task import combinations

    held_out, name = cell
    spec = RunSpec(world=str(world), **FIELDS | MODELS[name])
    began = time.process_time()
    with one_thread():
        found = combinations(spec, held_out=held_out, rows=ROWS, pair_only=True, folder=folder)
        (split,) = found.settings["combinations"]
        card = score(
            train(spec.replace(split=f"combination:{split}"), folder / "runs"), metrics=METRICS, limit=SCORED
        )
    row: dict[str, Any] = {"model": name, "held_out": held_out, "seconds": time.process_time() - began}
    for heads, test, factor in product(("mlp", "linear"), ("random", "novel"), ("size", "shape", "both")):
        row[f"{heads} {test} {factor}"] = found.values[f"{heads}_{test}_{factor}"]
    return row | {metric: card[metric].value for metric in METRICS}


def text(found: "pd.DataFrame") -> str:
    """All tables of the runs that there are; means are of combinations that every model was trained without."""
    each = by_combination(found)
    whole = found.groupby("held_out", sort=False)["model"].transform("nunique") == len(MODELS)
    if whole.any():
        found = found[whole]
    means = found.drop(columns="held_out").groupby("model", sort=False).mean().reset_index()
    parts = [accuracies(means), each, published(), scores(means), correlations(means, found)]
    return "\n".join(table(part) for part in parts)


def accuracies(means: "pd.DataFrame") -> list[dict[str, Any]]:
    """A row for each model: accuracy above chance on known and on novel combinations, the mean over combinations."""
    named = [name for name in means if str(name).startswith(("mlp", "linear"))]
    return [{"model": row["model"], **{str(name): row[name] for name in named}} for _, row in means.iterrows()]


def by_combination(found: "pd.DataFrame") -> list[dict[str, Any]]:
    """A row for each combination: the least, median and greatest accuracy on it over models that know both values."""
    rows = []
    for held_out, runs in found.groupby("held_out", sort=False):
        knowing = runs[runs["mlp random both"] > KNOWN]
        row: dict[str, Any] = {"left out": held_out, "models that know": f"{len(knowing)} of {len(runs)}"}
        for target in (
            "mlp random both",
            "mlp novel size",
            "mlp novel shape",
            "mlp novel both",
            "linear novel both",
        ):
            values = knowing[target]
            row[target] = f"{values.median():.2f} ({values.min():.2f} to {values.max():.2f})"
        rows.append(row)
    return rows


def published() -> list[dict[str, Any]]:
    """Table 3 of the paper on Shapes3D, in shares."""
    from unknot import papers

    printed = papers.table("mahon2024", "table3")
    printed = printed[printed["dataset"] == "shapes3d"]
    names = {"normal_test_set": "mlp random", "cg": "mlp novel", "cg_linear": "linear novel"}
    rows: dict[str, dict[str, Any]] = {}
    for model, setting, factor, value in printed[["model", "setting", "factor", "value"]].itertuples(index=False):
        column = f"{names[setting]} {'both' if factor == 'size_and_shape' else factor}"
        rows.setdefault(model, {"published": model})[column] = value / 100
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    return [{column: row.get(column) for column in columns} for row in rows.values()]


def scores(means: "pd.DataFrame") -> list[dict[str, Any]]:
    """A row for each model: its metrics over all factors."""
    return [{"model": row["model"], **{name: row[name] for name in METRICS}} for _, row in means.iterrows()]


def correlations(means: "pd.DataFrame", whole: "pd.DataFrame") -> list[dict[str, Any]]:
    """Correlation over models of each metric with accuracy on novel combinations, beside Table 4 (Pearson).

    Models without MTD stand apart, which saw all labels; so does each combination that its models were tried on.
    """
    from unknot import papers

    printed = papers.table("mahon2024", "table4").set_index(["scope", "metric"])["value"]
    others = means[means["model"] != "mtd"]
    apart = {f"{len(means)} models": means, "without mtd": others}
    apart |= {
        f"without mtd, {held_out}": runs[runs["model"] != "mtd"]
        for held_out, runs in whole.groupby("held_out", sort=False)
        if runs[TARGET].nunique() >= FEWEST
    }
    rows = []
    for metric in (*METRICS, "mlp random both"):
        row: dict[str, Any] = {"with accuracy of MLP heads on novel combinations": metric}
        for who, models in apart.items():
            row[who] = correlated(models[metric].to_numpy(), models[TARGET].to_numpy(), method="pearson")
        row["ranks, without mtd"] = correlated(others[metric].to_numpy(), others[TARGET].to_numpy())
        for scope in ("shapes3d", "all_datasets"):
            row[f"published, {scope}"] = float(printed[scope, metric]) if metric in METRICS else None
        rows.append(row)
    return rows
