"""Train a model on a world: `unknot.train(spec)`.

A run killed at any moment goes on from its last checkpoint and ends with the same weights, bit for bit on a CPU, as
one that was never stopped: data and noise of a step depend on the seed and the step alone.
"""

import inspect
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from unknot.errors import UnknotError, why
from unknot.files import file_hash, must_be_ours
from unknot.models import build
from unknot.models.codes import channels_last
from unknot.models.model import Model, Setting
from unknot.models.networks import initialise
from unknot.processes.memory import kept_memory
from unknot.processes.pool import companions
from unknot.processes.threads import MOST, threads_of_torch
from unknot.progress import Progress, silent
from unknot.reading.arguments import checked
from unknot.reading.guard import must_fit
from unknot.runs.batches import Feed
from unknot.runs.meters import Meter, usual_meters
from unknot.runs.pictures import pictures_of
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.team import ALONE, Team, joined, must_be_shareable, place_of
from unknot.runs.trainer import Trainer, main_player, moved_by, seed_of
from unknot.runs.training_world import open_training_world, world_fingerprint
from unknot.worlds import conventions, open_world
from unknot.worlds.splits.named import named_split
from unknot.worlds.splits.split import Split
from unknot.worlds.world import World


@dataclass(frozen=True)
class _Conditions:
    """How a run is trained: nothing of it but the device's rounding decides the weights; see `train`."""

    device: str
    data: Path | None
    checkpoint_every: int
    compiled: bool
    threads: int
    processes: int
    wait: bool
    meters: Sequence[Meter]


@checked
def train(
    spec: RunSpec,
    folder: Path | str = "runs",
    *,
    device: str = "cpu",
    data: Path | None = None,
    checkpoint_every: int = 1000,
    compiled: bool = False,
    threads: int = 1,
    processes: int = 1,
    jobs: int = 1,
    wait: bool = False,
    meters: Sequence[Meter] = (),
    progress: Progress = silent,
) -> Run:
    """Train what the spec says, or go on where an earlier process stopped, or return what is already there.

    Args:
        spec: world, model, options, steps, seed.
        folder: the run's folder is made below this one.
        device: "cpu", "cuda", "mps".
        data: folder of data files.
        checkpoint_every: steps between checkpoints; a killed run loses at most these.
        compiled: use `torch.compile`; pays on GPUs, not on CPUs, and rounds in its own way.
        threads: of torch; one is the fastest on a shared machine.
        processes: that compute one batch together, each its share of the rows; the weights are those of one process
            but for the order of sums. Of GPUs, each process takes one.
        jobs: starts that are trained at a time, in processes of their own, for a spec with `starts`.
        wait: if another process is training this run, wait for it instead of refusing.
        meters: what else is measured while the model trains, such as COAT (`unknot.tasks.algebra.meter`). They
            change nothing in what is trained, so they are no part of the spec; a finished run is not measured again.
        progress: told how far it is when training starts and, with loss terms and speed, every few steps; not if
            there is nothing to train.

    Ctrl-C lets the step end, writes a checkpoint and raises `KeyboardInterrupt` with a message that says so.
    """
    counts = {"checkpoint_every": checkpoint_every, "threads": threads, "processes": processes, "jobs": jobs}
    for name, number in (counts | {f"{meter.name}_every": meter.every for meter in meters}).items():
        if number < 1:
            raise UnknotError(who="train", field=name, value=number, expected="at least 1")
    if processes > MOST:
        raise UnknotError(who="train", field="processes", value=processes, expected=f"at most {MOST}")
    if processes > 1 and compiled:
        raise UnknotError(
            "train: processes cannot share a compiled model; leave out one of the two.", field="processes"
        )
    must_be_ours(
        Path(folder), "collection of runs", ["*"]
    )  # each has a folder of its own, so others may lie beside
    how = _Conditions(device, data, checkpoint_every, compiled, threads, processes, wait, meters)
    return _train(how, spec, Path(folder), jobs=jobs, progress=progress)


def _train(
    how: _Conditions,
    spec: RunSpec,
    folder: Path,
    *,
    until: int | None = None,
    jobs: int = 1,
    progress: Progress = silent,
) -> Run:
    """Train a run, or a start of one, to its end or until a step."""
    place = find_device(how.device)
    if how.processes > 1:
        place = place_of(place, 0)
    world = open_world(spec.world, data=how.data)
    model, spec = build_model(spec, world)
    batches = feed(spec, model, world)
    run = Run.create(
        folder, spec, source=_source(model) + model.load_pretrained(), world_file=world_fingerprint(spec.world)
    )
    if run.finished:
        return run
    with (
        run.locked(wait=how.wait),
        threads_of_torch(how.threads),
        kept_memory(),
        kept_random(place),
    ):
        if run.finished:  # by the process that was waited for
            return run
        if spec.starts:
            from unknot.runs.tournament import hold

            # Starts may have processes of a killed tournament that have not noticed yet.
            hold(run, batches, partial(_train, replace(how, wait=True)), jobs, progress)
        else:
            meters, draw = [*usual_meters(model, batches), *how.meters], pictures_of(run, batches, place)
            with _team(how, run, model, place, until) as team:
                trainer = Trainer(
                    run, model, batches, place, compiled=how.compiled, meters=meters, draw=draw, team=team
                )
                with closing(trainer.batches):
                    trainer.train(how.checkpoint_every, progress, until=until)
    return run


