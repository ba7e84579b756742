"""One run of each unsupervised model: trained, encoded, scored."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reproduce import table, workers

from unknot.runs.run import Run, RunSpec

STEPS = 3_000
# A hundredth of the papers' steps is in reach of two cores; the learning rate of mahon2024 makes up for part of it.
COMMON: dict[str, Any] = {"world": "dsprites_rendered", "lr": 5e-4, "precision": "bfloat16", "seed": 0}
METRICS = ["mig", "snc", "sap", "dci", "modularity", "beta_vae_score", "factor_vae_score", "mlp_accuracy"]
INFORMATIVE = 0.01  # nats of KL, as in duan2020


def specs() -> Iterator[RunSpec]:
    """The runs."""
    for beta in (1.0, 4.0, 16.0):
        yield RunSpec(model="beta_vae", options={"beta": beta}, steps=STEPS, **COMMON)
    others: dict[str, dict[str, Any]] = {
        "cci_vae": {"c_max": 25.0, "gamma": 10.0, "c_steps": 2_500},
        "factor_vae": {"gamma": 10.0},
        "beta_tc_vae": {"beta": 6.0},
        "dip_vae_i": {"lambda_od": 10.0},
        "dip_vae_ii": {"lambda_od": 10.0},
        "autoencoder": {},
        "parted_vae": {"capacity_steps": 2_500},
    }
    for model, options in others.items():
        yield RunSpec(model=model, options=options, steps=STEPS, **COMMON)


def one(spec: RunSpec, folder: Path) -> dict[str, Any]:
    """Train (or go on, or find it done), encode, score: one row of the table."""
    from unknot.encoders.encoding import representation_of
    from unknot.runs.training import train
    from unknot.scoring.scoring import score

    run = train(spec, folder)
    card = score(representation_of(run), metrics=METRICS)
    kl = run.kl().iloc[-1].drop("step") if (run.folder / "kl.parquet").exists() else None
    return {
        "model": spec.model,
        "options": ", ".join(f"{name} {value:g}" for name, value in spec.options.items()),
        "steps": spec.steps,
        "minutes": round(run.record["training_seconds"] / 60, 1),
        "reconstruction": round(float(run.curve()["reconstruction"].iloc[-1]), 1),
        "informative latents": "-" if kl is None else int((kl > INFORMATIVE).sum()),
        **{record.name: float(card[record.name].value) for record in card.records.values()},
    }


def run(folder: Path, jobs: int) -> str:
    """The table of all runs; their curves and traversals are drawn beside it."""
    with workers(jobs) as pool:
        rows = []
        for row in pool.map(partial(one, folder=folder), specs()):
            print(row, flush=True)
            rows.append(row)
    draw_curves(folder)
    draw_traversals(folder)
    return table(rows)


def trained(folder: Path) -> dict[str, Run]:
    """The finished runs by what a figure calls them."""
    from unknot.runs.training import train

    names = [
        f"{spec.model}, beta {spec.options['beta']:g}" if spec.model == "beta_vae" else spec.model
        for spec in specs()
    ]
    return dict(zip(names, (train(spec, folder) for spec in specs()), strict=True))


def draw_curves(folder: Path) -> None:
    """Reconstruction and what is paid for it, over the steps of training."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 5, figsize=(13, 5), sharex=True, sharey=True, layout="constrained")
    for panel, (name, run) in zip(panels.flat, trained(folder).items(), strict=True):
        curve = run.curve()
        rest = curve["loss"] - curve["reconstruction"]
        panel.plot(curve["step"], curve["reconstruction"], label="reconstruction", color="#1f3a5f")
        panel.plot(curve["step"], rest, label="all other terms", color="#c8792e")
        panel.set(title=name, yscale="symlog", ylim=(0, 1000))
        panel.grid(alpha=0.3)
    panels[0, 0].legend(frameon=False)
    figure.supxlabel("step")
    figure.supylabel("nats for an image")
    figure.savefig(folder / "curves.png", dpi=110)


def draw_traversals(folder: Path) -> None:
    """The traversals of all runs on one sheet."""
    from PIL import Image

    pictures = [Image.open(run.folder / "pictures" / "traversals.png") for run in trained(folder).values()]
    width, height = max(p.width for p in pictures), max(p.height for p in pictures)
    across = 3
    sheet = Image.new("RGB", (across * width, -(-len(pictures) // across) * height), "white")
    for i, picture in enumerate(pictures):
        sheet.paste(picture, (i % across * width, i // across * height))
    small = sheet.resize((sheet.width * 2 // 5, sheet.height * 2 // 5)).convert("L").quantize(16)
    small.save(folder / "traversals.png", optimize=True)
