"""Latents for a step of a study on Ray: from the file, from this machine's object store, from another machine's."""

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from unknot.representation import Representation, read_representation

ROWS, LATENTS, FACTORS, RUNS = 15_000, 10, 5, 30
MEMORY = 200_000_000  # bytes of a node's object store


def made(seed: int) -> Representation:
    """Latents as a study keeps them."""
    rng = np.random.default_rng(seed)
    latents, logvars = rng.normal(size=(2, ROWS, LATENTS)).astype(np.float32)
    source = {"encoder": {"weights": str(seed)}, "rows": ROWS}
    return Representation(latents, rng.integers(0, 32, (ROWS, FACTORS)), logvars=logvars, source=source)


def seconds(folder: Path, references: dict[str, Any]) -> float:
    """Median time until a step has the latents of a run, all of them looked at once."""
    from unknot.studies.ray_engine import fetched
    from unknot.studies.steps import latents_of

    took = []
    for run in sorted(folder.iterdir()):
        began = time.perf_counter()
        latents_of(run, lambda id_: fetched(references.get(id_))).latents.sum()
        took.append(time.perf_counter() - began)
    return median(took)


def main() -> None:
    """Two nodes of a Ray cluster on this machine: what goes between them goes through its loopback."""
    import ray
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": MEMORY})
    for name in ("one", "two"):
        cluster.add_node(num_cpus=1, resources={name: RUNS}, object_store_memory=MEMORY)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for i in range(RUNS):
                (folder / f"run{i}").mkdir()
                made(i).write(folder / f"run{i}" / "latents.npz")
            read: Any = ray.remote(lambda path: read_representation(path)).options(resources={"one": 1})
            held = {path.name: read.remote(path / "latents.npz") for path in sorted(folder.iterdir())}
            ray.wait(list(held.values()), num_returns=RUNS, fetch_local=False)
            size = (folder / "run0" / "latents.npz").stat().st_size
            print(f"   {ROWS:,} rows, {LATENTS} latents, {FACTORS} factors: {size / 1e6:.1f} MB in the file")
            for what, node, references in (
                ("from the file", "one", {}),
                ("from this machine's store", "one", held),
                ("from another machine's store", "two", held),
            ):
                taken = ray.remote(seconds).options(resources={node: 1}).remote(folder, references)
                print(f"   {what:<30} {1000 * ray.get(taken):6.1f} ms a run", flush=True)
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
