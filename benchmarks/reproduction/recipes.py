"""What the recipes are worth: MIG against seconds of one core, with a tournament and without; on rendered dSprites.

Seeds are fresh: none of them was looked at while the recipes were made. Judged on 10,000 images, MIG with 20 bins.
Of `long` also what networks read from its codes: the shape, and the orientation within each shape.
"""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduce import table, workers

if TYPE_CHECKING:
    from unknot.runs.spec import RunSpec

SEEDS = range(1010, 1020)  # those before were looked at when a tournament learned to begin more starts
FEW = range(1000, 1003)
FAMILY = (  # the loss of `vae` is that of `beta_vae` with the recipe's beta
    "beta_vae",
    "factor_vae",
    "dip_vae_i",
    "dip_vae_ii",
    "cci_vae",
    "ada_gvae",
    "ada_ml_vae",
    "slow_vae",
)
SYMMETRY = (4, 2, 1)  # how often a square, an ellipse and a heart look the same in one turn
READ = 16_000  # images of which networks learn from 10,000 and are tested on the others
LONG = 22_800  # steps of a tournament of eight starts
WORLD = {"world": "dsprites_rendered"}
ROOM = {"world": "shapes3d_rendered"}
TC = {"model": "beta_tc_vae"}
TWO, FIVE = range(1000, 1002), range(1020, 1025)
PLAIN = {"model": "beta_vae", "options": {"beta": 16.0}, "image_size": 32, "lr": 1e-3, "steps": 3000}
INGREDIENTS: dict[str, tuple[str, dict[str, Any]]] = {  # each takes one thing away from the first
    "quick": ("quick", {}),
    "quick without the total correlation": ("quick", {"model": "beta_vae"}),
    "quick with a dense decoder": ("quick_dense", {}),
    "quick with a pressure of 2 throughout": ("quick", {"pressure": "2..2"}),
    "quick with a pressure of 24 throughout": ("quick", {"pressure": "24..24"}),
    "quick with a constant learning rate": ("quick", {"schedule": "constant"}),
    "quick with a learning rate of 0.0005": ("quick", {"lr": 5e-4}),
    "quick with conv64, 2,000 steps": ("quick", {"architecture": "conv64", "steps": 2000, "lr": 1e-3}),
    "conv64, beta 16, 3,000 steps": ("paper", PLAIN),
}
SETTINGS: dict[str, tuple[str, dict[str, Any], range]] = {  # name -> recipe, fields, seeds
    "best of 8 starts": ("quick", {**TC, "starts": 8}, SEEDS),
    "one start": ("quick", TC, SEEDS),
    "one start of the same cost": ("quick", {**TC, "steps": LONG}, FEW),
    "best of 8 starts, dense decoder": ("quick_dense", {**TC, "starts": 8}, range(1000, 1010)),
    "one start, dense decoder": ("quick_dense", TC, FEW),
    "best of 8 starts, Shapes3D": ("quick", {**TC, **ROOM, "starts": 8}, range(1000, 1002)),
    "one start, Shapes3D": ("quick", {**TC, **ROOM}, range(1000, 1002)),
    **{f"long, {model}": ("long", {"model": model}, FEW) for model in ("beta_vae", "beta_tc_vae")},
    **{f"best of 8 starts, {model}": ("quick", {"model": model, "starts": 8}, TWO) for model in FAMILY},
    **{f"one start, {model}": ("quick", {"model": model}, TWO) for model in FAMILY},
    **{name: (recipe, TC | fields, FIVE) for name, (recipe, fields) in INGREDIENTS.items()},
}


def run(folder: Path, jobs: int) -> str:
    """Median, least and greatest MIG of each setting, with its seconds; `ingredients.png` shows every run."""
    with workers(jobs) as pool:
        todo = [(folder, name, seed) for name, (_, _, seeds) in SETTINGS.items() for seed in seeds]
        list(pool.map(measure, *zip(*todo, strict=True)))
    scores = [row for name in SETTINGS if (row := summary(folder, name))]
    picture(folder)
    return "\n".join([table(scores), table(reading) if (reading := readings(folder)) else ""])


def spec_of(name: str, seed: int) -> "RunSpec":
    """How a setting is trained."""
    from unknot.runs.recipes import recipe_spec

    recipe, fields, _ = SETTINGS[name]
    return recipe_spec(recipe, seed=seed, **WORLD | fields)


