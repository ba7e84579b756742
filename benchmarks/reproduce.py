"""The slow scientific checks: train, encode, score, and write what came out below `reproduce/`.

`make reproduce` runs all of it, and goes on where it was interrupted. Results, with dates and minutes, are in
docs/results.md.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from unknot.runs import RunSpec

FOLDER = Path("reproduce")
STEPS = 5_000
# A sixtieth of the papers' steps is in reach of two cores; the learning rate of S0 makes up for part of it.
COMMON = {"world": "dsprites_rendered", "steps": STEPS, "lr": 5e-4, "precision": "bfloat16", "seed": 0}
SPECS = [
    RunSpec(model="beta_vae", options={"beta": 4.0}, **COMMON),
    RunSpec(model="beta_vae", options={"beta": 1.0}, **COMMON),
    RunSpec(model="beta_vae", options={"beta": 16.0}, **COMMON),
    RunSpec(model="cci_vae", options={"c_max": 25.0, "gamma": 100.0, "c_steps": 4_000}, **COMMON),
    RunSpec(model="factor_vae", options={"gamma": 10.0}, **COMMON),
    RunSpec(model="beta_tc_vae", options={"beta": 6.0}, **COMMON),
    RunSpec(model="dip_vae_i", options={"lambda_od": 10.0}, **COMMON),
    RunSpec(model="dip_vae_ii", options={"lambda_od": 10.0}, **COMMON),
    RunSpec(model="autoencoder", **COMMON),
    RunSpec(model="parted_vae", options={"capacity_steps": 4_000}, **COMMON),
]


def train_one(spec: RunSpec) -> str:
    from unknot.training import train

    start = time.time()
    run = train(spec, FOLDER)
    return f"{spec.title}: {run.folder} in {(time.time() - start) / 60:.1f} min"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for line in pool.map(train_one, SPECS):
            print(line, flush=True)


if __name__ == "__main__":
    main()
