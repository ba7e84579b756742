"""The compiled inside of `screening`: the best split of every node of a level, among many latents.

Sums of residuals, which are whole numbers q, come from histograms of at most 32 coarse bins per latent (see
`gbt_histograms`). They are exact: cuts that part a node's rows alike gain the same to the last bit, and of equally good
latents the first in a drawn order has the split.

No split is lost. Of N rows with residuals q and their total T, the gain of a cut with n rows on its left, beyond the
parent's, is C^2 w, where C adds up N q - T of these rows and w = 1 / (n (N - n)). It is known at the edges of coarse
bins. Within a bin C rises by at most P, its positive N q - T, and falls by at most what P is more than the bin's own
sum; and w, which is convex, is at most that of one of its edges. Only bins that could hold something better than the
best cut so far are opened, those of the most promising latents first: one in a thousand.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats
from unknot.metrics.boosting import COARSE as BINS
from unknot.metrics.boosting import LANES, Screen

Ints = NDArray[Any]
PURE = 2.220446049250313e-16  # nodes whose variance is below are not split, as in scikit-learn
JUST_BELOW = 1 - 1e-9  # the share of the best gain that a bound must exceed: bounds are rounded


class Scale(NamedTuple):
    """How words are packed."""

    sum_bits: int
    positive_bits: int
    share: float  # of a residual, which its positive part is counted as
    largest: float  # residual


class Node(NamedTuple):
    """What the bounds of a node depend on."""

    size: float  # N
    total: float  # T
    lift: float  # what makes N q - T of a row larger than N q
    steepest: float  # |N q - T| of a row at most
    positive: float  # N times what one is worth in the positive part of a word
    scale: Scale


class Edge(NamedTuple):
    """What is known at the edge of a bin."""

    size: float  # n, rows to the left
    sum: float  # C
    weight: float  # w, 0 where a side is empty
    positive: float  # P of all bins to the left


class Rows(NamedTuple):
    """Where the cuts of a node are looked for."""

    screen: Screen
    words: Ints  # (n,)
    node_of: Ints  # (n,) slots of the nodes that rows are in
    slot: int  # of this one
    ranks: Ints  # (d,) of equally good latents the lowest one is taken


class Best(NamedTuple):
    """The best cut so far."""

    gain: float
    rank: int
    latent: int  # -1 if there is none yet
    position: int  # in the latent's sorted order, of the last row on the left


@njit(cache=True, error_model="numpy", nogil=True)
def _about(size: int, scale: Scale, histogram: Ints, width: int) -> Node:
    word, above = np.int64(0), 64 - scale.sum_bits
    for b in range(BINS):
        word += histogram[b * width]
    total, n = np.float64((word << above) >> above), np.float64(size)
    return Node(n, total, max(0.0, -total), n * scale.largest + abs(total), n / scale.share, scale)


@njit(cache=True, error_model="numpy", nogil=True)
def _larger(a: float, b: float) -> float:
    return a if a > b else b


@njit(cache=True, error_model="numpy", nogil=True)
def _edge(word: int, node: Node) -> Edge:
    """An edge from the sum of all words to its left."""
    scale = node.scale
    above = 64 - scale.sum_bits
    left = (word << above) >> above
    rest = (word - left) >> scale.sum_bits
    n = np.float64(rest >> scale.positive_bits)
    positive = np.float64(rest & ((np.int64(1) << scale.positive_bits) - 1))
    both = n * (node.size - n)
    weight = 1.0 / both if both > 0.5 else 0.0
    return Edge(n, np.float64(left) * node.size - n * node.total, weight, positive * node.positive + n * node.lift)


@njit(cache=True, error_model="numpy", nogil=True)
def _inside(a: Edge, b: Edge, node: Node) -> float:
    """The most that a cut between two edges can gain.

    In the first and in the last bin with rows w has no bound of its own. But there C is at most that of as many of the
    steepest rows as are on the cut's shorter side, too, and its longer side has the rows of all other bins.
    """
    reach = b.positive - a.positive + _larger(a.sum, -b.sum)
    others = _larger(a.weight * (node.size - a.size), b.weight * b.size)  # 1 / their number
    outer = node.steepest * reach * (others if others > 0.0 else 2.0 / node.size)
    inner = reach * reach * _larger(a.weight, b.weight)
    bound = inner if a.weight * b.weight > 0.0 else outer
    return bound if b.size - a.size > 1.5 else 0.0


@njit(cache=True, error_model="numpy", nogil=True)
def _bounds(node: Node, screen: Screen, histogram: Ints, most: Floats) -> float:
    """Fill in the most that each latent can gain; returns what the best edge gains."""
    best, width = 0.0, len(most)
    words, state = np.empty(LANES, dtype=np.int64), np.empty(6 * LANES)
    for f in range(0, width, LANES):
        words[:] = 0
        state[:] = 0.0
        for b in range(BINS):
            entries, divisible = histogram[b * width + f :], screen.divisible[b, f:]
            for i in range(LANES):  # becomes vector instructions, as all that it changes is in two arrays
                words[i] += entries[i]
                left = Edge(state[i], state[LANES + i], state[2 * LANES + i], state[3 * LANES + i])
                right = _edge(words[i], node)
                bound = _inside(left, right, node) if divisible[i] else 0.0
                gain = right.sum * right.sum * right.weight
                state[i], state[LANES + i] = right.size, right.sum
                state[2 * LANES + i], state[3 * LANES + i] = right.weight, right.positive
                state[4 * LANES + i] = _larger(state[4 * LANES + i], _larger(bound, gain))
                state[5 * LANES + i] = _larger(state[5 * LANES + i], gain)
        most[f : f + LANES] = state[4 * LANES : 5 * LANES]
        best = max(best, state[5 * LANES :].max())
    return best


@njit(cache=True, error_model="numpy", nogil=True)
def _better(gain: float, rank: int, best: Best) -> bool:
    return gain > best.gain or (gain == best.gain and rank < best.rank)


@njit(cache=True, error_model="numpy", nogil=True)
def _open(f: int, b: int, left: Edge, right: Edge, node: Node, rows: Rows, best: Best) -> Best:
    """The best cut so far, or one inside a bin of a latent."""
    order, cuts, first = rows.screen.order[f], rows.screen.cuts[f], rows.screen.places[f, b]
    above, c, n, seen = 64 - node.scale.sum_bits, left.sum, left.size, left.size
    rise = right.positive - left.positive
    high, low = left.sum + rise, right.sum - rise  # where C can still get to
    weight = max(left.weight, right.weight) if left.weight * right.weight > 0.0 else np.inf
    enough = JUST_BELOW * best.gain
    limit = np.sqrt(enough / weight)
    for p in range(first, rows.screen.places[f, b + 1] - 1):
        i = np.uint32(order[p])
        if rows.node_of[i] == rows.slot:
            step = np.float64((rows.words[i] << above) >> above) * node.size - node.total
            c += step
            n += 1.0
            up = _larger(step, 0.0)
            low += up
            high += step - up
            if high < limit and low > -limit:
                break
        both = n * (node.size - n)
        if cuts[p] and seen < n and both > 0.5:
            seen = n
            if c * c > enough * both and _better(c * c / both, rows.ranks[f], best):
                best = Best(c * c / both, rows.ranks[f], f, p)
                enough = JUST_BELOW * best.gain
                limit = np.sqrt(enough / weight)
    return best


@njit(cache=True, error_model="numpy", nogil=True)
def _search(node: Node, rows: Rows, histogram: Ints) -> tuple[int, int]:
    """The latent of a node's best cut, and the first sorted position that parts its rows so."""
    screen, width = rows.screen, rows.screen.divisible.shape[1]
    most = np.empty(width)
    best = Best(JUST_BELOW * _bounds(node, screen, histogram, most), -1, -1, 0)
    promising = np.flatnonzero(most > best.gain)
    for f in promising[np.argsort(-most[promising])]:
        if most[f] <= JUST_BELOW * best.gain:
            break
        word, left = np.int64(0), Edge(0.0, 0.0, 0.0, 0.0)
        for b in range(screen.n_bins[f]):
            word += histogram[b * width + f]
            right = _edge(word, node)
            if screen.divisible[b, f] and _inside(left, right, node) > JUST_BELOW * best.gain:
                best = _open(f, b, left, right, node, rows, best)
            if right.weight > 0.0:
                gain = right.sum * right.sum / (right.size * (node.size - right.size))
                if _better(gain, rows.ranks[f], best):
                    best = Best(gain, rows.ranks[f], f, screen.places[f, b + 1] - 1)
            left = right
    f, p = best.latent, best.position
    if f >= 0:
        while rows.node_of[screen.order[f, p]] != rows.slot:
            p -= 1
        while not screen.cuts[f, p]:
            p += 1
    return f, p


@njit(cache=True, error_model="numpy", nogil=True)
def find_splits(level: int, columns: Any, trees: Any, kept: Any, ranks: Ints, splits: Ints) -> None:
    """The best split of all nodes of a level, (K, nodes, 2): latent and sorted position; -1 where there is none.

    Of equally good latents (d,) that of the lowest rank has it. Other arguments are those of `count_level`.
    """
    screen = Screen(*columns)
    hists, words, node_of, scales = kept
    _, _, _, lows, highs, slots, totals, squares = trees
    first, width = 2**level - 1, screen.divisible.shape[1]
    for k in range(len(splits)):
        sum_bits, positive_bits, share, largest = scales[k]
        scale = Scale(int(sum_bits), int(positive_bits), share, largest)
        for node in range(first, 2 * first + 1):
            size, slot = highs[k, node] - lows[k, node], slots[k, node]
            splits[k, node - first, 0] = -1
            if size > 1 and squares[k, node] / size - (totals[k, node] / size) ** 2 > PURE:
                about = _about(size, scale, hists[k, slot], width)
                found = _search(about, Rows(screen, words[k], node_of[k], slot, ranks), hists[k, slot])
                splits[k, node - first, 0], splits[k, node - first, 1] = found
