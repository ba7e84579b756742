"""Pair scores of many models, read when it is their turn and held in memory only as long as there is room."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.udr import Informative, Method, Normaliser, informative, udr_scores
from unknot.ranking.candidates import Candidate, SameRows, kl_of
from unknot.reading.arrays import as_array

HELD = 256 * 2**20  # bytes of latents kept in memory
PAIRS, SLOW_PAIRS = 20_000, 500  # compared between two looks at the clock and at Ctrl-C


class LatentCache:
    """The informative latents of models, read when asked for; the latest ones stay in memory."""

    def __init__(
        self, models: Sequence[Candidate], method: Method, threshold: float, rows: int | str, seed: int
    ) -> None:
        self.models, self.method, self.threshold, self.rows, self.seed = models, method, threshold, rows, seed
        self.masks: dict[int, Bools] = {}
        self.without_kl: set[int] = set()
        self.same = SameRows()
        self.n_rows = 0
        self._chosen: Ints | None = None
        self._held: OrderedDict[int, Informative] = OrderedDict()

    def __getitem__(self, i: int) -> Informative:
        if i not in self._held:
            self._held[i] = self._read(i)
            while sum(m.columns.nbytes for m in self._held.values()) > HELD and len(self._held) > 1:
                self._held.popitem(last=False)
        self._held.move_to_end(i)
        return self._held[i]

    def mask(self, i: int) -> Bools:
        """Which latents of a model are informative."""
        if i not in self.masks:
            _ = self[i]
        return self.masks[i]

    def block(self, i: int) -> int:
        """How many models like this one half of the memory holds."""
        return max(1, HELD // 2 // (8 * max(1, self.mask(i).size) * self.n_rows))

    def forget(self) -> None:
        """Let go of all latents in memory."""
        self._held.clear()

    def _read(self, i: int) -> Informative:
        name, representation = self.models[i].name, self.models[i].load()
        latents = as_array(representation.latents)
        if latents.ndim == 3:
            raise UnknotError(
                f"rank: {name} holds slots {latents.shape}; ranking compares latents (n, d). Lay slots side by side "
                "with Representation.flattened() if they keep their order from image to image."
            )
        self.same.check(name, representation)
        if not self.n_rows:
            self._choose(len(latents))
        kl = kl_of(representation)
        if kl is None:
            self.without_kl.add(i)
        kept = latents if self._chosen is None else latents[self._chosen]
        model = informative(kept, kl, method=self.method, threshold=self.threshold, who=f"rank: {name}")
        self.masks[i] = model.mask
        return model

    def _choose(self, n: int) -> None:
        self.n_rows = n if self.rows == "all" else min(n, int(self.rows))
        if self.n_rows < n:  # drawn in random order, which is how folds want them
            self._chosen = np.random.default_rng([self.seed, 0]).choice(n, size=self.n_rows, replace=False)


def compare(
    cache: LatentCache, pairs: Ints, alpha: float | Literal["cv"], normaliser: Normaliser
) -> Iterator[tuple[Ints, Floats]]:
    """Positions and scores of some pairs after another, two blocks of models in memory at a time."""
    if not len(pairs):
        return
    present = np.unique(pairs)
    block = np.searchsorted(present, pairs) // cache.block(int(present[0]))
    low, high = np.sort(block, axis=1).T
    size = SLOW_PAIRS if alpha == "cv" and cache.method == "lasso" else PAIRS
    for i, j in combinations_with_replacement(np.unique(block), 2):
        inside = np.flatnonzero((low == i) & (high == j))
        for start in range(0, len(inside), size):
            part = inside[start : start + size]
            together = np.unique(pairs[part])
            compared = [cache[int(m)] for m in together]
            local = [(int(a), int(b)) for a, b in np.searchsorted(together, pairs[part])]
            yield part, udr_scores(compared, local, alpha=alpha, normaliser=normaliser)