@contextmanager
def _team(how: _Conditions, run: Run, model: Model, place: torch.device, until: int | None) -> Iterator[Team]:
    """The processes that train a run, this one first."""
    if how.processes == 1:
        yield ALONE
        return
    must_be_shareable(model, run.spec.model, how.processes, run.spec.batch_size, place)
    with TemporaryDirectory() as folder:
        meeting = Path(folder) / "meeting"
        shared = replace(how, meters=()), run.folder, meeting, until
        with companions(_follow, shared, how.processes - 1) as all_run:
            while len(list(meeting.parent.iterdir())) < how.processes - 1:
                if not all_run():
                    raise UnknotError("train: a process of this run ended before its first step; see above why.")
                time.sleep(0.02)
            with joined(0, how.processes, meeting, place) as team:
                yield team


def _follow(shared: tuple[_Conditions, Path, Path, int | None], rank: int) -> None:
    """In a process of its own: compute a share of every step that the leading process takes."""
    how, folder, meeting, until = shared
    run, place = Run(folder), place_of(find_device(how.device), rank)
    world = open_training_world(run, data=how.data)
    model, spec = build_model(run.spec, world)
    model.load_pretrained()
    (meeting.parent / str(rank)).touch()  # ready
    with threads_of_torch(how.threads), kept_memory(), joined(rank, how.processes, meeting, place) as team:
        trainer = Trainer(run, model, feed(spec, model, world), place, team=team)
        with closing(trainer.batches):
            trainer.follow(until)


def kept_random(place: torch.device) -> AbstractContextManager[None]:
    """Put the random numbers of the program around a training back after it, those of its GPU too."""
    return torch.random.fork_rng(devices=[place] if place.type == "cuda" else [])


def build_model(spec: RunSpec, world: World) -> tuple[Model, RunSpec]:
    """The model of a spec with freshly drawn weights, and the spec with all options filled in."""
    height, width, channels = world.image_shape
    pixels = spec.image_size or height
    if spec.image_size is None and height != width:
        raise UnknotError(
            f"{world.name}: images are {height} x {width}; set image_size, which resizes them.", field="image_size"
        )
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
    seed = seed_of(spec.seed, 0, 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # for parts that `initialise` does not know, such as embeddings
        try:
            model, options = build(spec.model, setting, spec.options)
        except UnknotError as error:
            if error.field != ("image_size",):
                raise
            raise UnknotError(f"{world.name}: {error}", field=error.field) from None
    initialise(model, spec.init, torch.Generator().manual_seed(seed))
    if spec.pairs and model.supervision != "pairs":
        raise UnknotError(
            f"{spec.model}: does not learn from pairs; leave out pairs ('{spec.pairs}').", field="pairs"
        )
    law = spec.pairs or model.pairs
    return model, spec.replace(options=options, pairs=law)


def training_split(spec: RunSpec, world: World) -> Split | None:
    """The split a spec trains inside, if any."""
    if not spec.split:
        return None
    try:
        return named_split(spec.split, world.factors, conventions(world.key).rule)
    except UnknotError as error:
        raise error.within("split") from None


def feed(spec: RunSpec, model: Model, world: World) -> Feed:
    """The batches of a run."""
    return Feed(
        world=world,
        batch_size=spec.batch_size,
        seed=spec.seed,
        split=training_split(spec, world),
        supervision=model.supervision,
        pairs=spec.pairs or "one_factor",
        still=conventions(world.key).still,
        n_labelled=model.n_labelled,
        wants_other=model.wants_other,
        image_size=spec.image_size,
    )


def _region_size(spec: RunSpec, world: World) -> int:
    part = training_split(spec, world)
    if world.rows is not None:
        return len(world.rows) if part is None else int(part.rows(world.rows).sum())
    return part.n_train if part is not None else world.factors.size


def must_be_finished(run: Run) -> None:
    """An error if a run is still to be trained."""
    if not run.finished:
        raise UnknotError(
            f"{run.folder}: is not finished; `unknot train` with the same options goes on, unless it diverged."
        )


def load_model(run: Run, *, data: Path | None = None, world: World | None = None) -> Model:
    """The trained model of a run, in evaluation mode."""
    from safetensors.torch import load_file

    must_be_finished(run)
    world = world or open_training_world(run, data=data)
    try:
        model, _ = build_model(run.spec, world)
    except UnknotError as error:
        raise UnknotError(f"{run.folder / 'run.json'}: {error}{run.newer}", field=error.field) from None
    must_fit(run.weights, run.weights.stat().st_size)
    try:
        weights = load_file(run.weights)
        model.load_state_dict(adversaries(model) | weights)
    except Exception as error:
        raise UnknotError(
            f"{run.weights}: does not fit {run.spec.title} ({why(error, -1)}); move it away and train the run "
            f"again.{run.newer}"
        ) from error
    return channels_last(model.eval())


def adversaries(model: Model) -> dict[str, torch.Tensor]:
    """The weights of players that only training needs, as they were drawn: the runs of the zoo do without."""
    players = model.players()
    own = main_player(model, players)
    spare = {id(weight) for i, player in enumerate(players) if i != own for weight in moved_by(player)}
    return {name: weight for name, weight in model.named_parameters() if id(weight) in spare}


def _source(model: Model) -> str:
    """A hash of the file that anyone's own model is written in, where there is one."""
    if type(model).__module__.startswith("unknot."):
        return ""
    try:
        return file_hash(inspect.getfile(type(model)), 12)
    except (OSError, TypeError):
        return ""


def find_device(name: str) -> torch.device:
    """A device torch can use here, or the error that says why not."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # which meta, a device without numbers, refuses
    except (RuntimeError, AssertionError, ValueError) as error:
        raise UnknotError(f"device '{name}' cannot be used here ({why(error)}); try cpu.") from None
    return device
