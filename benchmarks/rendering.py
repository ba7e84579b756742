"""How fast the ray-traced worlds are drawn on one core, and that drawing many batches needs no more memory."""

import resource
import sys
import time

import numpy as np

from unknot.worlds.rendered.mpi3d_rendered import mpi3d_rendered
from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered
from unknot.worlds.world import World, sample

BATCH = 256
ROUNDS, BATCHES = 5, 4
NEEDED = {"Shapes3D (rendered)": 1_000, "MPI3D (rendered)": 700}  # images a second of one core


def images_per_second(world: World) -> float:
    """Per second of processor time, the best of several rounds: others on the machine only ever add time."""
    rng = np.random.default_rng(0)
    rounds = [[sample(world, BATCH, rng) for _ in range(BATCHES)] for _ in range(ROUNDS)]
    world.images(rounds[0][0])  # compiles, or loads what was compiled before
    times = []
    for batches in rounds:
        start = time.process_time()
        for classes in batches:
            world.images(classes)
        times.append(time.process_time() - start)
    return BATCH * BATCHES / min(times)


def memory_growth(world: World, n_batches: int = 40) -> float:
    """Megabytes by which the peak grows over many batches, after the first."""
    rng = np.random.default_rng(1)
    world.images(sample(world, BATCH, rng))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(n_batches):
        world.images(sample(world, BATCH, rng))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return grown / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> dict[str, float]:
    results = {}
    for world in (shapes3d_rendered(), mpi3d_rendered()):
        speed, grown = images_per_second(world), memory_growth(world)
        print(
            f"{world.name:20} {speed:8,.0f} images/s on one core   {speed / NEEDED[world.name]:.1f} x what is needed"
            f"   memory grown over 40 batches of {BATCH}: {grown:.1f} MB"
        )
        results[f"{world.name}: images_per_second"] = speed
        results[f"{world.name}: memory_growth_mb"] = grown
    return results


if __name__ == "__main__":
    main()
