"""Latents of a world's rows, encoded once, and kept in a folder if there is one."""

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder
from unknot.encoders.encoding import draw_points, encode_points
from unknot.factors import Classes
from unknot.metrics.inputs import check_latents
from unknot.progress import counted
from unknot.representation import Representation, read_representation
from unknot.worlds.world import World

Latents = NDArray[np.float64]
Tell = Callable[[int, int], None]  # rows done, rows in all
SLOTS = "Slots were laid side by side as one code, in the order they come."
FEW = 16  # rows whose latents stand for the encoder


class Pool:
    """Rows of a whole world through an encoder.

    Args:
        who: the task, for messages.
        encoder: of `opened_encoder`.
        world: opened.
        rows: how many, drawn without replacement, or "all".
        seed: draws them.
        folder: where their latents are kept.
    """

    def __init__(
        self,
        who: str,
        encoder: Encoder,
        world: World,
        rows: int | Literal["all"],
        seed: int,
        folder: Path | None = None,
    ) -> None:
        self._who, self._encoder, self._rows, self._seed, self._folder = who, encoder, rows, seed, folder
        self.world = world
        self.classes = draw_points(world, None, "train", rows, seed)
        self.notes: list[str] = []
        self._latents: Latents | None = None

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The world, the rows and what the encoder makes of a few of them: a function edited since is another one."""
        few = encode_points(self._encoder, self.world, self.classes[:FEW], seed=[self._seed, 0])
        if few.ndim == 3:
            self.notes.append(SLOTS)
        fingerprint = hashlib.sha256(few.tobytes()).hexdigest()[:16]
        return {"world": self.world.name, "rows": self._rows, "seed": self._seed, "fingerprint": fingerprint}

    def latents(self, tell: Tell) -> Latents:
        """(n, d) one for each row of `classes`."""
        if self._latents is None:
            self._latents = self._stored()
        if self._latents is None:
            self._latents = self.encoded(self.classes, 0, tell)
            if self._folder is not None:
                single = self._latents.astype(np.float32)  # which is what an encoder gives
                made = Representation(single, self.classes, self.world.factors.names, source=self.identity)
                made.write(self._path(self._folder))
        return self._latents

    def encoded(self, classes: Classes, part: int, tell: Tell) -> Latents:
        """Latents of other points of the world; another number for each part of a task, as seed of random worlds."""
        codes = encode_points(
            self._encoder,
            self.world,
            classes,
            seed=[self._seed, part],
            progress=counted(tell),
        )
        return check_latents(self._who, codes.reshape(len(codes), -1))

    def _path(self, folder: Path) -> Path:
        return folder / f"latents-{self.identity['fingerprint']}.npz"

    def _stored(self) -> Latents | None:
        if self._folder is None or not self._path(self._folder).is_file():
            return None
        stored = read_representation(self._path(self._folder))
        return check_latents(self._who, stored.latents) if stored.source == self.identity else None
