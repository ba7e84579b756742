"""Compiled loops over rows: bin numbers and contingency tables of all (latent, factor) pairs in one pass."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints


@njit(cache=True)
def count(codes: NDArray[np.int32], factors: Ints, offsets: Ints, counts: Ints) -> None:
    """Add each row to counts[latent, bin, offset of factor + value]."""
    n, d = codes.shape
    k = factors.shape[1]
    for r in range(n):
        for i in range(d):
            cell = counts[i, codes[r, i]]
            for j in range(k):
                cell[offsets[j] + factors[r, j]] += 1


@njit(cache=True)
def extent(latents: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest value of each latent."""
    low, high = latents[0].copy(), latents[0].copy()
    for r in range(len(latents)):
        for i in range(latents.shape[1]):
            low[i] = min(low[i], latents[r, i])
            high[i] = max(high[i], latents[r, i])
    return low, high


@njit(cache=True)
def width_codes(latents: Floats, edges: Floats, codes: NDArray[np.int32]) -> None:
    """Bin numbers between equally spaced left edges (d, bins): guess by division, then correct by the edges."""
    n, d = latents.shape
    last = edges.shape[1] - 1
    per_width = np.zeros(d)
    for i in range(d):
        if edges[i, last] > edges[i, 0]:
            per_width[i] = last / (edges[i, last] - edges[i, 0])
    for r in range(n):
        for i in range(d):
            value = latents[r, i]
            guess = (value - edges[i, 0]) * per_width[i]
            # Rounding can put the guess one bin off, overflow further; the edges decide.
            b = 0
            if guess > 0:
                b = last if guess >= last else int(guess)
            while b > 0 and value < edges[i, b]:
                b -= 1
            while b < last and value >= edges[i, b + 1]:
                b += 1
            codes[r, i] = b


@njit(cache=True)
def cut_codes(latents: Floats, cuts: Floats, codes: NDArray[np.int32]) -> None:
    """How many of each latent's sorted cuts (d, most cuts, padded with infinity) are <= the value."""
    n, d = latents.shape
    most = cuts.shape[1]
    for r in range(n):
        for i in range(d):
            value = latents[r, i]
            low, length = 0, most
            while length > 1:  # halving without a branch to mispredict
                half = length // 2
                low += half * (cuts[i, low + half - 1] <= value)
                length -= half
            codes[r, i] = low + (cuts[i, low] <= value)
