"""One trained model on disk: a folder, and everything in it.

A run's folder is named by the hash of its spec, so the same spec is never trained twice:

    run.json             the spec, and what it ran on
    weights.safetensors  the trained weights
    checkpoint.pt        where to go on from, until the run is finished
    curve.parquet        loss terms over steps
    kl.parquet           KL of each latent over steps, for models that have one
    starts.parquet       the starts of a tournament, with their UDR; starts/ holds them until one has won
    segmentation.parquet FG-ARI and ARI over steps, for models of objects on worlds that know theirs
    coat.parquet         COAT over steps, where training was given a corpus
    time.json            how fast it was trained, if a study trained it
    latents.npz          the representation, once it is encoded; latents-*.npz are of other rows
    scores.json          scores of latents.npz; scores-*.json are of other latents, or with other settings
    pictures/            reconstructions, traversals, and a Hinton diagram once it is encoded
    tasks/               results of tasks a study put it to; those of `unknot task` are in tasks/by_hand/

Names of files are spelled here alone. What is in them is the business of those who make it.
"""

import json
import math
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unknot import __version__
from unknot.errors import UnknotError
from unknot.examples import located
from unknot.files import file_hash, read_json, remove_parts, write_json, write_parquet
from unknot.processes.lock import HeldError, forget_killed, held
from unknot.processes.trust import read_from
from unknot.reading.arguments import must_be
from unknot.reading.guard import load_json
from unknot.reading.tables import read_parquet
from unknot.reading.versions import newer
from unknot.runs.spec import RunSpec

PICTURES = {  # what is drawn of a run -> its file in pictures/
    "reconstructions": "reconstructions.png",
    "traversals": "traversals.png",
    "film": "traversals.gif",
    "slots": "slots.png",
    "hinton": "hinton.png",
}


class RunBusyError(UnknotError):
    """Another process is training this run."""


