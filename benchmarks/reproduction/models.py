"""One run of each unsupervised model: trained, encoded, scored."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reproduce import table, workers

from unknot.runs import RunSpec

STEPS = 3_000
# A hundredth of the papers' steps is in reach of two cores; the learning rate of S0 makes up for part of it.
COMMON: dict[str, Any] = {"world": "dsprites_rendered", "lr": 5e-4, "precision": "bfloat16", "seed": 0}
METRICS = ["mig", "snc", "sap", "dci", "modularity", "beta_vae_score", "factor_vae_score", "mlp_accuracy"]
INFORMATIVE = 0.01  # nats of KL, as in S1


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
    from unknot.encoding import representation_of
    from unknot.scoring import score
    from unknot.training import train

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
    """The table of all runs."""
    with workers(jobs) as pool:
        rows = []
        for row in pool.map(partial(one, folder=folder), specs()):
            print(row, flush=True)
            rows.append(row)
    return table(rows)
