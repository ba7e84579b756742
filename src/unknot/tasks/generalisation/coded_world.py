"""A file of latents and factors in the place of an encoder and its world."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.encoders.encoder import Encoder, must_exist
from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.metrics.inputs import check_latents
from unknot.representation import Representation, read_representation
from unknot.tasks.generalisation.predictors import Predictor, Scale, checked
from unknot.worlds.world import needs_rng

_FILES = (".npz", ".safetensors", ".parquet", ".csv")


class CodedWorld:
    """The rows of a representation as a world whose images are latents, (n, 1, 1, d).

    Several rows of a combination are several images of it, of which one is drawn.

    Args:
        made: latents and factor classes; test rows, if it has any, are rows like the others.
        factors: the grid its classes belong to.
        name: what results call it.
        who: for messages.
        key: of the world they were encoded from.
    """

    def __init__(self, made: Representation, factors: FactorSpace, name: str, who: str, *, key: str = "") -> None:
        if made.factors is None:
            raise UnknotError(f"{who}: the representation has no factors; they say which rows are for training.")
        if made.factor_names != factors.names:
            raise UnknotError(
                f"{who}: the representation has factors {', '.join(made.factor_names)}; {name} has "
                f"{', '.join(factors.names)}. Name the world it comes from."
            )
        parts = [(made.latents, made.factors)]
        if made.latents_test is not None and made.factors_test is not None:
            parts.append((made.latents_test, made.factors_test))
        latents = check_latents(who, np.concatenate([z.reshape(len(z), -1) for z, _ in parts]))
        self.key, self.name, self.factors = key, name, factors
        self.rows = factors.check(np.concatenate([y for _, y in parts]), who)
        if len(self.rows) != len(latents):
            raise UnknotError(
                f"{who}: {len(latents)} rows of latents, {len(self.rows)} of factors; give one each."
            )
        points = factors.indices(self.rows)
        order = np.argsort(points, kind="stable")
        self._points, self._latents = points[order], latents[order]
        self.stochastic = bool((np.diff(self._points) == 0).any())
        self.image_shape = (1, 1, latents.shape[1])

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The latents of a row of each combination, in the shape of images."""
        wanted = self.factors.indices(self.factors.check(classes, self.name))
        at = np.searchsorted(self._points, wanted)
        if self.stochastic:
            copies = np.searchsorted(self._points, wanted, side="right") - at
            at = at + needs_rng(self.name, rng).integers(0, copies)
        return self._latents[at][:, None, None]

    def predictor(self, name: str, readout: bool | None, scale: Scale) -> Predictor:
        """What turns these images into latents: they are. With `readout` False, into predictions.

        Args:
            name: of the file.
            readout: see `find_predictor`; a file holds latents unless told otherwise.
            scale: of predictions.
        """
        text = hashlib.sha256(np.ascontiguousarray(self._latents).tobytes())
        text.update(self._points.tobytes())
        record = {"kind": "file", "name": name or "latents", "fingerprint": text.hexdigest()[:16]}
        given = Encoder(name or "latents", lambda images: images[:, 0, 0], record)
        latents = readout is not False
        return Predictor(given.name, given if latents else checked(given, self.factors, scale), latents)


def as_representation(which: Any) -> Representation | None:
    """The representation that was given, or whose file was named; None for everything else."""
    must_exist(which)
    if isinstance(which, str | Path) and (Path(which).suffix in _FILES or Path(which).is_file()):
        return read_representation(which)
    return which if isinstance(which, Representation) else None