class Run:
    """A run's folder."""

    def __init__(self, folder: Path | str) -> None:
        must_be("run", "folder", folder, Path | str)
        self.folder = located(folder)
        if not self.begun:
            encoder = f" Encoders are named by --encoder: `unknot encode --encoder {folder} -o latents.npz`."
            raise UnknotError(
                f"{folder}: is not a run; it has no run.json. `unknot train` makes one."
                + encoder * (":" in self.folder.name)
            )

    @classmethod
    def at(cls, folder: Path | str) -> "Run":
        """The run in a folder, which may hold none, or none yet: `begun` tells."""
        run = cls.__new__(cls)
        run.folder = located(folder)
        return run

    @classmethod
    def inside(cls, folder: Path | str) -> list["Run"]:
        """The runs whose folders are in a folder, by name."""
        return [cls(path.parent) for path in sorted(Path(folder).glob("*/run.json"))]

    @classmethod
    def create(cls, parent: Path | str, spec: RunSpec, *, source: str = "", world_file: str = "") -> "Run":
        """The folder of a spec below `parent`, new or from before.

        Args:
            parent: made if need be.
            spec: the run's.
            source: a hash of the file of anyone's own model, which is not part of the spec.
            world_file: the fingerprint of anyone's own file of images, which is not part of the spec either.
        """
        run = cls.at(Path(parent) / spec.id)
        if not run.begun:
            about = {"id": spec.id, "title": spec.title, "source": source, "world_file": world_file}
            write_json(run.folder / "run.json", {"spec": spec.model_dump(), **about, **_circumstances()})
        if run.spec != spec:
            raise UnknotError(f"{run.folder}: holds another spec ({run.spec.title}); move it away.")
        if source != run.record.get("source", ""):
            raise UnknotError(
                f"{run.folder}: the file of {spec.model} has changed since this run was started, and going on would "
                "mix the two; undo the change, or move the folder away to train anew."
            )
        run.must_match_world(world_file)
        return run

    @property
    def begun(self) -> bool:
        """Whether the folder is that of a run."""
        return (self.folder / "run.json").is_file()

    @property
    def world_file(self) -> str:
        """The fingerprint of the file of images it was trained on; empty for named worlds and for older runs."""
        return str(self.record.get("world_file", ""))

    def must_match_world(self, fingerprint: str) -> None:
        """An error if the file of images is another by now than when training began; what is not known passes."""
        if fingerprint and self.world_file and fingerprint != self.world_file:
            raise UnknotError(
                f"{self.folder}: {self.spec.world} has changed since this run was started, and its results would mix "
                "the two; undo the change, or move the folder away to train anew."
            )

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Let only one process work on the run; a killed one lets go of it."""
        with ExitStack() as stack:
            try:
                stack.enter_context(held(self.folder / "run.lock", patience=math.inf if wait else 0.0))
            except HeldError as busy:
                raise RunBusyError(
                    f"{self.folder}: {busy.holder} is training this run; wait for it (--wait) or choose another seed."
                    f"{busy.holder.hint}"
                ) from None
            except OSError as error:
                raise UnknotError(f"{self.folder}: cannot be written ({error.strerror or error}).") from error
            yield

    def remove_parts(self) -> None:
        """Remove what processes killed while writing left in the folder, if nobody else writes to it now."""
        forget_killed(self.folder / "run.lock")
        for folder in (self.folder, self.pictures, self.folder / "tasks"):
            remove_parts(folder)

    @cached_property
    def spec(self) -> RunSpec:
        """What decides its weights."""
        try:
            spec = RunSpec(**self.record["spec"])
        except UnknotError as error:
            raise self._unreadable(error, self.record) from None
        read_from(self.folder / "run.json", [spec.model])
        return spec

    @cached_property
    def record(self) -> dict[str, Any]:
        """run.json."""
        record: Any = None
        try:
            record = load_json(self.folder / "run.json")
            dict(**record["spec"])["world"]
        except (UnknotError, ValueError, KeyError, TypeError) as error:
            raise self._unreadable(error, record) from None
        return dict(record)

    @property
    def newer(self) -> str:
        """A sentence for errors, if a newer version of Unknot began the run; else nothing."""
        return newer(self.record)

    def note(self, **facts: Any) -> None:
        """Add facts to run.json."""
        self.record.update(facts)
        write_json(self.folder / "run.json", self.record)

    def _unreadable(self, error: Exception, record: Any) -> UnknotError:
        if by_whom := newer(record):
            return UnknotError(f"{self.folder / 'run.json'}: cannot be read ({error}).{by_whom}")
        return UnknotError(
            f"{self.folder / 'run.json'}: is damaged ({error}); move that file away and train again with the same "
            "options: it is written anew, and the rest of the folder is kept."
        )

    @property
    def weights(self) -> Path:
        """The trained weights."""
        return self.folder / "weights.safetensors"

    @property
    def weights_hash(self) -> str:
        """What tells these weights from others."""
        return file_hash(self.weights)

    @property
    def checkpoint(self) -> Path:
        """The state of training after its latest checkpoint."""
        return self.folder / "checkpoint.pt"

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return self.weights.is_file()

    def curve(self) -> Any:
        """Loss terms over steps, as a pandas table."""
        return self.table("curve")

    @property
    def reconstruction_error(self) -> float:
        """The reconstruction term at the end of training; NaN if its model has none."""
        if not (self.folder / "curve.parquet").is_file() or "reconstruction" not in (curve := self.curve()):
            return math.nan
        return float(curve["reconstruction"].iloc[-1]) if len(curve) else math.nan

    def kl(self) -> Any:
        """KL of each latent over steps, as a pandas table."""
        return self.table("kl")

    def starts(self) -> Any:
        """The starts of a tournament, as a pandas table: seed, UDR, informative latents, and whether it was kept."""
        return self.table("starts")

    def segmentation(self) -> Any:
        """FG-ARI and ARI of masks over steps, as a pandas table."""
        return self.table("segmentation")

    def coat(self) -> Any:
        """COAT over steps, as a pandas table, with the names and numbers that `unknot task algebra` gives."""
        return self.table("coat")

    def table(self, name: str) -> Any:
        """What was measured over steps under this name, as a pandas table."""
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise UnknotError(f"{self.folder}: has no {path.name} yet.")
        return read_parquet(path, numbers=True)

    def write_table(self, name: str, rows: Sequence[Mapping[str, float]]) -> None:
        """Write what was measured over steps."""
        import pandas as pd

        write_parquet(self.folder / f"{name}.parquet", pd.DataFrame(list(rows)))

    @property
    def minutes(self) -> float:
        """How long all of its training takes at the speed it was last trained with; NaN if that is not known."""
        return self.minutes_of(self.updates) if self.begun else math.nan

    @property
    def updates(self) -> int:
        """Steps of all its starts together, of which there are more than planned where they were begun again."""
        return self.updates_of(self.spec)

    def updates_of(self, spec: RunSpec) -> int:
        """The same by a spec that is known without run.json; as planned where the table of starts is not there."""
        try:
            return spec.replace(starts=len(self.starts())).updates if spec.starts else spec.updates
        except UnknotError:
            return spec.updates

    def minutes_of(self, steps: int) -> float:
        """How long so many steps take at that speed."""
        took = read_json(self.folder / "time.json")
        try:
            return float(took["seconds"]) / int(took["steps"]) * steps / 60
        except (ValueError, KeyError, TypeError, ArithmeticError):
            return math.nan

    def keep_speed(self, seconds: float, steps: int) -> None:
        """Write how long so many steps took."""
        write_json(self.folder / "time.json", {"seconds": seconds, "steps": steps})

    @property
    def latents(self) -> Path:
        """The representation, once it is encoded."""
        return self.latents_of()

    def latents_of(self, *words: str) -> Path:
        """The file of latents of other rows, which these words tell from the others."""
        return self.folder / ("-".join(("latents", *words)) + ".npz")

    def latents_source(self) -> dict[str, Any] | None:
        """How `latents` were made; None without them, or if they cannot be read."""
        from unknot.reading import npz

        try:
            source = json.loads(str(npz.load(self.latents, ["source"])["source"]))
        except (UnknotError, KeyError, ValueError, RecursionError):  # which all mean: encode it again
            return None
        return source if isinstance(source, dict) and isinstance(source.get("encoder", {}), dict) else None

    def scores_of(self, latents: Path, setting: str = "") -> Path:
        """The file of the scores of one of its files of latents.

        Args:
            latents: in its folder.
            setting: a word for what these scores have of their own, such as a seed.
        """
        words = ["scores" + latents.stem.removeprefix("latents"), *filter(None, [setting])]
        return self.folder / ("-".join(words) + ".json")

    @property
    def scores(self) -> list[Path]:
        """The files of scores there are, those of `latents` first."""
        first, others = self.scores_of(self.latents), sorted(self.folder.glob("scores-*.json"))
        return [path for path in (first, *others) if path.is_file()]

    @property
    def pictures(self) -> Path:
        """The folder of its pictures."""
        return self.folder / "pictures"

    def picture(self, name: str) -> Path:
        """The file of one of PICTURES."""
        return self.pictures / PICTURES[name]

    def result_of(self, task: str, key: str, *, by_hand: bool = False) -> Path:
        """The file of the result of a task.

        Args:
            task: its name.
            key: what tells its settings from others.
            by_hand: whether nobody but a user asked for it; a study removes its own results when they are outdated.
        """
        return self._results(by_hand) / f"{task}-{key}.json"

    def results(self, task: str = "", *, by_hand: bool = False) -> list[Path]:
        """The files of results of a task, or of all tasks, by name: those of a study, or those made by hand."""
        return sorted(self._results(by_hand).glob(f"{task}-*.json" if task else "*.json"))

    def _results(self, by_hand: bool) -> Path:
        return self.folder / "tasks" / "by_hand" if by_hand else self.folder / "tasks"


def _circumstances() -> dict[str, Any]:
    """What the run ran on: nothing of it decides the weights, but it may explain them."""
    versions = {"python": platform.python_version(), "unknot": __version__}
    for name in ("numpy", "torch"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = ""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions,
        "host": {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()},
        "git": _git_revision(),
    }


def _git_revision() -> str:
    """The revision of the code the run was started from, if that is a git checkout."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
