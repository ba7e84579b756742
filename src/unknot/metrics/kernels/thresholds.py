"""Compiled sweep over one sorted latent: how well it ranks every class above the rest, and where to cut it."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints


class Cuts(NamedTuple):
    """The best cuts of each class so far."""

    gain: Floats  # share of the rest below a cut, less the share of the class below it
    cuts: Floats  # where that is
    down: Floats  # the same with the class below
    tops: Floats


@njit(cache=True)
def _judge(c: int, below: Ints, under: int, cut: float, counts: Ints, n: int, best: Cuts) -> None:
    """Keep the best cut of class c, with the class above it or below it."""
    own, rest = counts[c], n - counts[c]
    if own == 0 or rest == 0:
        return
    inside = below[c] / own
    outside = (under - below[c]) / rest
    if outside - inside > best.gain[c]:
        best.gain[c], best.cuts[c] = outside - inside, cut
    if inside - outside > best.down[c]:
        best.down[c], best.tops[c] = inside - outside, cut


@njit(cache=True)
def sweep(
    values: Any,
    classes: Ints,
    counts: Ints,
    areas: Floats,
    gain: Floats,
    cuts: Floats,
    down: Floats,
    tops: Floats,
) -> None:
    """Fill in what one latent says about every class; rows that are not stored are 0.

    How far apart a cut puts a class and the rest only grows past rows of the class, so that a class is judged
    where it occurs: the work is that of the stored rows and of one look at all classes for the zeros.

    Args:
        values: stored values, rising.
        classes: (stored,) class of each.
        counts: (C,) rows of each class, stored or not.
        areas: (C,) ROC areas, ties counting a half; NaN for a class of no row or of all.
        gain: (C,) largest share of the rest below a cut, less the share of the class below it.
        cuts: (C,) where that is: rows >= cuts are the class.
        down: (C,) the same with the class below.
        tops: (C,) rows < tops are the class.
    """
    n, n_classes = counts.sum(), len(counts)
    below, ranks, zeros = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes), counts.copy()
    for c in classes:
        zeros[c] -= 1
    under, first = 0, 0
    hidden = zeros.sum()
    gain[:], down[:], cuts[:], tops[:] = 0.0, 0.0, np.inf, -np.inf
    best = Cuts(gain, cuts, down, tops)
    while first < len(values) or hidden > 0:
        if hidden > 0 and (first == len(values) or values[first] >= 0):
            last = first
            while last < len(values) and values[last] == 0:
                last += 1
            size, value = hidden + last - first, 0.0
            for c in range(n_classes):
                _judge(c, below, under, value, counts, n, best)
                ranks[c] += zeros[c] * (under + (size + 1) / 2)
            for t in range(first, last):
                ranks[classes[t]] += under + (size + 1) / 2
                below[classes[t]] += 1
            for c in range(n_classes):
                below[c] += zeros[c]
            after = values[last] if last < len(values) else np.inf
            for c in range(n_classes):
                _judge(c, below, under + size, after, counts, n, best)
            hidden = 0
        else:
            last, value = first + 1, values[first]
            while last < len(values) and values[last] == value:
                last += 1
            size = last - first
            for t in range(first, last):
                _judge(classes[t], below, under, value, counts, n, best)
            for t in range(first, last):
                ranks[classes[t]] += under + (size + 1) / 2
                below[classes[t]] += 1
            after = values[last] if last < len(values) else np.inf
            if hidden > 0 and value < 0:
                after = min(after, 0.0)
            for t in range(first, last):
                _judge(classes[t], below, under + size, after, counts, n, best)
        under += size
        first = last
    for c in range(n_classes):
        own, rest = counts[c], n - counts[c]
        areas[c] = (ranks[c] - own * (own + 1) / 2) / (own * rest) if own > 0 and rest > 0 else np.nan
