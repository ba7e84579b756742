"""How fast the trainer is beside a plain PyTorch loop, and what its parts cost; one thread, in one run.

python benchmarks/training.py                  the measurements, some three minutes
python benchmarks/training.py --traced         only what batches of ray-traced worlds take of a step, half a minute
python benchmarks/training.py --bf16-quality   whether bfloat16 trains as well as float32, an hour

CPU seconds are counted (`time.process_time`), in short turns that alternate, and the median of the turns is told.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from unknot.models.codes import represent
from unknot.models.model import Batch
from unknot.processes.memory import kept_memory
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.trainer import Trainer
from unknot.runs.training import build_model, feed, train
from unknot.worlds import open_world

WORLD = "dsprites_rendered"
BATCH = 64
IMAGES = 8192  # in the array that the plain loop reads
TURNS, STEPS = 7, 6  # turns of each variant, steps in a turn
TRACED, TRACED_STEPS = ("shapes3d_rendered", "mpi3d_rendered"), 25
VARIANTS = ("plain", "float32", "bfloat16", "encode", "data")


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


def trainer(folder: Path, name: str = WORLD, **fields: object) -> Trainer:
    """The trainer of a run that has not begun."""
    world = open_world(name)
    model, spec = build_model(RunSpec(world=name, batch_size=BATCH, **fields), world)
    return Trainer(Run.create(folder, spec), model, feed(spec, model, world), torch.device("cpu"))


def work(name: str, architecture: str) -> None:
    """Take a turn for every line that comes in, and answer with its CPU seconds."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, nullcontext() if name == "plain" else kept_memory():
        turn = _turn(name, architecture, Path(folder))
        turn()
        for _ in sys.stdin:
            start = time.process_time()
            turn()
            print(time.process_time() - start, flush=True)


def _turn(name: str, architecture: str, folder: Path) -> Callable[[], object]:
    """What one turn of a variant does: STEPS batches are trained on, encoded or only drawn."""
    if name == "plain":
        loop = plain_loop(architecture)
        return lambda: [next(loop) for _ in range(STEPS)]
    ours = trainer(folder, architecture=architecture, precision="bfloat16" if name == "bfloat16" else "float32")
    if name == "data":
        return lambda: [ours.feed.batch(step) for step in range(STEPS)]
    if name == "encode":
        images = torch.cat([ours.feed.batch(step).images for step in range(STEPS)])
        return lambda: represent(ours.model, images)
    return lambda: [ours.advance() for _ in range(STEPS)]


def turns(architecture: str) -> dict[str, float]:
    """CPU seconds of a turn of each variant: the median over turns that alternate.

    Each is a process of its own, so that none profits from what another set up.
    """
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with ExitStack() as stack:
        workers = {}
        for name in VARIANTS:
            command = [sys.executable, __file__, "--turns", name, architecture]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            workers[name] = stack.enter_context(subprocess.Popen(command, text=True, bufsize=1, **pipes))
        for _ in range(TURNS):
            for name, worker in workers.items():
                worker.stdin.write("go\n")
                seconds[name].append(float(worker.stdout.readline()))
        for worker in workers.values():
            worker.stdin.close()
    return {name: statistics.median(values) for name, values in seconds.items()}


def speed(architecture: str) -> dict[str, float]:
    """Images a second of a plain loop and of ours; what data take of a step; encoding beside training."""
    seconds = turns(architecture)
    rates = {name: STEPS * BATCH / seconds[name] for name in VARIANTS}
    for name in ("plain", "float32", "bfloat16"):
        print(f"{architecture:<10} {name:<9} {rates[name]:7.0f} images/s {rates[name] / rates['plain']:6.2f} x")
    encode = rates["encode"] / rates["float32"]
    share = seconds["data"] / seconds["float32"]
    print(f"{architecture:<10} encode    {rates['encode']:7.0f} images/s {encode:6.2f} x training in float32")
    print(f"{architecture:<10} data are {100 * share:.2f} % of a float32 step", flush=True)
    return {
        "float32_ratio": rates["float32"] / rates["plain"],
        "bfloat16_ratio": rates["bfloat16"] / rates["plain"],
        "encode_ratio": encode,
        "data_share": share,
    }


def traced_share(folder: Path, name: str) -> dict[str, float]:
    """What batches of a ray-traced world take of a step: of its thread, by the clock, and if drawn in time."""
    ours = trainer(folder, name)
    clocks = (time.thread_time, time.perf_counter)
    batches, steps = np.zeros((TRACED_STEPS, 2)), np.zeros((TRACED_STEPS, 2))
    get = ours.batches.batch

    def timed(step: int) -> Batch:
        before = np.array([clock() for clock in clocks])
        batch = get(step)
        if step:  # the first was not foreseen
            batches[step - 1] = np.array([clock() for clock in clocks]) - before
        return batch

    ours.batches.batch = timed  # type: ignore[method-assign]
    ours.advance()
    for step in range(TRACED_STEPS):
        before = np.array([clock() for clock in clocks])
        ours.advance()
        steps[step] = np.array([clock() for clock in clocks]) - before
    before = time.thread_time()
    for step in range(STEPS):
        ours.feed.batch(step)
    drawing = (time.thread_time() - before) / STEPS
    thread, clock = np.median(batches, axis=0) / np.median(steps, axis=0)
    alone = drawing / (drawing + float(np.median(steps[:, 0])))
    shares = f"{100 * thread:.2f} % of a step, {100 * clock:.2f} % by the clock"
    print(f"{name}: data are {shares}; drawn in time {100 * alone:.1f} %", flush=True)
    return {"data_share": float(thread), "data_clock_share": float(clock), "drawn_in_time_share": alone}


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
                world=WORLD,
                model="vae",
                architecture="burgess64",
                lr=5e-4,
                steps=steps,
                seed=seed,
                precision=precision,
            )
            curve = train(spec, folder).curve()
            found.append(float(curve.loss[curve.step > steps - 100].mean()))
            print(
                f"{precision:<9} seed {seed}: loss {found[-1]:.1f} over the last 100 of {steps} steps", flush=True
            )
    for precision, found in ends.items():
        print(f"{precision:<9} mean {np.mean(found):.1f}, standard deviation {np.std(found):.1f}")


def main() -> dict[str, float]:
    """All measurements but that of quality."""
    torch.set_num_threads(1)
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for architecture in ("conv64", "burgess64"):
            found = speed(architecture)
            results |= {f"{architecture}_{name}": value for name, value in found.items()}
        for name in TRACED:
            results |= {f"{name}_{key}": value for key, value in traced_share(Path(folder), name).items()}
        results["memory_growth_mb"] = memory_growth(Path(folder))
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf16-quality", action="store_true")
    parser.add_argument("--traced", action="store_true", help="only what batches of ray-traced worlds take")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--turns", nargs=2, metavar=("VARIANT", "ARCHITECTURE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.turns:
        work(*arguments.turns)
    elif arguments.traced:
        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as folder:
            for name in TRACED:
                traced_share(Path(folder), name)
    elif arguments.bf16_quality:
        bf16_quality(seeds=arguments.seeds)
    else:
        main()
