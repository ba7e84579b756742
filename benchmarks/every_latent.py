"""Trees that look closely at all latents: every cut of every latent in every node, without bins, bounds or screen.

`with all_latents():` boosted trees of wide codes are grown so, thirty times as slowly. Residuals are the same whole
numbers, and of equally good latents the one of lowest rank has the split: trees have to be the same to the last bit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from numba import njit

from unknot.metrics.boosting import Screen

PURE = 2.220446049250313e-16  # nodes whose variance is below are not split


@contextmanager
def all_latents() -> Iterator[None]:
    """Trees that are grown inside look at all latents."""
    with patch("unknot.metrics.kernels.gbt_screen.find_splits", look_at_all):
        yield


@njit(cache=True, error_model="numpy", nogil=True)
def look_at_all(level: int, columns: Any, trees: Any, kept: Any, ranks: Any, splits: Any) -> None:
    """In the place of `gbt_screen.find_splits`."""
    screen = Screen(*columns)
    _, words, node_of, scales = kept
    _, _, _, lows, highs, slots, totals, squares = trees
    latents, first = np.argsort(ranks), 2**level - 1
    for k in range(len(splits)):
        above = 64 - int(scales[k, 0])
        q = ((words[k] << above) >> above).astype(np.float64)
        for node in range(first, 2 * first + 1):
            size, mine = highs[k, node] - lows[k, node], node_of[k] == slots[k, node]
            splits[k, node - first, 0] = -1
            if size > 1 and squares[k, node] / size - (totals[k, node] / size) ** 2 > PURE:
                split = _best_cut(q, mine, size, latents, screen)
                splits[k, node - first, 0], splits[k, node - first, 1] = split


@njit(cache=True, error_model="numpy", nogil=True)
def _best_cut(q: Any, mine: Any, size: int, latents: Any, screen: Screen) -> tuple[int, int]:
    """The first latent, and its first position, of the largest C^2 / (n (N - n)), where C = N sum_left q - n sum q."""
    total = (q * mine).sum()
    best, best_f, best_p = 0.0, -1, 0
    for f in latents:
        order, cuts = screen.order[f], screen.cuts[f]
        left, n, seen = 0.0, 0, 0
        for p in range(len(order)):
            if mine[order[p]]:
                left += q[order[p]]
                n += 1
            if cuts[p] and seen < n < size:
                seen = n
                c = size * left - n * total
                gain = c * c / (np.float64(n) * (size - n))
                if gain > best:
                    best, best_f, best_p = gain, f, p
    return best_f, best_p
