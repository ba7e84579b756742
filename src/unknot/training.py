"""Train a model on a world: `unknot.train(spec)`.

A run killed at any moment goes on from its last checkpoint and ends with the same weights, bit for bit on a CPU, as
one that was never stopped: data and noise of a step depend on the seed and the step alone.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from unknot.atomic import written_whole
from unknot.batches import Feed
from unknot.errors import UnknotError
from unknot.models import build
from unknot.models.model import Batch, Model, Player, Posterior, Setting, players
from unknot.models.networks import initialise
from unknot.models.terms import kl_per_latent
from unknot.runs import Run, RunSpec
from unknot.worlds import open_world
from unknot.worlds.split_rules import Rule, SplitKind, check_kind, published_rule
from unknot.worlds.splits import Split, split
from unknot.worlds.world import World

LOG_EVERY = 50  # steps averaged into one row of the curve
KL_IMAGES = 1024  # images the KL of each latent is measured on


@dataclass(frozen=True)
class Progress:
    """What a watcher is told every few steps."""

    step: int
    steps: int
    terms: Mapping[str, float]
    images_per_second: float


def train(
    spec: RunSpec,
    folder: Path | str = "runs",
    *,
    device: str = "cpu",
    data: Path | None = None,
    checkpoint_every: int = 1000,
    compiled: bool = False,
    threads: int = 1,
    wait: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> Run:
    """Train what the spec says, or go on where an earlier process stopped, or return what is already there.

    Args:
        spec: world, model, options, steps, seed.
        folder: the run's folder is made below this one.
        device: "cpu", "cuda", "mps".
        data: folder of data files.
        checkpoint_every: steps between checkpoints; a killed run loses at most these.
        compiled: use `torch.compile`; pays on GPUs, not on CPUs.
        threads: of torch; one is the fastest on a shared machine.
        wait: if another process is training this run, wait for it instead of refusing.
        watch: called with a `Progress` every few steps.
    """
    world = open_world(spec.world, data=data)
    model, spec = build_model(spec, world)
    run = Run.create(folder, spec)
    with _locked(run, wait=wait), _threads(threads):
        if not run.finished:
            _Trainer(run, model, feed(spec, model, world), device, compiled).train(checkpoint_every, watch)
    return run


def build_model(spec: RunSpec, world: World) -> tuple[nn.Module, RunSpec]:
    """The model of a spec with freshly drawn weights, and the spec with all options filled in."""
    height, width, channels = world.image_shape
    pixels = spec.image_size or height
    if spec.image_size is None and height != width:
        raise UnknotError(f"{world.name}: images are {height} x {width}; set image_size, which resizes them.")
    setting = Setting(
        channels=channels,
        pixels=pixels,
        latents=spec.latents,
        n_images=_region_size(spec, world),
        steps=spec.steps,
        factors=world.factors,
        architecture=spec.architecture,
        decoder=spec.decoder,
    )
    model, options = build(spec.model, setting, spec.options)
    initialise(model, spec.init, torch.Generator().manual_seed(_seed(spec.seed, 0, 0)))
    law = spec.pairs or getattr(model, "pairs", "")
    return model, spec.replace(options=options, pairs=law)


def training_split(spec: RunSpec, world: World) -> Split | None:
    """The split a spec trains inside, if any."""
    if not spec.split:
        return None
    check_kind(spec.split)
    rule = published_rule(spec.world, world.factors) or Rule(ratio=0.2)
    return split(world.factors, cast(SplitKind, spec.split), rule=rule)


def feed(spec: RunSpec, model: nn.Module, world: World) -> Feed:
    """The batches of a run."""
    return Feed(
        world=world,
        batch_size=spec.batch_size,
        seed=spec.seed,
        split=training_split(spec, world),
        supervision=getattr(model, "supervision", "none"),
        pairs=spec.pairs or "one_factor",
        n_labelled=getattr(model, "n_labelled", 0),
        wants_other=getattr(model, "wants_other", False),
        image_size=spec.image_size,
    )


def _region_size(spec: RunSpec, world: World) -> int:
    part = training_split(spec, world)
    if world.rows is not None:
        return len(world.rows)
    return part.n_train if part is not None else world.factors.size


class _Trainer:
    """The state of a run between two steps."""

    def __init__(self, run: Run, model: nn.Module, batches: Feed, device: str, compiled: bool) -> None:
        self.run, self.spec, self.feed = run, run.spec, batches
        self.device = _device(device)
        self.model = _channels_last(model.to(self.device))
        self.players = players(self.model)
        self.parameters = [_parameters(player) for player in self.players]
        own = [index for index, player in enumerate(self.players) if player.loss == cast(Model, self.model).loss]
        self.main = own[0] if own else 0  # the player whose loss the curve calls the loss
        self.optimisers = [
            torch.optim.Adam(moved, lr=player.lr or self.spec.lr, betas=player.betas, eps=1e-8, fused=self.fused)
            for player, moved in zip(self.players, self.parameters, strict=True)
        ]
        self.generator = torch.Generator(device=self.device)
        self.losses = [torch.compile(player.loss) if compiled else player.loss for player in self.players]
        self.step = 0
        self.curve: list[dict[str, float]] = []
        self.latents: list[dict[str, float]] = []
        self._resume()

    @property
    def fused(self) -> bool:
        return self.device.type in ("cpu", "cuda")

    def train(self, checkpoint_every: int, watch: Callable[[Progress], None] | None) -> None:
        self.model.train()
        sums: dict[str, float] = {}
        since, counted = time.perf_counter(), 0
        while self.step < self.spec.steps:
            for name, value in self._one_step().items():
                sums[name] = sums.get(name, 0.0) + value
            counted += 1
            self.step += 1
            if self.step % LOG_EVERY == 0 or self.step == self.spec.steps:
                means = {name: total / counted for name, total in sums.items()}
                self.curve.append({"step": self.step, **means})
                speed = counted * self.spec.batch_size / (time.perf_counter() - since)
                sums, since, counted = {}, time.perf_counter(), 0
                if watch is not None:
                    watch(Progress(self.step, self.spec.steps, means, speed))
            if self.step % checkpoint_every == 0 and self.step < self.spec.steps:
                self._checkpoint()
        self._finish()

    def _one_step(self) -> dict[str, float]:
        batch = _to(self.feed.batch(self.step), self.device)
        said: dict[str, float] = {}
        for index, player in enumerate(self.players):
            self.generator.manual_seed(_seed(self.spec.seed, self.step, index + 1))
            with self._autocast():
                terms = self.losses[index](batch, self.step, self.generator)
            if terms is None:
                continue
            loss = sum(terms.values(), torch.zeros((), device=self.device))
            values = {name: term.item() for name, term in terms.items()}
            self._must_be_finite(player, values)
            gradients = torch.autograd.grad(loss, self.parameters[index], allow_unused=True)
            for parameter, gradient in zip(self.parameters[index], gradients, strict=True):
                parameter.grad = gradient
            if self.step % LOG_EVERY == 0:
                self._gradient_must_be_finite(player, gradients)
            self.optimisers[index].step()
            prefix = "" if index == self.main else f"{player.name}."
            said |= {prefix + name: value for name, value in values.items()}
            if index == self.main:
                said["loss"] = sum(values.values())
        after = getattr(self.model, "after_step", None)
        if after is not None:
            after()
        return said

    def _autocast(self) -> Any:
        if self.spec.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _must_be_finite(self, player: Player, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            if not math.isfinite(value):
                self._diverged(f"the term '{name}' of '{player.name}' became {value}")

    def _gradient_must_be_finite(self, player: Player, gradients: tuple[Tensor | None, ...]) -> None:
        norms = [float(gradient.norm()) for gradient in gradients if gradient is not None]
        if not all(map(math.isfinite, norms)):
            self._diverged(f"the gradient of '{player.name}' is no longer finite")

    def _diverged(self, what: str) -> None:
        kept = f"the checkpoint of step {self._saved} is kept" if self._saved else "no checkpoint was written yet"
        raise UnknotError(
            f"training diverged at step {self.step}: {what} ({self.spec.title}); {kept}. Try a smaller learning rate "
            f"(now {self.spec.lr:g}), a smaller weight of that term, or precision float32."
        )

    def _resume(self) -> None:
        self._saved = 0
        if not self.run.checkpoint.is_file():
            return
        try:
            state = torch.load(self.run.checkpoint, map_location=self.device, weights_only=True)
            if state["spec"] != self.spec.id:
                raise UnknotError(f"{self.run.checkpoint}: belongs to another spec; delete it to start anew.")
            self.model.load_state_dict(state["model"])
            for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
                optimiser.load_state_dict(saved)
        except UnknotError:
            raise
        except Exception as error:
            raise UnknotError(
                f"{self.run.checkpoint}: cannot be read ({type(error).__name__}); delete it to start anew."
            ) from error
        self.step = self._saved = int(state["step"])
        self.curve, self.latents = json.loads(state["curve"]), json.loads(state["latents"])

    def _checkpoint(self) -> None:
        self._measure_kl()
        state = {
            "spec": self.spec.id,
            "step": self.step,
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "curve": json.dumps(self.curve),
            "latents": json.dumps(self.latents),
        }
        with written_whole(self.run.checkpoint) as beside:
            torch.save(state, beside)
        self._saved = self.step
        self._write_tables()

    def _finish(self) -> None:
        from safetensors.torch import save_file

        self._measure_kl()
        self._write_tables()
        self.model.eval()
        weights = {name: tensor.contiguous().cpu() for name, tensor in self.model.state_dict().items()}
        with written_whole(self.run.weights) as beside:
            save_file(weights, beside)
        self.run.checkpoint.unlink(missing_ok=True)

    @torch.no_grad()
    def _measure_kl(self) -> None:
        """KL of each latent on images that depend on the seed alone."""
        rng = np.random.default_rng([self.spec.seed, 2**32])
        images = self.feed.tensor(self.feed.region.sample(KL_IMAGES, rng), rng)
        self.model.eval()
        q = represent(self.model, images.to(self.device))
        self.model.train()
        if q.logvar is not None:
            per_latent = kl_per_latent(q).tolist()
            self.latents.append({"step": self.step} | {f"latent_{i}": value for i, value in enumerate(per_latent)})

    def _write_tables(self) -> None:
        import pandas as pd

        for name, rows in (("curve", self.curve), ("kl", self.latents)):
            if rows:
                with written_whole(self.run.folder / f"{name}.parquet") as beside:
                    pd.DataFrame(rows).to_parquet(beside, index=False)


def represent(model: nn.Module, images: Tensor, *, batch_size: int = 128) -> Posterior:
    """The code of images in float32, a small batch at a time, which is fastest on CPUs."""
    means, logvars = [], []
    for start in range(0, len(images), batch_size):
        code = cast(Model, model).represent(images[start : start + batch_size])
        q = code if isinstance(code, Posterior) else Posterior(code)
        means.append(q.mean.float())
        if q.logvar is not None:
            logvars.append(q.logvar.float())
    return Posterior(torch.cat(means), torch.cat(logvars) if logvars else None)


def load_model(run: Run, *, data: Path | None = None, world: World | None = None) -> nn.Module:
    """The trained model of a run, in evaluation mode."""
    from safetensors.torch import load_file

    if not run.finished:
        raise UnknotError(f"{run.folder}: is not finished; `unknot train` with the same options goes on.")
    model, _ = build_model(run.spec, world or open_world(run.spec.world, data=data))
    try:
        model.load_state_dict(load_file(run.weights))
    except Exception as error:
        raise UnknotError(f"{run.weights}: does not fit {run.spec.title} ({type(error).__name__}).") from error
    return model.eval()


def _seed(*words: int) -> int:
    """A 63-bit seed from a few numbers, far from that of their neighbours."""
    low, high = np.random.SeedSequence(words).generate_state(2)
    return int(low) | (int(high) & 0x7FFFFFFF) << 32


def _parameters(player: Player) -> list[nn.Parameter]:
    found: list[nn.Parameter] = []
    for module in player.modules:
        found += [module] if isinstance(module, nn.Parameter) else list(module.parameters())
    return [parameter for parameter in found if parameter.requires_grad]


def _channels_last(model: nn.Module) -> nn.Module:
    """Weights of convolutions laid out as images are, which is faster on every device."""
    for parameter in model.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return model


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UnknotError(
            f"device '{name}' cannot be used here ({str(error).splitlines()[0]}); try cpu."
        ) from None
    return device


def _to(batch: Batch, device: torch.device) -> Batch:
    if device.type == "cpu":
        return batch
    moved = {name: value.to(device, non_blocking=True) for name, value in vars(batch).items() if value is not None}
    return Batch(**moved)


@contextmanager
def _locked(run: Run, *, wait: bool) -> Iterator[None]:
    """Only one process works on a run."""
    from filelock import FileLock, Timeout

    lock = FileLock(run.folder / "run.lock")
    try:
        with lock.acquire(timeout=-1 if wait else 0):
            yield
    except Timeout:
        raise UnknotError(
            f"{run.folder}: another process is training this run; wait for it (--wait) or choose another seed."
        ) from None


@contextmanager
def _threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
