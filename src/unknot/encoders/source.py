"""What the user handed over: a run, a spec to train by, a file of latents, a representation, an encoder, a name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import (
    AS_USUAL,
    Encoder,
    Opening,
    Shape,
    as_path,
    find_encoder,
    model_encode,
    must_fit,
    run_record,
)
from unknot.encoders.points import encode_points
from unknot.errors import UnknotError, extras
from unknot.factors import Classes, FactorSpace
from unknot.files import array_hash, json_hash
from unknot.progress import Progress, silent
from unknot.reading.arrays import as_array
from unknot.representation import Representation, read_representation
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training_world import open_training_world, trained_on, world_fingerprint
from unknot.worlds.catalogue import WORLDS, conventions, open_world, recorded_name
from unknot.worlds.entry import Conventions
from unknot.worlds.world import KeylessWorld, World, as_world

if TYPE_CHECKING:
    import torch

    from unknot.models.model import Model

FEW = 16  # images whose codes stand for an encoder that cannot be told from another by its weights
WITH_WEIGHTS = ("timm", "hf")  # kinds of encoders whose record says which weights they have


class Own(Protocol):
    """What one task alone can read, such as codes of the images that only it shows."""

    @property
    def label(self) -> str:
        """What results call it."""

    @property
    def record(self) -> Mapping[str, Any]:
        """What results say about it, as plain values."""

    @property
    def fingerprint(self) -> str:
        """What another one would not have."""


Reads = Callable[[Any], Own | None]  # what a task makes of its own kinds of sources; None for all others


@dataclass(eq=False)
class Source:
    """Something that has latents, or will have, and the world its images come from; files are read when asked for.

    Attributes:
        which: a run or its folder, a `RunSpec` to train by, a representation or its file, a function, a module, or a
            name such as `package.module:function` or `timm:NAME`; None for a world alone.
        chosen_world: a world or its name; left out, it is the one a run was trained on or that latents say they come
            from.
        opening: how encoders and worlds are opened.
        who: for messages.
        reads: recognises what one task alone can read, before anything else is tried.
        own: what the task alone can read, if it is that.
        run: the run it is, if it is one.
        spec: what it will be trained by, or was.
    """

    which: Any
    chosen_world: KeylessWorld | Path | str | None = None
    opening: Opening = AS_USUAL
    who: str = "encode"
    reads: Reads = lambda which: None

    def __post_init__(self) -> None:
        which, path = self.which, as_path(self.which)
        if not isinstance(self.chosen_world, str | Path | None):
            as_world(self.chosen_world)  # refuses what is none
        self.own = self.reads(which)
        self._path = path if self.own is None else None
        folder = self._path if self._path is not None and self._path.is_dir() else None
        self.run = which if isinstance(which, Run) else None if folder is None else Run(folder)
        self.spec = self.run.spec if self.run is not None else which if isinstance(which, RunSpec) else None
        self._encoders: dict[Shape, Encoder] = {}

    @classmethod
    def of(
        cls, which: Any, world: KeylessWorld | Path | str | None = None, opening: Opening = AS_USUAL, **more: Any
    ) -> "Source":
        """The source that was handed over, or one of what was; `more` are `who` and `reads`."""
        return which if isinstance(which, cls) else cls(which, world, opening, **more)

    @property
    def nothing(self) -> bool:
        """Whether it is a world alone."""
        return self.which is None

    @property
    def untrained(self) -> bool:
        """Whether it is a spec that nothing was trained by yet."""
        return self.spec is not None and self.run is None

    @cached_property
    def representation(self) -> Representation | None:
        """The latents it is, if it is latents."""
        if isinstance(self.which, Representation):
            return self.which
        return None if self._path is None or self.run is not None else read_representation(self._path)

    @cached_property
    def world_name(self) -> str:
        """The name of its world in records and results; empty if nobody knows."""
        if self.chosen_world is not None:
            return recorded_name(self.chosen_world)
        if self.spec is not None:
            return self.spec.world
        return str(self.representation.source.get("world", "")) if self.representation is not None else ""

    @cached_property
    def world(self) -> World:
        """Where its images come from, opened."""
        if self.chosen_world is None and self.run is not None:
            return self.home
        if not self.world_name:
            raise UnknotError(
                f"{self.who}: needs a world; name one, such as dsprites_rendered (--world on the command line).",
                field="world",
            )
        return open_world(self.chosen_world or self.world_name, data=self.opening.data)

    @property
    def known_factors(self) -> FactorSpace | None:
        """The factors of its world as far as they are known without its files."""
        if self.chosen_world is not None and not isinstance(self.chosen_world, str | Path):
            return self.chosen_world.factors
        return WORLDS[self.world_name].factors if self.world_name in WORLDS else None

    @property
    def conventions(self) -> Conventions:
        """What papers fixed for its world, as far as that is known without its files."""
        known = self.representation is not None or self.world_name in WORLDS
        return conventions(self.world_name if known else self.world.key)

    @cached_property
    def home(self) -> World:
        """The world a run was trained on, also where its file is at another place by now."""
        run, chosen = cast(Run, self.run), self.chosen_world
        if isinstance(chosen, str | Path) and trained_on(run, str(chosen)):
            return self.world
        return open_training_world(run, data=self.opening.data)

    @property
    def encoder(self) -> Encoder:
        """What turns images of its world into codes."""
        return self.encoder_of(self.world.image_shape)

    def encoder_of(self, shape: Shape) -> Encoder:
        """What turns images of a shape, not necessarily those of its world, into codes."""
        if self.representation is not None:
            raise UnknotError(
                f"{self.who}: {self.label} holds latents, and there are images to encode; give the folder of a run, a "
                "function, timm:NAME or hf:NAME."
            )
        if shape not in self._encoders:
            run = self.run
            self._encoders[shape] = (
                find_encoder(self.which, shape, self.opening) if run is None else self._run_encoder(run, shape)
            )
        return self._encoders[shape]

    def _run_encoder(self, run: Run, shape: Shape) -> Encoder:
        must_fit(str(run.folder), run.spec, self.home.image_shape, shape)
        self.opening.must_leave_images()
        self.opening.must_leave_codes()
        function = model_encode(self.model, run.spec.image_size, self.device)
        return Encoder(run.folder.name, function, self.record)

    @cached_property
    def device(self) -> "torch.device":
        """Where its model is."""
        from unknot.runs.training import find_device

        return find_device(self.opening.device)

    @cached_property
    def model(self) -> "Model":
        """The trained model of a run, loaded once."""
        run = cast(Run, self.run)
        with extras(f"{run.folder}: a run"):
            from unknot.runs.training import load_model
        return load_model(run, world=self.home).to(self.device)

    @cached_property
    def label(self) -> str:
        """What results call it."""
        if self.own is not None:
            return self.own.label
        if self.spec is not None:
            return self.spec.label
        if self.representation is not None:
            return str(self._path or self.record.get("title", "latents"))
        return "" if self.nothing else str(self.record.get("title", self._opened.name))

    @property
    def module(self) -> Any:
        """The module of torch that it is; None if it is none."""
        return self._opened.module

    @property
    def _opened(self) -> Encoder:
        return next(iter(self._encoders.values()), None) or self.encoder

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What results say about it, as plain values."""
        if self.own is not None:
            return self.own.record
        if self.run is not None:
            return run_record(self.run)
        if self.representation is not None:
            encoder = self.representation.source.get("encoder")
            return dict(encoder) if isinstance(encoder, Mapping) else {}  # anyone may have written the file
        return {} if self.nothing or self.untrained else dict(self._opened.record)

    @cached_property
    def fingerprint(self) -> str:
        """What other codes would not have: of weights, of latents, or of the codes of a few images of its world.

        And of somebody's own file of images, in whose place there may be another one later.
        """

        def codes() -> NDArray[Any]:
            few = np.linspace(0, self.world.factors.size - 1, FEW).astype(np.int64)
            classes = self.world.factors.classes(few) if self.world.rows is None else self.world.rows[:FEW]
            return self.latents(classes, seed=[0, 0])

        its, file = self.fingerprint_by(codes), world_fingerprint(self.world_name) if self.world_name else ""
        return json_hash([its, file], 16) if file else its

    def fingerprint_by(self, codes: Callable[[], NDArray[Any]]) -> str:
        """The same for a task that has images of its own.

        Codes are rounded, so that a machine that computes in another order takes them for the same. Modules of torch
        are told apart by their weights too, since what is rounded away may be all that changed.

        Args:
            codes: those of `FEW` images, called where nothing else tells the encoder from another.
        """
        if self.own is not None:
            return self.own.fingerprint
        if self.representation is not None:
            rows = self.representation
            parts = (rows.latents, rows.factors, rows.latents_test, rows.factors_test)
            return array_hash(*(as_array(part, self.who) for part in parts if part is not None))
        if self.record.get("kind") == "run":
            return str(self.record["weights"])
        if not self.record or self.record.get("kind") in WITH_WEIGHTS:
            return json_hash(self.record, 16)
        few = codes()
        scale = float(f"{few.std():.2g}") or 1.0
        seen = array_hash(np.round(few / scale, 2) + 0.0, np.array(scale))
        return seen if self.module is None else json_hash([seen, _weights_hash(self.module)], 16)

    def latents(
        self, classes: Classes, *, seed: Sequence[int] = (0,), progress: Progress = silent
    ) -> NDArray[np.float32]:
        """Codes of chosen points of its world, one for each row of classes; see `encode_points`."""
        return encode_points(self.encoder, self.world, classes, seed=seed, progress=progress)[0]


def _weights_hash(module: Any) -> str:
    """What tells a module of torch from others of its kind; weights that are no plain numbers are left to its codes."""
    import torch

    tensors = [value for value in module.state_dict().values() if isinstance(value, torch.Tensor)]
    plain = [value for value in tensors if value.layout is torch.strided and not value.is_quantized]
    return array_hash(*(value.cpu().reshape(-1).contiguous().view(torch.uint8).numpy() for value in plain))
