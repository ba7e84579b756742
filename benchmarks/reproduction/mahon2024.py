"""Tables 3 and 4: novel combinations of a size and a shape, for encoders that know both; which metric foretells them?

Rendered Shapes3D is drawn once at 16 pixels, so that a run takes half a minute of one core: a dense encoder, 20 latents
and little pressure tell eight sizes and four shapes apart. Every model is trained once for each combination left out.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

from reproduce import correlated, table, workers

WORLD, PIXELS = "shapes3d_rendered", 16
HELD_OUT = ("size=0,shape=0", "size=5,shape=2", "size=2,shape=1")  # the first three of the paper's eight
ROWS = 150_000  # images that heads learn from or are tested on
KNOWN = 0.9  # accuracy of both on known combinations from which on a model knows size and shape
FIELDS: dict[str, Any] = {
    "architecture": "dense256",
    "image_size": PIXELS,
    "latents": 20,
    "steps": 5000,
    "lr": 2e-3,
    "schedule": "cosine",
    "precision": "bfloat16",
    "seed": 0,
}
HELD = {"gamma_z": 1.0, "gamma_u": 1.0, "capacity_z": 60.0, "capacity_steps": 2500}
PARTED = {"pressure": "0.1..0.1", "options": HELD}
MODELS: dict[str, dict[str, Any]] = {  # name -> fields in which it differs
    "beta_vae, 0.002": {"model": "beta_vae", "options": {"beta": 0.002}},
    "beta_vae, 0.01": {"model": "beta_vae", "options": {"beta": 0.01}},
    "beta_vae, 0.05": {"model": "beta_vae", "options": {"beta": 0.05}},
    "beta_vae, 2 falling to 0.002": {"model": "beta_vae", "options": {"beta": 1.0}, "pressure": "2..0.002"},
    "beta_tc_vae, 0.002 x 10": {"model": "beta_tc_vae", "options": {"beta": 10.0}, "pressure": "0.002..0.002"},
    "beta_tc_vae, 0.01 x 10": {"model": "beta_tc_vae", "options": {"beta": 10.0}, "pressure": "0.01..0.01"},
    "factor_vae": {
        "model": "factor_vae",
        "options": {"gamma": 10.0, "discriminator_layers": 1, "discriminator_lr": 1e-3, "same_batch": True},
        "pressure": "0.005..0.005",
    },
    "dip_vae_i": {"model": "dip_vae_i", "options": {"lambda_od": 50.0}, "pressure": "0.005..0.005"},
    "dip_vae_ii": {"model": "dip_vae_ii", "options": {"lambda_od": 50.0}, "pressure": "0.005..0.005"},
    "cci_vae": {"model": "cci_vae", "options": {"c_max": 60.0, "gamma": 0.1, "c_steps": 2500}},
    "autoencoder": {"model": "autoencoder"},
    "parted_vae": {"model": "parted_vae", **PARTED},
    "parted_vae_ss": {"model": "parted_vae_ss", **PARTED},
    "ada_gvae": {"model": "ada_gvae", "options": {"beta": 0.005}},
    "mtd": {"model": "mtd"},
}
METRICS = ("snc", "nk", "mig", "sap", "dci", "med", "irs")


def run(folder: Path, jobs: int) -> str:
    """Accuracies beside the published ones, and the correlation of metrics with accuracy on novel combinations."""
    world = drawn(folder)
    with workers(jobs) as pool:
        rows = list(pool.map(partial(one, folder=folder, world=world), MODELS))
    return "\n".join([table(rows), table(_published()), table(_correlations(rows))])


def drawn(folder: Path) -> Path:
    """The file of all images of the world, made if it is not here."""
    import numpy as np

    from unknot.runs.batches import as_tensor
    from unknot.worlds import open_world

    path = folder / f"{WORLD}{PIXELS}.npz"
    if path.is_file():
        return path
    world = open_world(WORLD)
    space = world.factors
    classes = space.classes(np.arange(space.size))
    images = np.empty((space.size, PIXELS, PIXELS, world.image_shape[-1]), np.uint8)
    for at in range(0, space.size, 2000):
        small = as_tensor(world.images(classes[at : at + 2000]), PIXELS)
        images[at : at + 2000] = (255 * small).round().byte().permute(0, 2, 3, 1).numpy()
    folder.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part.npz")
    kinds = [factor.kind for factor in space]
    np.savez(beside, images=images, factors=classes, factor_names=list(space.names), factor_kinds=kinds)
    beside.replace(path)
    return path


def one(name: str, folder: Path, world: Path) -> dict[str, Any]:
    """A model's runs, one for each combination: what heads read from them, and the mean of each metric."""
    from unknot import score
    from unknot.processes.threads import one_thread
    from unknot.runs.spec import RunSpec
    from unknot.runs.training import train
    from unknot.tasks.combinations.task import combinations

    spec = RunSpec(world=str(world), **FIELDS | MODELS[name])
    began = time.process_time()
    with one_thread():
        found = combinations(spec, held_out=HELD_OUT, rows=ROWS, pair_only=True, folder=folder)
        trained = [train(spec.replace(split=f"combination:{held}"), folder / "runs") for held in HELD_OUT]
        cards = [score(run, metrics=METRICS) for run in trained]
    row: dict[str, Any] = {"model": name}
    for heads in ("mlp", "linear"):
        for test in ("random", "novel"):
            for factor in ("size", "shape", "both"):
                row[f"{heads} {test} {factor}"] = found.values[f"{heads}_{test}_{factor}"]
    for metric in METRICS:
        row[metric] = sum(card[metric].value for card in cards) / len(cards)
    print(f"{name}: {time.process_time() - began:.0f} s of CPU", flush=True)
    return row


def _published() -> list[dict[str, Any]]:
    """Table 3 of the paper on Shapes3D, in shares."""
    from unknot.papers import table as published

    cells = published("mahon2024", "table3")
    cells = cells[cells["dataset"] == "shapes3d"]
    names = {"normal_test_set": "mlp random", "cg": "mlp novel", "cg_linear": "linear novel"}
    rows: dict[str, dict[str, Any]] = {}
    for model, setting, factor, value in cells[["model", "setting", "factor", "value"]].itertuples(index=False):
        column = f"{names[setting]} {'both' if factor == 'size_and_shape' else factor}"
        rows.setdefault(model, {"published": model})[column] = value / 100
    return list(rows.values())


def _correlations(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Correlation over models of each metric with accuracy on novel combinations, beside Table 4."""
    from unknot.papers import table as published

    printed = published("mahon2024", "table4").set_index(["scope", "metric"])["value"]
    knowing = [row for row in rows if row["mlp random both"] > KNOWN]
    found = []
    for metric in METRICS:
        cells: dict[str, Any] = {"metric": metric}
        for who, models in (("all", rows), ("knowing", knowing)):
            for target in ("mlp novel both", "linear novel both"):
                values = [[row[column] for row in models] for column in (metric, target)]
                cells[f"{target}, {who} ({len(models)})"] = correlated(*values)
        cells |= {f"published, {scope}": float(printed[scope, metric]) for scope in ("shapes3d", "all_datasets")}
        found.append(cells)
    return found
