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
STEPS = 6_000
# A fifth of the papers' steps in reach of two cores: a higher learning rate (that of S0) makes up for part of it.
COMMON = {"world": "dsprites_rendered", "steps": STEPS, "lr": 5e-4, "precision": "bfloat16"}
SPECS = [
    *(RunSpec(model="beta_vae", options={"beta": float(beta)}, seed=0, **COMMON) for beta in (1, 4, 16)),
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