def measure(folder: Path, name: str, seed: int) -> None:
    """Train one run of a setting, score it, and keep what it took; what was trained before is gone on with."""
    from unknot.encoders.encoding import encode
    from unknot.metrics.mig import mig
    from unknot.processes.threads import one_thread
    from unknot.runs.training import train

    spec = spec_of(name, seed)
    path = _path(folder, name, seed)
    record: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {"cpu_seconds": 0.0}
    if "mig" in record:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with one_thread():
        began = time.process_time()
        try:
            trained = train(spec, folder / "runs")
        finally:
            record["cpu_seconds"] += time.process_time() - began
            path.write_text(json.dumps(record))
        codes = encode(trained, rows=10_000)
        if spec.architecture == "centred":
            record["read"] = read(encode(trained, rows=READ))
    score = mig(codes.latents, codes.factors)
    record |= {"mig": score.value, "per_factor": list(map(float, score.parts["per_factor"]))}
    record |= {"run": trained.folder.name, "reconstruction": trained.reconstruction_error}
    record |= {"informative": int((codes.kl > 0.01).sum())}
    if spec.starts:
        record |= {
            "udr": sorted(trained.starts()["udr"].dropna().round(3), reverse=True)
        }  # the first is that of the winner
    path.write_text(json.dumps(record))


def _path(folder: Path, name: str, seed: int) -> Path:
    return folder / "results" / f"{name.replace(' ', '_')}-{seed}-{spec_of(name, seed).id}.json"


def read(codes: Any) -> dict[str, float]:
    """What small networks read from codes: accuracy of the shape, and R2 of where in its turn each shape stands."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    latents = np.asarray(codes.latents)
    latents = (latents - latents.mean(0)) / (latents.std(0) + 1e-6)
    shapes, orientations = np.asarray(codes.factors)[:, 0], np.asarray(codes.factors)[:, 2]
    turn, known = 2 * np.pi * orientations / 39, np.arange(len(latents)) < 10_000  # class 39 is class 0 again
    found = {}
    for name, head in (
        ("linear", LogisticRegression(max_iter=300)),
        ("mlp", MLPClassifier((64, 64), max_iter=30, random_state=0)),
    ):
        head.fit(latents[known], shapes[known])
        found[f"shape, {name}"] = float(head.score(latents[~known], shapes[~known]))
    for shape, symmetry in enumerate(SYMMETRY):
        points = np.stack([np.cos(symmetry * turn), np.sin(symmetry * turn)], axis=1)
        of_it = shapes == shape
        head = MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=40, random_state=0)
        head.fit(latents[known & of_it], points[known & of_it])
        found[f"orientation, shape {shape}"] = float(head.score(latents[~known & of_it], points[~known & of_it]))
    return found


def done_of(folder: Path, name: str) -> dict[int, dict[str, Any]]:
    """What was found with a setting, by seed, of the seeds that are done."""
    files = {seed: _path(folder, name, seed) for seed in SETTINGS[name][2]}
    records = {seed: json.loads(file.read_text()) for seed, file in files.items() if file.is_file()}
    return {seed: record for seed, record in records.items() if "mig" in record}


def picture(folder: Path) -> None:
    """MIG and seconds of every run of each ingredient, a row each."""
    from unknot.reports.kit.figure import figure_in

    with figure_in(folder / "ingredients.png", (9, 3.2)) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for row, name in enumerate(reversed(INGREDIENTS)):
            records = done_of(folder, name).values()
            for panel, key in ((left, "mig"), (right, "cpu_seconds")):
                panel.plot([record[key] for record in records], [row] * len(records), "o", color="C0", alpha=0.6)
        left.set_yticks(range(len(INGREDIENTS)), list(reversed(INGREDIENTS)))
        left.set_xlabel("MIG")
        right.set_xlabel("seconds of one core")
        right.set_xlim(left=0)


def summary(folder: Path, name: str) -> dict[str, Any]:
    """A row of the table, of the seeds that are done."""
    import numpy as np

    done = list(done_of(folder, name).values())
    if not done:
        return {}
    scores = np.array([record["mig"] for record in done])
    return {
        "setting": name,
        "runs": len(done),
        "CPU seconds": f"{np.median([record['cpu_seconds'] for record in done]):.0f}",
        "MIG, median": float(np.median(scores)),
        "least": float(scores.min()),
        "greatest": float(scores.max()),
        "below 0.25": int((scores < 0.25).sum()),
        "informative latents": float(np.median([record["informative"] for record in done])),
    }


def readings(folder: Path) -> list[dict[str, Any]]:
    """A row for each run whose code networks have read."""
    rows = []
    for name in SETTINGS:
        for seed, record in done_of(folder, name).items():
            if "read" in record:
                gaps = dict(zip(("shape", "scale", "orientation", "x", "y"), record["per_factor"], strict=True))
                scores = {"CPU seconds": round(record["cpu_seconds"]), "MIG": record["mig"]}
                scores |= {f"gap of {factor}": gap for factor, gap in gaps.items()}
                rows.append({"setting": name, "seed": seed, **scores, **record["read"]})
    return rows
