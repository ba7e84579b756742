"""How many pixels of each object are seen, and how many pixels each set of objects covers together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unknot.worlds.scenes.layouts import Layouts, packed, seen_in

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Survey:
    """Pixels counted at their middles, without smooth edges.

    Attributes:
        visible: (n, k) of each object, hidden parts left out.
        histogram: (n, 2^k) by coverage: bit i of the index is set where object i would be seen if it were alone.
    """

    visible: Counts
    histogram: Counts

    @property
    def overlap(self) -> Counts:
        """Pixels (n,) covered by two or more objects."""
        several = np.array([code.bit_count() > 1 for code in range(self.histogram.shape[1])])
        overlap: Counts = self.histogram[:, several].sum(axis=1)
        return overlap


def survey(layouts: Layouts, height: int, width: int, *, crop: float = 1.0) -> Survey:
    """Count the pixels of scenes in images of this size."""
    from unknot.worlds.raytracer.coverage import count

    batch = seen_in(layouts, packed(layouts, floor=False), height, width, crop)
    n, k = layouts.words.shape[:2]
    visible, histogram = np.zeros((n, k), dtype=np.int64), np.zeros((n, 2**k), dtype=np.int64)
    count(batch.cameras, batch.bodies, height, width, visible, histogram)
    return Survey(visible, histogram)
