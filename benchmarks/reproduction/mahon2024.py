"""Table 3 in small: novel combinations of a size and a shape, each model trained without them."""

from functools import partial
from pathlib import Path
from typing import Any

from reproduce import table, workers

STEPS = 500
MODELS: dict[str, dict[str, Any]] = {"beta_vae": {"beta": 4.0}, "beta_tc_vae": {"beta": 6.0}, "mtd": {}}


def one(model: str, folder: Path) -> list[dict[str, Any]]:
    """Five runs of a model, one for each published combination of dSprites, and what heads read from them."""
    from unknot.runs.run import RunSpec
    from unknot.tasks.combinations.task import combinations

    spec = RunSpec(
        world="dsprites_rendered", model=model, options=MODELS[model], steps=STEPS, lr=1e-3, image_size=32, seed=0
    )
    found = combinations(spec, rows=10_000, folder=folder / model)
    return [{"model": model, **row} for row in found.tables["summary"]]


def run(folder: Path, jobs: int) -> str:
    """The table of accuracies, chance taken away."""
    with workers(jobs) as pool:
        rows = [row for found in pool.map(partial(one, folder=folder), MODELS) for row in found]
    return table(rows)
