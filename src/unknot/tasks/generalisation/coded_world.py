"""The rows of a representation in the place of images of their world."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.representation import Representation
from unknot.tasks.generalisation.options import WHO
from unknot.tasks.pool import all_rows
from unknot.worlds.world import needs_rng


class CodedWorld:
    """The rows of a representation as a world whose images are latents, (n, 1, 1, d).

    Several rows of a combination are several images of it, of which one is drawn.

    Args:
        representation: latents and factor classes; test rows, if it has any, are rows like the others.
        factors: the grid its classes belong to.
        name: what messages call it.
    """

    def __init__(self, representation: Representation, factors: FactorSpace, name: str) -> None:
        latents, labels = all_rows(WHO, representation, "; they say which rows are for training.")
        if representation.factor_names != factors.names:
            raise UnknotError(
                f"{WHO}: the representation has factors {', '.join(representation.factor_names)}; {name} has "
                f"{', '.join(factors.names)}. Name the world it comes from.",
                field="world",
            )
        self.key, self.name, self.factors = "", name, factors  # images of no world of the catalogue
        self.rows = factors.check(labels, WHO)
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
