"""Boosted trees of many latents: each split is looked for among the latents that can have it.

A latent is cut into at most 32 coarse bins, from whose sums of residuals follows how much a split on it can gain at
most. Those that can gain no more than the best cut so far are not looked at. No split is lost by it: trees are the
same to the last bit as those that look at every cut of every latent, with ties drawn alike. Residuals are whole numbers
in both, of units that are the larger the more rows there are; from 2^19 rows on there is no screen, so that the mean
size of a residual is 15 units or more.
"""

import numpy as np

from unknot.metrics.arrays import WIDE, Bools, Floats, Ints
from unknot.metrics.boosting import COARSE, LANES, Growth, Screen, Table

SPARSE = 0.25  # share of entries outside the most common bins, below which the others are listed
MOST_ROWS = 2**19  # from which on the words of `gbt_histograms` have too few bits
ROOM = 2_000_000  # entries of all histograms of the trees that are grown together


def screen(table: Table, exact: bool = True) -> Screen | None:
    """The screen of a wide code; None where all latents are looked at closely: up to 100, or in 2^19 rows and more.

    Splits may lie between any two values, or only between the table's bins.
    """
    d, n = table.x.shape
    if d <= WIDE or n >= MOST_ROWS:
        return None
    width = (
        -(-d // LANES) | 1
    ) * LANES  # an odd number of lanes, so that bins of a latent do not share a cache's place
    cuts = table.distinct if exact else _between_bins(table)
    bins, common = np.zeros((width, n), dtype=np.uint8), np.zeros(width, dtype=np.int64)
    places = np.full((d, COARSE + 1), n, dtype=np.int64)
    divisible, n_bins = np.zeros((COARSE, width), dtype=np.bool_), np.zeros(d, dtype=np.int64)
    for f in range(d):
        inside = np.flatnonzero(cuts[f]) + 1
        edges = np.concatenate([[0], _coarse_cuts(inside, n), [n]])
        counts = np.diff(edges)
        n_bins[f], common[f] = len(counts), counts.argmax()
        places[f, : len(edges)] = edges
        bins[f, table.order[f]] = np.repeat(np.arange(len(counts)), counts)
        first, last = np.searchsorted(inside, edges[:-1], side="right"), np.searchsorted(inside, edges[1:])
        divisible[: len(counts), f] = first < last
    other = bins != common[:, None]
    about = n_bins, places, divisible, table.order, cuts
    if other[:d].mean() > SPARSE:
        pairs = COARSE * bins[::2].astype(np.uint16) + bins[1::2]
        nothing = np.zeros(0, dtype=np.int64)
        return Screen(pairs, nothing, nothing.astype(np.int32), nothing, *about)
    row, latent = np.nonzero(other.T)
    entries = (bins[latent, row] * np.int64(width) + latent).astype(np.int32)
    rows = np.append(0, np.cumsum(other.sum(axis=0)))
    return Screen(np.zeros((0, n), dtype=np.uint16), rows, entries, common * width + np.arange(width), *about)


def _between_bins(table: Table) -> Bools:
    """Whether the next value in sorted order lies in another bin of the table."""
    bins = np.take_along_axis(table.bins, table.order, axis=1)
    result: Bools = np.diff(bins, axis=1, append=bins[:, -1:]) != 0
    return result


def _coarse_cuts(cuts: Ints, n: int) -> Ints:
    """At most 31 of the positions between two values; the most common value has a bin of its own.

    Bins are the narrower the nearer to an end, so that a split can hide about equally well in each.
    """
    if len(cuts) < COARSE:
        return cuts
    edges = np.concatenate([[0], cuts, [n]])
    most = int(np.diff(edges).argmax())
    low, high = edges[most : most + 2]
    ranks = (n - (high - low)) * np.sin(np.linspace(0, np.pi / 2, COARSE - 1)[1:-1]) ** 2
    ranks = np.where(ranks <= low, ranks, ranks + (high - low))
    near = cuts[np.minimum(np.searchsorted(cuts, np.round(ranks)), len(cuts) - 1)]
    return np.unique(np.concatenate([near, cuts[max(most - 1, 0) : most + 1]]))


class Workshop:
    """Where the trees of one factor's rounds grow, some classes at a time."""

    def __init__(self, table: Table, screened: Screen, exact: bool, n_trees: int, depth: int, seed: int) -> None:
        """Take the memory that all rounds use."""
        n = table.x.shape[1]
        n_entries, n_hists = screened.divisible.size, 2 ** (depth - 1)
        self.together = max(1, min(n_trees, ROOM // (n_entries * n_hists)))
        self.columns = tuple(table), tuple(screened)
        self.exact, self.depth = exact, depth
        self.rng = np.random.default_rng(seed)
        hists = np.zeros((self.together, n_hists, n_entries), dtype=np.int64)
        words = np.zeros((self.together, n), dtype=np.int64)
        self.node_of = np.zeros((self.together, n), dtype=np.int16)
        self.kept = hists, words, self.node_of, np.zeros((self.together, 4))

    def grow_round(self, residuals: Floats, trees: Growth, importances: Floats) -> None:
        """Fit one tree per class to the residuals (K, n); trees and importances are filled in."""
        from unknot.metrics.kernels.gbt_histograms import count_level
        from unknot.metrics.kernels.gbt_screen import find_splits
        from unknot.metrics.kernels.gbt_trees import cut_level

        table, screened = self.columns
        ranks = self.rng.permutation(len(importances)).argsort()  # in a drawn order
        for first in range(0, len(residuals), self.together):
            some = slice(first, first + self.together)
            r, part = residuals[some], tuple(array[some] for array in trees)
            for level in range(self.depth):
                splits = np.zeros((len(r), 2**level, 2), dtype=np.int64)
                count_level(level, r, screened, part, self.kept)
                find_splits(level, screened, part, self.kept, ranks, splits)
                cut_level(level, r, splits, table, self.exact, part, self.node_of, importances)
