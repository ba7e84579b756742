"""One trained model on disk: what was asked for, the weights, the curve.

A run's folder is named by the hash of its spec, so the same spec is never trained twice:

    run.json             the spec, and what it ran on
    weights.safetensors  the trained weights
    checkpoint.pt        where to go on from, until the run is finished
    curve.parquet        loss terms over steps
    kl.parquet           KL of each latent over steps, for models that have one
    segmentation.parquet FG-ARI and ARI over steps, for models of objects on worlds that know theirs
    coat.parquet         COAT over steps, where training was given a corpus
    latents.npz          the representation, once it is encoded
    pictures/            reconstructions, traversals, and a Hinton diagram once it is encoded
    tasks/               results of tasks it was put to
"""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from unknot import __version__
from unknot.errors import UnknotError, unknown
from unknot.files import written_whole

FEW = 3  # options that fit the head of a table
Option = bool | int | Annotated[float, Field(allow_inf_nan=False)] | str


class RunBusyError(UnknotError):
    """Another process is training this run."""


class RunSpec(BaseModel):
    """Everything that decides the weights of a run: plain values, frozen, the same as JSON and back.

    >>> spec = RunSpec(world="dsprites_rendered", options={"beta": 4.0}, steps=1000)
    >>> spec.title, spec.id
    ('beta_vae (beta 4.0) on dsprites_rendered, seed 0', '1dcd80baaebc')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str
    model: str = "beta_vae"
    options: dict[str, Option] = Field(default_factory=dict)
    latents: int = Field(10, ge=1)
    architecture: str = "conv64"
    decoder: Literal["bernoulli", "gaussian"] = "bernoulli"
    init: Literal["glorot", "torch"] = "glorot"
    steps: int = Field(300_000, ge=1)
    batch_size: int = Field(64, ge=2)
    lr: float = Field(1e-4, gt=0, allow_inf_nan=False)
    precision: Literal["float32", "bfloat16"] = "float32"
    image_size: int | None = Field(None, ge=8)
    split: str = ""
    pairs: str = ""
    seed: int = Field(0, ge=0)

    def __init__(self, **fields: Any) -> None:
        for name in fields:
            if name not in type(self).model_fields:
                raise unknown("field of a run", name, type(self).model_fields, field=name)
        if isinstance(fields.get("split"), str) and ":" in fields["split"]:
            from unknot.worlds.splits.named import (
                canonical_split,  # here, so that a run needs no worlds to be read
            )

            try:
                fields["split"] = canonical_split(fields["split"])
            except UnknotError as error:
                raise error.within("split") from None
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _first_fault(error) from None

    @property
    def id(self) -> str:
        """A short hash of the spec; the run's folder is called so."""
        text = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def title(self) -> str:
        """The spec in a few words."""
        options = ", ".join(f"{name} {value}" for name, value in sorted(self.options.items()))
        split = f", {self.split} split" if self.split else ""
        return f"{self.model}{f' ({options})' if options else ''} on {self.world}{split}, seed {self.seed}"

    @property
    def label(self) -> str:
        """The spec in fewer words, for heads of tables: the model, its options if they are few, and the seed.

        >>> RunSpec(world="dsprites_rendered", steps=10, options={"beta": 4.0}).label
        'beta_vae, beta 4, seed 0'
        """
        options = [
            f"{name} {f'{value:g}' if isinstance(value, float) else value}" for name, value in self.options.items()
        ]
        return ", ".join([self.model, *(options if len(options) <= FEW else []), f"seed {self.seed}"])

    def replace(self, **changes: Any) -> "RunSpec":
        """The spec with some fields changed, validated again."""
        return RunSpec(**{**self.model_dump(), **changes})


def _first_fault(error: ValidationError) -> UnknotError:
    """The error of a field, with its value and what was expected."""
    first = error.errors()[0]
    field = first["loc"][:2]  # below that are the types a value was tried as
    value, name = first["input"], ".".join(map(str, field))
    if first["type"] == "missing":
        return UnknotError(f"run: {name} is missing.", who="run", field=field)
    an_option = field[0] == "options" and len(field) > 1
    expected = "expected a finite number, a word, true or false" if an_option else first["msg"].lower()
    return UnknotError(f"run: {name} is {value!r}; {expected}.", who="run", field=field, value=value)


