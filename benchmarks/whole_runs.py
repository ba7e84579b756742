"""Whole runs as a user has them: cold starts, the default suite, a million rows."""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SIZES = (3, 6, 40, 32, 32)

SCORE = """
import json, resource, sys, time
import unknot
from unknot.metrics import METRICS
path, which = sys.argv[1:]
fits = {"sap", "r2"}  # instant, but SAP trains a linear machine for each pair and R2 a regression for each factor
instant = [n for n, m in METRICS.items() if m.facts.cost == "instant"]
names = {"all": None, "instant": instant, "training-free": [n for n in instant if n not in fits]}[which]
start = time.process_time()
card = unknot.score(path, metrics=names)
usage = resource.getrusage(resource.RUSAGE_SELF)
slow = sorted(card.records.values(), key=lambda record: -record.seconds)[:5]
print(json.dumps({
    "score": time.process_time() - start, "whole": usage.ru_utime + usage.ru_stime, "gb": usage.ru_maxrss / 1e6,
    "slowest": ", ".join(f"{record.id} {record.seconds:.1f} s" for record in slow), "n": len(card.records),
}))
"""


def write_code(path: Path, n: int, n_test: int, sizes: tuple[int, ...]) -> None:
    """A leaky, partly mixed code of independent factors, ten latents."""
    rng = np.random.default_rng(0)

    def rows(count: int) -> tuple[np.ndarray, np.ndarray]:
        factors = np.stack([rng.integers(0, size, count) for size in sizes], axis=1)
        scaled = factors / (np.array(sizes) - 1)
        latents = np.concatenate([scaled, scaled @ mix], axis=1) + 0.05 * rng.normal(size=(count, 10))
        return latents.astype(np.float32), factors

    mix = rng.normal(size=(len(sizes), 10 - len(sizes)))
    latents, factors = rows(n)
    arrays = {"latents": latents, "factors": factors}
    if n_test:
        arrays["latents_test"], arrays["factors_test"] = rows(n_test)
    np.savez(path, **arrays)


def cpu_of(*command: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def scored(path: Path, which: str) -> dict[str, float | str]:
    done = subprocess.run(
        [sys.executable, "-c", SCORE, str(path), which], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.npz"
        write_code(path, 10_000, 5_000, SIZES)
        for label, command, goal in (
            ("import unknot", ("-c", "import unknot"), 0.3),
            ("unknot --help", ("-m", "unknot", "--help"), 0.3),
            ("unknot score code.npz --metrics mig", ("-m", "unknot", "score", str(path), "--metrics", "mig"), 0.5),
        ):
            cpu = min(cpu_of(*command) for _ in range(5))
            print(f"{label:<42} {cpu:6.2f} s CPU (goal {goal})")
        scored(path, "instant")  # fills numba's cache
        for which, goal in (("instant", 1), ("all", 30)):
            run = scored(path, which)
            print(f"{run['n']} metrics ({which}), 10,000 + 5,000 rows: {run['score']:.2f} s CPU (goal {goal})")
            print(f"   slowest: {run['slowest']}")
        write_code(path, 1_000_000, 0, (3, 6, 40, 32, 32, 10))
        for which in ("training-free", "instant"):
            run = scored(path, which)
            print(
                f"{run['n']} metrics ({which}), 1,000,000 rows x 10 x 6: {run['score']:.1f} s CPU (goal 10), "
                f"{run['gb']:.1f} GB (goal 3)"
            )
            print(f"   slowest: {run['slowest']}")


if __name__ == "__main__":
    main()
