"""The slow scientific checks: train, encode, score, and write what came out below `reproduce/`.

`make reproduce` runs all of it, and goes on where it was interrupted. Results, with dates and minutes, are in
docs/results.md.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from unknot.runs import RunSpec

FOLDER = Path("reproduce")
STEPS, BETA_STEPS = 3_000, 25_000  # the effect of beta on MIG needs the longer ones
# A hundredth of the papers' steps is in reach of two cores; the learning rate of S0 makes up for part of it.
COMMON = {"world": "dsprites_rendered", "steps": STEPS, "lr": 5e-4, "precision": "bfloat16", "seed": 0}
LONG = {**COMMON, "steps": BETA_STEPS}
SPECS = [
    RunSpec(model="beta_vae", options={"beta": 16.0}, **LONG),
    RunSpec(model="beta_vae", options={"beta": 4.0}, **LONG),
    RunSpec(model="beta_vae", options={"beta": 1.0}, **LONG),
    RunSpec(model="cci_vae", options={"c_max": 25.0, "gamma": 100.0, "c_steps": 2_500}, **COMMON),
    RunSpec(model="factor_vae", options={"gamma": 10.0}, **COMMON),
    RunSpec(model="beta_tc_vae", options={"beta": 6.0}, **COMMON),
    RunSpec(model="dip_vae_i", options={"lambda_od": 10.0}, **COMMON),
    RunSpec(model="dip_vae_ii", options={"lambda_od": 10.0}, **COMMON),
    RunSpec(model="autoencoder", **COMMON),
    RunSpec(model="parted_vae", options={"capacity_steps": 2_500}, **COMMON),
]


METRICS = ["mig", "snc", "sap", "dci", "modularity", "beta_vae_score", "factor_vae_score", "mlp_accuracy"]
INFORMATIVE = 0.01  # nats of KL, as in S1


def reproduce_one(spec: RunSpec) -> dict[str, float | str]:
    """Train (or go on, or find it done), encode, score: one row of the table."""
    from unknot.encoding import representation_of
    from unknot.scoring import score
    from unknot.training import train

    run = train(spec, FOLDER)
    card = score(representation_of(run), metrics=METRICS)
    kl = run.kl().iloc[-1].drop("step") if (run.folder / "kl.parquet").exists() else None
    return {
        "model": spec.model,
        "options": ", ".join(f"{name} {value:g}" for name, value in spec.options.items()),
        "run": run.folder.name,
        "minutes": round(run.record["training_seconds"] / 60, 1),
        "reconstruction": float(run.curve()["reconstruction"].iloc[-1]),
        "informative latents": "-" if kl is None else int((kl > INFORMATIVE).sum()),
        **{record.name: round(card[record.name].value, 3) for record in card.records.values()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    rows = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(reproduce_one, SPECS):
            rows.append(row)
            print(row, flush=True)
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(row[name]) for name in header) + " |" for row in rows]
    (FOLDER / "results.md").write_text("\n".join(lines) + "\n")
    print(FOLDER / "results.md")


if __name__ == "__main__":
    main()
