"""How fast the trainer is beside a plain PyTorch loop, and what its parts cost; one thread, in one run.

python benchmarks/training.py                  the measurements, some three minutes
python benchmarks/training.py --bf16-quality   whether bfloat16 trains as well as float32, an hour

CPU seconds are counted (`time.process_time`), in short turns that alternate, and the median of the turns is told.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from unknot.represent import represent
from unknot.runs import Run, RunSpec
from unknot.trainer import Trainer
from unknot.training import build_model, feed, train
from unknot.worlds import open_world

WORLD = "dsprites_rendered"
BATCH = 64
IMAGES = 8192  # in the array that the plain loop reads
TURNS, STEPS = 7, 6  # turns of each variant, steps in a turn


class Items(Dataset[Tensor]):
    """One image at a time out of an array of bytes, as public repositories do."""

    def __init__(self, images: np.ndarray) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tensor:
        return torch.from_numpy(self.images[index]).permute(2, 0, 1).contiguous().float().div(255)


def plain_loop(architecture: str) -> Iterator[None]:
    """The usual loop around the same network: NCHW, default Adam, BCE of a sigmoid, a DataLoader of items."""
    world = open_world(WORLD)
    rng = np.random.default_rng(0)
    loader = DataLoader(
        Items(world.images(world.factors.sample(IMAGES, rng))), BATCH, shuffle=True, drop_last=True
    )
    model, _ = build_model(RunSpec(world=WORLD, architecture=architecture), world)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)
    while True:
        for images in loader:
            mean, logvar = model.encoder(images)
            z = mean + (0.5 * logvar).exp() * torch.randn_like(mean)
            output = model.decoder(z).sigmoid()
            fit = functional.binary_cross_entropy(output, images, reduction="sum") / len(images)
            kl = 0.5 * (mean.pow(2) + logvar.exp() - logvar - 1).sum(1).mean()
            loss = fit + 4 * kl
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            loss.item()
            yield


def trainer(folder: Path, **fields: object) -> Trainer:
    """The trainer of a run that has not begun."""
    world = open_world(WORLD)
    model, spec = build_model(RunSpec(world=WORLD, batch_size=BATCH, **fields), world)
    return Trainer(Run.create(folder, spec), model, feed(spec, model, world), torch.device("cpu"))


def our_loop(ours: Trainer) -> Iterator[None]:
    """The trainer, one step at a time."""
    while True:
        ours.advance()
        yield


def alternate(loops: dict[str, Callable[[], object]], turns: int = TURNS) -> dict[str, float]:
    """CPU seconds of a call of each, the median over turns, after one turn that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(turns + 1):
        for name, call in loops.items():
            start = time.process_time()
            call()
            seconds[name].append(time.process_time() - start)
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}


def steps_of(loop: Iterator[None], n: int = STEPS) -> Callable[[], None]:
    def call() -> None:
        for _ in range(n):
            next(loop)

    return call


def speed(folder: Path, architecture: str) -> dict[str, float]:
    """Images a second of a plain loop and of ours; what data take of a step; encoding beside training."""
    float32 = trainer(folder, architecture=architecture)
    bfloat16 = trainer(folder, architecture=architecture, precision="bfloat16")
    images = float32.feed.tensor(float32.feed.region.sample(1024, np.random.default_rng(1)), np.random.default_rng(1))
    loops: dict[str, Callable[[], object]] = {
        "plain": steps_of(plain_loop(architecture)),
        "float32": steps_of(our_loop(float32)),
        "bfloat16": steps_of(our_loop(bfloat16)),
        "encode": lambda: represent(float32.model, images),
        "data": lambda: [float32.feed.batch(step) for step in range(STEPS)],
    }
    seconds = alternate(loops)
    rates = {name: STEPS * BATCH / seconds[name] for name in ("plain", "float32", "bfloat16")}
    rates["encode"] = len(images) / seconds["encode"]
    for name, rate in rates.items():
        beside = f"{rate / rates['float32']:.1f} x training" if name == "encode" else f"{rate / rates['plain']:.2f} x"
        print(f"{architecture:<10} {name:<9} {rate:7.0f} images/s {beside}")
    share = seconds["data"] / seconds["float32"]
    print(f"{architecture:<10} data are {100 * share:.2f} % of a float32 step")
    return {
        "float32_ratio": rates["float32"] / rates["plain"],
        "bfloat16_ratio": rates["bfloat16"] / rates["plain"],
        "encode_ratio": rates["encode"] / rates["float32"],
        "data_share": share,
    }


def memory_growth(folder: Path, steps: int = 1500) -> float:
    """Megabytes by which the process grew over the later part of a run of small images."""
    ours = trainer(folder, image_size=32, seed=1)
    sizes = []
    for step in range(steps):
        ours.advance()
        if (step + 1) % 250 == 0:
            ours.read_curve()
            sizes.append(_resident())
    print(f"memory over {steps} steps: {', '.join(f'{size:.0f}' for size in sizes)} MB")
    return sizes[-1] - sizes[1]


def _resident() -> float:
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def bf16_quality(folder: Path = Path("reproduce"), seeds: Sequence[int] = (1, 2, 3), steps: int = 1200) -> None:
    """The loss at the end of short runs in both precisions; a run that was finished before is only read."""
    ends: dict[str, list[float]] = {"float32": [], "bfloat16": []}
    for seed in seeds:
        for precision, found in ends.items():
            spec = RunSpec(
                world=WORLD, model="vae", architecture="burgess64", lr=5e-4, steps=steps, seed=seed, precision=precision
            )
            curve = train(spec, folder).curve()
            found.append(float(curve.loss[curve.step > steps - 100].mean()))
            print(f"{precision:<9} seed {seed}: loss {found[-1]:.1f} over the last 100 of {steps} steps", flush=True)
    for precision, found in ends.items():
        print(f"{precision:<9} mean {np.mean(found):.1f}, standard deviation {np.std(found):.1f}")


def main() -> dict[str, float]:
    """All measurements but that of quality."""
    torch.set_num_threads(1)
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for architecture in ("conv64", "burgess64"):
            found = speed(Path(folder), architecture)
            results |= {f"{architecture}_{name}": value for name, value in found.items()}
        results["memory_growth_mb"] = memory_growth(Path(folder))
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf16-quality", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    if arguments.bf16_quality:
        bf16_quality(seeds=arguments.seeds)
    else:
        main()