class Run:
    """A run's folder."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "run.json").is_file():
            raise UnknotError(f"{folder}: is not a run; it has no run.json. `unknot train` makes one.")

    @classmethod
    def create(cls, parent: Path | str, spec: RunSpec, *, source: str = "", world_file: str = "") -> "Run":
        """The folder of a spec below `parent`, new or from before.

        Args:
            parent: made if need be.
            spec: the run's.
            source: a hash of the file of anyone's own model, which is not part of the spec.
            world_file: the fingerprint of anyone's own file of images, which is not part of the spec either.
        """
        folder = Path(parent) / spec.id
        if not (folder / "run.json").exists():
            about = {"id": spec.id, "title": spec.title, "source": source, "world_file": world_file}
            record = {"spec": spec.model_dump(), **about, **_circumstances()}
            with written_whole(folder / "run.json") as beside:
                beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        run = cls(folder)
        if run.spec != spec:
            raise UnknotError(f"{folder}: holds another spec ({run.spec.title}); move it away.")
        if source != run.record.get("source", ""):
            raise UnknotError(
                f"{folder}: the file of {spec.model} has changed since this run was started, and going on would mix "
                "the two; undo the change, or move the folder away to train anew."
            )
        run.must_match_world(world_file)
        return run

    @property
    def world_file(self) -> str:
        """The fingerprint of the file of images it was trained on; empty for named worlds and for older runs."""
        return str(self.record.get("world_file", ""))

    def must_match_world(self, found: str) -> None:
        """An error if the file of images is another by now than when training began; what is not known passes."""
        if found and self.world_file and found != self.world_file:
            raise UnknotError(
                f"{self.folder}: {self.spec.world} has changed since this run was started, and its results would mix "
                "the two; undo the change, or move the folder away to train anew."
            )

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Let only one process work on the run; a killed one lets go of it."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / "run.lock")
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            raise RunBusyError(
                f"{self.folder}: another process is training this run; wait for it (--wait) or choose another seed."
            ) from None
        except OSError as error:
            raise UnknotError(f"{self.folder}: cannot be written ({error.strerror or error}).") from error
        try:
            yield
        finally:
            lock.release()

    @cached_property
    def spec(self) -> RunSpec:
        """What was asked for."""
        try:
            return RunSpec(**self.record["spec"])
        except UnknotError as error:
            raise self._damaged(error) from None

    @cached_property
    def record(self) -> dict[str, Any]:
        """run.json."""
        try:
            record: dict[str, Any] = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
            record["spec"]["world"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from None
        return record

    def note(self, **facts: Any) -> None:
        """Add facts to run.json."""
        self.record.update(facts)
        with written_whole(self.folder / "run.json") as beside:
            beside.write_text(json.dumps(self.record, indent=1) + "\n", encoding="utf-8")

    def _damaged(self, error: Exception) -> UnknotError:
        return UnknotError(
            f"{self.folder / 'run.json'}: is damaged ({error}); move that file away and train again with the same "
            "options: it is written anew, and the rest of the folder is kept."
        )

    @property
    def weights(self) -> Path:
        """The trained weights."""
        return self.folder / "weights.safetensors"

    @property
    def checkpoint(self) -> Path:
        """Where to go on from."""
        return self.folder / "checkpoint.pt"

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return self.weights.is_file()

    def curve(self) -> Any:
        """Loss terms over steps, as a pandas table."""
        return self._table("curve")

    def kl(self) -> Any:
        """KL of each latent over steps, as a pandas table."""
        return self._table("kl")

    def segmentation(self) -> Any:
        """FG-ARI and ARI of masks over steps, as a pandas table."""
        return self._table("segmentation")

    def coat(self) -> Any:
        """COAT over steps, as a pandas table, with the names and numbers that `unknot task algebra` gives."""
        return self._table("coat")

    def _table(self, name: str) -> Any:
        import pandas as pd

        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise UnknotError(f"{self.folder}: has no {path.name} yet.")
        return pd.read_parquet(path)


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
