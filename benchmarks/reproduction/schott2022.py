"""Tables 5, 7 and 10 in small: models trained in four splits of three rendered worlds, beside the published columns.

Three of the 17 models are fine-tuned from weights that no package carries, and are left out. `r2.csv` has a row for
each run as soon as it is there, and runs that have one are not made again: with a copy of docs/measured/schott2022.csv
in its place the part goes on from what was measured. Rows of runs that would be trained otherwise now are left out.
"""

from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduce import correlated, table, workers

if TYPE_CHECKING:
    import pandas as pd

    from unknot.runs.spec import RunSpec

PUBLISHED = {"dsprites_rendered": "table5", "shapes3d_rendered": "table7", "mpi3d_rendered": "table10"}
SPLITS = ("random", "composition", "interpolation", "extrapolation")
ORDER = ("random", "extrapolation", "composition", "interpolation")  # of runs: what tells most comes first
# Steps of 64 images: some 15 seconds of one core, and of the large ones two to ten minutes. The paper trains all for
# 500,000. Models that learn from the same images follow each other, so that these are drawn once.
STEPS = {
    "mlp": 1_500,
    "cnn": 1_000,
    "coord_conv": 1_500,
    "set_encoder": 1_500,
    "rot_eq": 800,
    "spatial_transformer": 700,
    "beta_vae": 1_500,
    "ada_gvae": 1_200,
    "slow_vae": 1_200,
    "pcl": 600,
}
LARGE = {"densenet121": 600, "bit_resnet50": 300, "rot_eq_big": 300, "bit_resnet101": 60}
LR = {"set_encoder": 1e-2}  # 1e-3 for the others, with which it has hardly begun after so few steps
AUTOENCODERS = ("beta_vae", "ada_gvae", "slow_vae")  # by the recipe `quick`, with a slim network
SEEDS = 3
ROWS = 10_000  # test images, and training images of the readout
LARGE_ROWS = 2_000
LEARNT = 0.5  # R² in the random split from which on a model has learnt something
FEWEST = 4  # models of which a rank correlation is told
MEMORY = 3.0  # gigabytes of drawn images, of each traced world and process
Cell = tuple[int, str, str, str]


def cells(seeds: int) -> list[Cell]:
    """Seed, world, split and model of every run, so that a stopped call has told most: a seed after the other.

    The large networks have one seed, and come last, one network after the other.
    """
    small = [
        (seed, world, split, model) for seed, split, world, model in product(range(seeds), ORDER, PUBLISHED, STEPS)
    ]
    return small + [(0, world, split, model) for model, split, world in product(LARGE, ORDER, PUBLISHED)]


def spec_of(cell: Cell) -> "RunSpec":
    """How a model is trained in one split."""
    from unknot.runs.recipes import recipe_spec
    from unknot.runs.spec import RunSpec

    seed, world, split, model = cell
    of: dict[str, Any] = {"world": world, "model": model, "split": split, "seed": seed, "image_size": 32}
    of["steps"] = (STEPS | LARGE)[model]
    if model in AUTOENCODERS:
        return recipe_spec("quick", **of, architecture="slim")
    return RunSpec(**of, lr=LR.get(model, 1e-3), schedule="cosine", precision="bfloat16")


def run_of(cell: Cell) -> str:
    """What the run of a model in one split is called, if it is trained today."""
    import torch

    from unknot.runs.training import build_model
    from unknot.worlds.catalogue import open_world

    with torch.device("meta"):  # without memory for weights
        return build_model(spec_of(cell), open_world(cell[1]))[1].id


