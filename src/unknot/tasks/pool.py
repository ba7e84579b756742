"""Latents of a world's rows, encoded once, and kept in a workspace."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import draw_points
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.factors import Classes
from unknot.metrics.latents import check_latents
from unknot.progress import Progress
from unknot.reading.arrays import as_array
from unknot.representation import Representation
from unknot.runs.workspace import ARRAYS, Workspace

Latents = NDArray[np.float64]
SLOTS = "Slots were laid side by side as one code, in the order they come."


def all_rows(who: str, representation: Representation, why: str) -> tuple[Latents, NDArray[Any]]:
    """Latents, slots laid side by side, and factors of a representation; test rows are rows like the others.

    It must have factors; `why` ends the message if it has none.
    """
    if representation.factors is None:
        raise UnknotError(f"{who}: the representation has no factors{why}")
    flat = representation.flattened()
    parts = [(flat.latents, representation.factors)]
    if flat.latents_test is not None and flat.factors_test is not None:
        parts.append((flat.latents_test, flat.factors_test))
    latents, factors = zip(*parts, strict=True)
    return check_latents(who, np.concatenate([as_array(rows, who) for rows in latents])), np.concatenate(factors)


class Pool:
    """Rows of a whole world through an encoder: so many, drawn without replacement, or "all".

    A workspace keeps their latents; messages name the task, `who`.
    """

    def __init__(
        self, who: str, source: Source, rows: int | Literal["all"], seed: int, workspace: Workspace
    ) -> None:
        self._who, self.source, self._rows, self._seed, self._workspace = who, source, rows, seed, workspace
        self.world = source.world
        self.classes = draw_points(self.world, None, "train", rows, seed)
        self.notes: list[str] = []

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The world, the rows, and what the encoder makes of them."""
        fingerprint = self.source.fingerprint
        return {"world": self.world.name, "rows": self._rows, "seed": self._seed, "fingerprint": fingerprint}

    def latents(self, progress: Progress) -> Latents:
        """(n, d) one for each row of `classes`."""

        def encoded() -> dict[str, NDArray[Any]]:
            return {"latents": self.source.latents(self.classes, seed=[self._seed, 0], progress=progress)}

        return self._flat(self._workspace.kept("latents", self.identity, encoded, ARRAYS)["latents"])

    def encoded(self, classes: Classes, part: int, progress: Progress) -> Latents:
        """Latents of other points of the world; another number for each part of a task, as seed of random worlds."""
        return self._flat(self.source.latents(classes, seed=[self._seed, part], progress=progress))

    def _flat(self, codes: NDArray[Any]) -> Latents:
        if codes.ndim == 3 and SLOTS not in self.notes:
            self.notes.append(SLOTS)
        return check_latents(self._who, codes.reshape(len(codes), -1))
