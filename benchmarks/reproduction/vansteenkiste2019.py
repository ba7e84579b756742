"""Figure 3 in small: which metric goes with the accuracy of a reasoner, and from which step on?

Codes that hold what puzzles ask: networks that look at one object in a frame of its own, with little pressure. Images
are drawn once. Each representation is kept when it is done, and the part goes on with the next.
"""

import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduce import correlated, table, workers

from reproduction.drawing import drawn

if TYPE_CHECKING:
    import pandas as pd

WORLD, PIXELS, IMAGES = "abstract_dsprites_rendered", 32, 60_000
FIELDS: dict[str, Any] = {
    "architecture": "centred",
    "image_size": PIXELS,
    "latents": 20,
    "steps": 2000,
    "lr": 2e-3,
    "schedule": "cosine",
    "precision": "bfloat16",
}
MODELS: dict[str, dict[str, Any]] = {  # name -> fields in which it differs
    "beta_vae, 0.1": {"model": "beta_vae", "options": {"beta": 0.1}},
    "beta_vae, 4": {"model": "beta_vae", "options": {"beta": 4.0}},
    "dense, 0.1": {"model": "beta_vae", "options": {"beta": 0.1}, "architecture": "dense256"},
    "beta_vae, 1": {"model": "beta_vae", "options": {"beta": 1.0}},
    "beta_vae, 0.02": {"model": "beta_vae", "options": {"beta": 0.02}},
    "beta_tc_vae, 0.1 x 10": {"model": "beta_tc_vae", "options": {"beta": 10.0}, "pressure": "0.1..0.1"},
    "beta_vae, 0.1, 500 steps": {"model": "beta_vae", "options": {"beta": 0.1}, "steps": 500},
    "dip_vae_ii, 0.1 x 10": {"model": "dip_vae_ii", "options": {"lambda_od": 10.0}, "pressure": "0.1..0.1"},
}
SEEDS = range(8)
METRICS = ("beta_vae_score", "factor_vae_score", "mig", "sap", "modularity")
AT = (500, 1000, 1500, 2000)
READ = 6000  # images of puzzles' combinations of which a linear head learns from two thirds
KNOWN = 0.8  # accuracy of a linear reading from which on a representation knows the factors
LEAST = 8  # representations that a correlation is told of


def run(folder: Path, jobs: int) -> str:
    """Each representation; then Spearman's correlation of each metric with accuracy, with intervals, at each step."""
    world = images_of(folder)
    todo = [(name, seed) for seed in SEEDS for name in MODELS]
    with workers(jobs) as pool:
        rows = list(pool.map(partial(one, folder=folder, world=world), *zip(*todo, strict=True)))
    return told([row for row in rows if row])


def told(rows: list[dict[str, Any]]) -> str:
    """A row for each setting, means over its seeds; then the correlations.

    They are told of all representations, of those that know the factors, and within settings: of what is left of score
    and accuracy without the mean of their setting.
    """
    import pandas as pd

    found = pd.DataFrame(rows)
    names = [*METRICS, "linear reading", "reconstruction error"]
    steps = [f"{step} steps" for step in AT]
    by_setting = found.groupby("representation", sort=False)
    means = by_setting[[*names, *steps, "other rows"]].mean()
    ends = by_setting[steps[-1]].agg(["min", "max"])
    means["least to greatest"] = [f"{least:.2f} to {most:.2f}" for least, most in ends.to_numpy()]
    settings = means.assign(seeds=by_setting.size()).reset_index().to_dict("records")
    knowing = found[found["linear reading"] > KNOWN]
    within = found[[*names, steps[-1]]] - by_setting[[*names, steps[-1]]].transform("mean")
    correlations = []
    for name in names:
        row = {"score": name} | {step: spearman(found, name, step) for step in steps}
        row["knowing"], row["within settings"] = (spearman(of, name, steps[-1]) for of in (knowing, within))
        correlations.append(row)
    words = f"{len(found)} representations, {len(knowing)} of them knowing.\n"
    return "\n".join([table(settings), words, table(correlations)])


def spearman(found: "pd.DataFrame", score: str, accuracy: str) -> str:
    """Their correlation, where there are enough representations for one."""
    return correlated(found[score], found[accuracy]) if len(found) >= LEAST else "-"


def images_of(folder: Path) -> Path:
    """The file of images of the world."""
    import numpy as np

    from unknot.worlds import open_world

    world, rng = open_world(WORLD), np.random.default_rng(7)
    classes = world.factors.classes(rng.integers(0, world.factors.size, IMAGES))
    return drawn(folder / f"{WORLD}{PIXELS}.npz", world, classes, PIXELS, rng)


def one(name: str, seed: int, folder: Path, world: Path) -> dict[str, Any] | None:
    """A representation: its scores, how well a linear head reads it, and the accuracy of a reasoner that sees it.

    None where training diverged.
    """
    from unknot import score
    from unknot.encoders.encoding import encode
    from unknot.processes.threads import one_thread
    from unknot.runs.spec import RunSpec
    from unknot.runs.trainer import DivergedError
    from unknot.runs.training import train
    from unknot.tasks.reasoning.task import reasoning

    path = folder / "results" / f"{name.replace(' ', '_')}-{seed}.json"
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_text())
        return kept
    began = time.process_time()
    with one_thread():
        try:
            trained = train(RunSpec(world=str(world), seed=seed, **FIELDS | MODELS[name]), folder / "runs")
        except DivergedError as error:
            print(error, flush=True)
            return None
        card = score(encode(trained, WORLD, rows=READ), metrics=METRICS)
        found = reasoning(
            trained,
            WORLD,
            steps=max(AT),
            at=AT,
            views=4,
            evaluate_every=500,
            evaluation_batches=50,
            precision="bfloat16",
            folder=folder / "reasoners",
        )
        reading = read(trained)
    row: dict[str, Any] = {"representation": name, "seed": seed}
    row |= {metric: card[metric].value for metric in METRICS}
    row |= {"linear reading": reading, "reconstruction error": trained.reconstruction_error}
    row |= {f"{step} steps": found.values[f"accuracy_{step}"] for step in AT}
    row |= {"other rows": found.values["accuracy_other_rows"], "CPU seconds": round(time.process_time() - began)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(row))
    print(row, flush=True)
    return row


def read(trained: Any) -> float:
    """Mean accuracy, over factors, of logistic regression on codes of the combinations that puzzles show."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from unknot.models.codes import represent
    from unknot.runs.batches import as_tensor
    from unknot.runs.training import load_model
    from unknot.worlds import open_world
    from unknot.worlds.puzzles.quantised import Quantised

    grid = Quantised(open_world(WORLD))
    rng, known = np.random.default_rng(5), 2 * READ // 3
    coarse = grid.factors.classes(rng.integers(0, grid.factors.size, READ))
    images = as_tensor(grid.images(coarse, rng=rng), trained.spec.image_size)
    codes = represent(load_model(trained), images).mean.numpy()
    codes = (codes - codes.mean(0)) / (codes.std(0) + 1e-6)
    heads = [LogisticRegression(max_iter=300).fit(codes[:known], classes[:known]) for classes in coarse.T]
    return float(np.mean([h.score(codes[known:], c[known:]) for h, c in zip(heads, coarse.T, strict=True)]))