def one(cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one model in one split, and measure R² on its test part."""
    from unknot.runs.training import train
    from unknot.tasks.generalisation.task import generalisation
    from unknot.worlds.rendered.traced_world import keep_images

    keep_images(MEMORY)
    seed, world, split, model = cell
    trained = train(spec_of(cell), folder / "runs")
    task = folder / "tasks" / trained.folder.name
    rows = LARGE_ROWS if model in LARGE else ROWS
    found = generalisation(trained, rows=rows, train_rows=rows, recipe="quick", folder=task)
    (mean,) = found.tables["splits"]
    return {
        "world": world,
        "model": model,
        "split": split,
        "seed": seed,
        "run": trained.folder.name,
        "R²": found.values[f"{split}_r2"],
        "unseen factor": mean["r2_ood"],
        "others": mean["r2_id"],
        "constant": mean["constant_full_mean"],
        "seconds": trained.record["training_seconds"],
    }


def run(folder: Path, jobs: int, *, seeds: int = SEEDS) -> str:
    """R² of every model in every split, mean over seeds, beside the published number; then how far they agree."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "r2.csv"
    rows: list[dict[str, Any]] = pd.read_csv(kept).to_dict("records") if kept.exists() else []
    rows = [
        row for row in rows if row.get("run") == run_of((row["seed"], row["world"], row["split"], row["model"]))
    ]
    done = {(row["seed"], row["world"], row["split"], row["model"]) for row in rows}
    with workers(jobs) as pool:
        for row in pool.map(partial(one, folder=folder), [cell for cell in cells(seeds) if cell not in done]):
            print(row, flush=True)
            rows.append(row)
            pd.DataFrame(rows).to_csv(kept, index=False)
    return text(pd.DataFrame(rows))


def text(found: "pd.DataFrame") -> str:
    """All tables of the runs that there are; but for the first of small models, since the large ones learn little."""
    import pandas as pd

    from unknot import papers

    of_paper = pd.concat(
        [papers.table("schott2022", name).assign(world=world) for world, name in PUBLISHED.items()]
    )
    of_paper = of_paper[["world", "model", "split", "value", "supervision"]].rename(columns={"value": "published"})
    means = found.groupby(["world", "model", "split"]).agg({"R²": ["mean", "std"], "constant": "first"})
    means.columns = pd.Index(["here", "spread", "constant"])
    means[["here", "spread", "constant"]] *= 100
    both = of_paper.merge(means.reset_index(), on=["world", "model", "split"])
    small, found = both[~both["model"].isin(LARGE)], found[~found["model"].isin(LARGE)]
    parts = [beside_published(both), agreement(small), drops(small), medians(small), unseen(found)]
    return "\n".join(table(part) for part in parts)


def beside_published(both: "pd.DataFrame") -> list[dict[str, Any]]:
    """A row for each model in each world; a cell has R² in percent (± deviation over seeds) and the published one."""
    rows = []
    for world, of_world in both.groupby("world", sort=False):
        for model, runs in of_world.groupby("model", sort=False):
            row: dict[str, Any] = {"world": world, "model": model} | dict.fromkeys(SPLITS)
            for run in runs.itertuples():
                spread = "" if run.spread != run.spread else f" ± {run.spread:.0f}"
                row[str(run.split)] = f"{run.here:.0f}{spread} ({run.published:.0f})"
            rows.append(row)
        constants = of_world.groupby("split")["constant"].first()
        shown = {split: f"{constants[split]:.0f}" for split in SPLITS if split in constants}
        rows.append({"world": world, "model": "always the mean of everything", **shown})
    return rows


def agreement(both: "pd.DataFrame") -> list[dict[str, Any]]:
    """Spearman's correlation with the published numbers over models, in each split of each world."""
    rows = []
    for world, of_world in both.groupby("world", sort=False):
        row: dict[str, Any] = {"rank correlation with the published": world} | dict.fromkeys(SPLITS)
        for split, runs in of_world.groupby("split", sort=False):
            if len(runs) >= FEWEST:
                row[str(split)] = correlated(runs["here"].to_numpy(), runs["published"].to_numpy())
        rows.append({**row, "models": of_world["model"].nunique()})
    return rows


def drops(both: "pd.DataFrame") -> list[dict[str, Any]]:
    """What models lose against the random split, in points: the median, the published one, and how many lose any."""
    rows = []
    for world, of_world in both.groupby("world", sort=False):
        row: dict[str, Any] = {"points lost against random": world} | dict.fromkeys(SPLITS[1:])
        columns = of_world.pivot(index="model", columns="split", values=["here", "published"])
        for split in SPLITS[1:]:
            if {"random", split} <= set(of_world["split"]):
                lost = {name: columns[name]["random"] - columns[name][split] for name in ("here", "published")}
                here = lost["here"].dropna()
                row[split] = (
                    f"{here.median():.0f} ({lost['published'][here.index].median():.0f}), "
                    f"{(here > 0).sum()} of {len(here)}"
                )
        rows.append(row)
    return rows


def medians(both: "pd.DataFrame") -> list[dict[str, Any]]:
    """R² in percent by supervision, the median over models, and the published one of the same models."""
    rows = []
    for (world, supervision), runs in both.groupby(["world", "supervision"], sort=False):
        row: dict[str, Any] = {"median over models": world, "supervision": supervision} | dict.fromkeys(SPLITS)
        for split, of_split in runs.groupby("split", sort=False):
            row[str(split)] = f"{of_split['here'].median():.0f} ({of_split['published'].median():.0f})"
        rows.append(row)
    return rows


def unseen(found: "pd.DataFrame") -> list[dict[str, Any]]:
    """Extrapolation, images with one unseen value: R² of its factor and of the others, the median over models.

    Modularity asks how much of what a model had at random the other factors keep; counted are models that keep 0.9, of
    those that had learnt something.
    """
    rows = []
    for world, runs in found.groupby("world", sort=False):
        of_models = runs.groupby(["model", "split"])[["R²", "unseen factor", "others"]].mean().unstack()
        if not {"random", "extrapolation"} <= set(runs["split"]):
            continue
        known = of_models[["R²"]].xs("random", axis=1, level="split")["R²"]
        beyond = of_models.xs("extrapolation", axis=1, level="split").assign(known=known).dropna()
        learnt = beyond[beyond["known"] >= LEARNT]
        row: dict[str, Any] = {"extrapolation, one unseen value": world}
        row |= {name: float(beyond[name].median()) for name in ("unseen factor", "others")}
        row["all factors, random"] = float(beyond["known"].median())
        row["others have 0.9 of it"] = f"{(learnt['others'] >= 0.9 * learnt['known']).sum()} of {len(learnt)}"
        rows.append(row)
    return rows or [{"extrapolation, one unseen value": None}]
