"""The compiled inside of `boosting`: the trees of a round.

All trees of a round share one pass over the rows for their root histograms. The best split of a node is found in two
steps. First at the edges of at most 256 bins per latent, from histograms which the larger child of a node gets by
subtracting the smaller one from its parent. Then, for exact splits, inside the bins, but only where a bound says that
something better could hide: the residuals of a bin's first rows add up to something between its negative and its
positive part. One bin in a hundred is opened, so that exact splits cost little more than binned ones. Trees are
stored complete: a node that is not split sends every row left.

Where latents are many, the histograms of all of them are what costs. Then they have 64 bins at most, and a latent has
those of 256 bins only for nodes where its best split between coarse bins comes within a fifth of the best one's.
Entries in the most common bin of their latent are never added up: they are what the others leave of the total.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import WIDE, Floats
from unknot.metrics.boosting import BINS, Screen, Table

Ints = NDArray[Any]
ROOM_FOR_ROOTS = 4_000_000  # entries of the root histograms of all classes that are grown together
PURE = 2.220446049250313e-16  # nodes whose variance is below are not split, as in scikit-learn
SLACK = 0.2  # by how much the root of a latent's gain between coarse bins may fall short of the best
MOST = 64  # latents at most that are looked at closely
LANES = 16  # classes that are added up side by side
SUM, COUNT = 24, 40  # bits above the sum of an entry, and below its count
FLAT = 1e-150  # leaves whose mean curvature is below are worth 0, as in scikit-learn


class Histogram(NamedTuple):
    """Residuals of a node per bin; entry latent * BINS + bin."""

    sums: Floats
    positives: Floats  # sums of the positive ones
    counts: NDArray[np.int32]


class Node(NamedTuple):
    """Rows that may be split."""

    rows: Ints
    slot: int  # which histogram they are counted in
    total: float  # of their residuals
    histogram: Histogram


class Split(NamedTuple):
    """Where a node is cut; latent -1 if nowhere."""

    latent: int
    position: int  # in the latent's sorted order, of the last row on the left
    size: int  # of the left child
    sum: float  # of the left child's residuals
    gain: float  # S_left^2 / n_left + S_right^2 / n_right


class Work(NamedTuple):
    """Memory that all trees use."""

    inverse: Floats  # 1 / n, so that no split divides
    histograms: Histogram  # one per node that is still to be split
    rows: Ints
    spare: Ints
    node_of: Ints  # the histogram that each row is counted in
    latents: Ints
    state: Ints  # of the random numbers


@njit(cache=True, error_model="numpy")
def _root_sums(by_row: Floats, bins: Ints, first: int, last: int, sums: Floats) -> None:
    """Add up residuals per (latent, bin, class) for classes first..last-1, all classes at once."""
    for f in range(len(bins)):
        for i in range(bins.shape[1]):
            into, row = sums[f, bins[f, i]], by_row[i, first:last]
            for k in range(len(row)):
                into[k] += row[k]


@njit(cache=True, error_model="numpy")
def _root_histogram(sums: Floats, r: Floats, table: Table, histogram: Histogram) -> float:
    """The root's histogram of one class; returns the sum of squared residuals."""
    d = len(table.n_bins)
    for at in range(len(histogram.positives)):
        histogram.positives[at] = 0.0
    for f in range(d):
        for b in range(table.n_bins[f]):
            histogram.sums[(f << 8) + b] = sums[f, b]
            histogram.counts[(f << 8) + b] = table.counts[f, b]
    squares = 0.0
    for i in range(len(r)):
        squares += r[i] * r[i]
    if d > WIDE:
        rising = np.flatnonzero(r > 0)
        for f in range(d):
            bins, positives = table.bins[f], histogram.positives[f << 8 : (f + 1) << 8]
            for row in rising:
                positives[bins[row]] += r[row]
        return squares
    for i in range(len(r)):
        if r[i] > 0:
            for f in range(d):
                histogram.positives[(f << 8) + table.bins_by_row[i, f]] += r[i]
    return squares


@njit(cache=True, error_model="numpy")
def _wide_histogram(rows: Ints, r: Floats, all_bins: Ints, histogram: Histogram) -> None:
    """A node's histogram, one latent after the other: those of many latents at once do not fit into a cache."""
    values = r[rows]
    rising = np.flatnonzero(values > 0)
    bins = np.empty(len(rows), dtype=all_bins.dtype)
    for f in range(len(all_bins)):
        here = slice(f << 8, (f + 1) << 8)
        sums, positives, counts, column = (
            histogram.sums[here],
            histogram.positives[here],
            histogram.counts[here],
            all_bins[f],
        )
        for j in range(len(rows)):
            bins[j] = column[rows[j]]
        for j in range(len(rows)):
            sums[bins[j]] += values[j]
            counts[bins[j]] += 1
        for at in rising:
            positives[bins[at]] += values[at]


@njit(cache=True, error_model="numpy")
def _node_histogram(rows: Ints, r: Floats, table: Table, slot: int, node_of: Ints, histogram: Histogram) -> float:
    """A node's histogram from its rows, which are marked as its own; returns the sum of squared residuals."""
    bins_by_row = table.bins_by_row
    d = bins_by_row.shape[1]
    sums, positives, counts = histogram
    for at in range(len(sums)):
        sums[at], positives[at], counts[at] = 0.0, 0.0, 0
    squares = 0.0
    if d > WIDE:
        _wide_histogram(rows, r, table.bins, histogram)
        for i in rows:
            squares += r[i] * r[i]
            node_of[i] = slot
        return squares
    for i in rows:
        v = r[i]
        squares += v * v
        node_of[i] = slot
        row = bins_by_row[i]
        for f in range(d):
            at = (f << 8) + row[f]
            sums[at] += v
            counts[at] += 1
        if v > 0:
            for f in range(d):
                positives[(f << 8) + row[f]] += v
    return squares


@njit(cache=True, error_model="numpy")
def _subtract(histogram: Histogram, other: Histogram) -> None:
    for at in range(len(histogram.sums)):
        histogram.sums[at] -= other.sums[at]
    for at in range(len(histogram.sums)):
        histogram.positives[at] -= other.positives[at]
    for at in range(len(histogram.sums)):
        histogram.counts[at] -= other.counts[at]


@njit(cache=True, error_model="numpy")
def _coarse_roots(by_row: Floats, first: int, by_latent: Ints, starts: Ints, sums: Any) -> None:
    """Add up residuals per (coarse bin, class) for up to 16 classes from the first, all at once."""
    n, last = len(by_row), min(first + LANES, by_row.shape[1])
    lanes = np.zeros((n, LANES), dtype=np.float32)
    lanes[:, : last - first] = by_row[:, first:last]
    flat, into = lanes.ravel(), sums.ravel()
    into[:] = 0
    for f in range(len(by_latent)):
        bins, start = by_latent[f], starts[f]
        for i in range(n):
            to, row = (start + bins[i]) * LANES, i * LANES
            for k in range(LANES):
                into[to + k] += flat[row + k]


@njit(cache=True, error_model="numpy")
def _add_rows(rows: Ints, r: Floats, unit: float, screen: Screen, slot: int, node_of: Ints, sums: Ints) -> float:
    """Add up residuals, in units, per coarse bin, and mark the rows as the slot's; returns the sum of squares.

    An entry is a whole number, the sum in its lower 40 bits and the count above, so that one addition does for both.
    """
    sums[:] = 0
    squares, dense, starts = 0.0, len(screen.bins) > 0, screen.starts
    for i in rows:
        squares += r[i] * r[i]
        node_of[i] = slot
        entry = (np.int64(1) << COUNT) + np.int64(r[i] * unit)
        if dense:
            row = screen.bins[i]
            for f in range(len(row)):
                sums[starts[f] + row[f]] += entry
        else:
            for at in screen.entries[screen.rows[i] : screen.rows[i + 1]]:
                sums[at] += entry
    return squares


@njit(cache=True, error_model="numpy")
def _coarse_gains(size: int, total: float, screen: Screen, sums: Ints, roots: Floats) -> None:
    """Roots of the largest gain of each latent between coarse bins, beyond the parent's."""
    mean = total / size
    whole = (np.int64(size) << COUNT) + np.int64(total)
    sparse = len(screen.bins) == 0
    for f in range(len(roots)):
        first, last = screen.starts[f], screen.starts[f + 1]
        rest = np.int64(0)
        if sparse:
            rest = whole
            for at in range(first, last):
                rest -= sums[at]
        entry, best = np.int64(0), 0.0
        for at in range(first, last - 1):
            entry += sums[at]
            if at == screen.common[f]:
                entry += rest
            left = (entry << SUM) >> SUM
            n = (entry - left) >> COUNT
            if 0 < n < size:
                c = left - mean * n
                best = max(best, c * c / (np.float64(n) * np.float64(size - n)))
        roots[f] = np.sqrt(best)


@njit(cache=True, error_model="numpy")
def _promising(roots: Floats) -> Ints:
    """The latents whose gain comes near the largest, but for those beyond the first 64."""
    least = (1.0 - SLACK) * roots.max()
    if np.sum(roots >= least) > MOST:
        least = np.partition(roots, len(roots) - MOST)[len(roots) - MOST]
    return np.flatnonzero(roots >= least)


@njit(cache=True, error_model="numpy")
def _fine_histogram(latents: Ints, rows: Ints, r: Floats, all_bins: Ints, histogram: Histogram) -> None:
    """A node's histogram of some latents."""
    for f in latents:
        here = slice(f << 8, (f + 1) << 8)
        sums, positives, counts = histogram.sums[here], histogram.positives[here], histogram.counts[here]
        sums[:], positives[:], counts[:] = 0.0, 0.0, 0
        bins = all_bins[f]
        for i in rows:
            sums[bins[i]] += r[i]
            positives[bins[i]] += max(r[i], 0.0)
            counts[bins[i]] += 1


@njit(cache=True, error_model="numpy")
def _shuffle(items: Ints, state: Ints) -> None:
    """Fisher-Yates with a xorshift generator: the order in which equally good latents are tried."""
    x = state[0]
    for j in range(len(items) - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        other = np.int64(x % np.uint64(j + 1))
        items[j], items[other] = items[other], items[j]
    state[0] = x


@njit(cache=True, error_model="numpy")
def _split_between_bins(node: Node, table: Table, work: Work) -> Split:
    """The split with the largest S_left^2 / n_left + S_right^2 / n_right among the edges of bins."""
    sums, _, counts = node.histogram
    size, total, inverse = len(node.rows), node.total, work.inverse
    best, best_f, best_p, best_n, best_c = -np.inf, -1, 0, 0, 0.0
    for f in work.latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(table.n_bins[f] - 1):
            if counts[base + b] == 0:
                continue
            c += sums[base + b]
            n += counts[base + b]
            if n == size:
                break
            gain = c * c * inverse[n] + (total - c) * (total - c) * inverse[size - n]
            if gain > best:
                best, best_f, best_p, best_n, best_c = gain, f, table.starts[f, b + 1] - 1, n, c
    return Split(best_f, best_p, best_n, best_c, best)


@njit(cache=True, error_model="numpy")
def _extremes(rows: Ints, r: Floats) -> tuple[float, float]:
    lowest, highest = r[rows[0]], r[rows[0]]
    for i in rows:
        lowest = min(lowest, r[i])
        highest = max(highest, r[i])
    return lowest, highest


@njit(cache=True, error_model="numpy")
def _split_within_bins(split: Split, node: Node, r: Floats, table: Table, work: Work) -> Split:
    """A better split than one between bins inside a bin, if there is one.

    With residuals r' = r - mean, the gain beyond the parent's is C^2 (1/n + 1/(N - n)) where C adds up the r' on the
    left. Inside a bin, C moves by at most what its positive r' (upwards) or its negative r' (downwards) add up to.
    """
    sums, positives, counts = node.histogram
    best_f, best_p, best_n, best_c, best = split
    size, total, slot = len(node.rows), node.total, node.slot
    inverse, node_of = work.inverse, work.node_of
    mean = total * inverse[size]
    parent = total * mean
    up, down, positive = max(0.0, -mean), max(0.0, mean), 0.0
    for b in range(table.n_bins[work.latents[0]]):
        positive += positives[(work.latents[0] << 8) + b]
    one_sign = positive <= 1e-10 * size or positive - total <= 1e-10 * size
    detour = 0.0
    if one_sign:
        # Residuals that are all alike: C moves by little per row, and has to end where the bin ends.
        lowest, highest = _extremes(node.rows, r)
        if highest > lowest:
            detour = (highest - mean) * (mean - lowest) / (highest - lowest)
    for f in work.latents:
        c, n, base = 0.0, 0, f << 8
        for b in range(table.n_bins[f]):
            count = counts[base + b]
            if count > 1:
                start = c - n * mean
                if one_sign:
                    end = start + sums[base + b] - count * mean
                    high, low = max(start, end) + detour * count, min(start, end) - detour * count
                else:
                    high = start + up * count + positives[base + b]
                    low = start - down * count + sums[base + b] - positives[base + b]
                first = inverse[n + 1] + inverse[size - n - 1]
                last = inverse[n + count - 1] + inverse[size - n - count + 1]
                if parent + max(high * high, low * low) * max(first, last) > best:
                    c_in, n_in, n_seen = c, n, n
                    for p in range(table.starts[f, b], table.starts[f, b + 1] - 1):
                        i = table.order[f, p]
                        if node_of[i] == slot:
                            c_in += r[i]
                            n_in += 1
                        if table.distinct[f, p] and n_in > n_seen and n_in < size:
                            n_seen, rest = n_in, total - c_in
                            gain = c_in * c_in * inverse[n_in] + rest * rest * inverse[size - n_in]
                            if gain > best:
                                best, best_f, best_p, best_n, best_c = gain, f, p, n_in, c_in
            c += sums[base + b]
            n += count
            if n == size:
                break
    return Split(best_f, best_p, best_n, best_c, best)


@njit(cache=True, error_model="numpy")
def _midpoint(x: NDArray[np.float32], order: Ints, node_of: Ints, slot: int, position: int) -> float:
    """Halfway between the two values of a node between which a split at a sorted position lies."""
    below, above = position, position + 1
    while node_of[order[below]] != slot:
        below -= 1
    while node_of[order[above]] != slot:
        above += 1
    return 0.5 * np.float64(x[order[below]]) + 0.5 * np.float64(x[order[above]])


@njit(cache=True, error_model="numpy")
def _partition(rows: Ints, x: NDArray[np.float32], threshold: float, spare: Ints) -> int:
    """Move the rows with x <= threshold to the front, both parts in their old order; returns how many."""
    left, right = 0, 0
    for j in range(len(rows)):
        i = rows[j]
        goes_left = x[i] <= threshold
        rows[left] = i
        spare[right] = i
        left += goes_left
        right += not goes_left
    for j in range(right):
        rows[left + j] = spare[j]
    return left


@njit(cache=True, error_model="numpy")
def _leaf(rows: Ints, r: Floats, shrink: float) -> float:
    """One Newton step: shrink * sum of residuals / sum of p (1 - p), where p (1 - p) = |r| (1 - |r|)."""
    slope, curvature = 0.0, 0.0
    for i in rows:
        slope += r[i]
        curvature += abs(r[i]) * (1.0 - abs(r[i]))
    return shrink * slope / curvature if curvature >= FLAT * len(rows) and len(rows) > 0 else 0.0


@njit(cache=True, error_model="numpy")
def _threshold(split: Split, slot: int, exact: bool, table: Table, node_of: Ints) -> float:
    """The value at which a split cuts."""
    f = split.latent
    if exact:
        cut: float = _midpoint(table.x[f], table.order[f], node_of, slot, split.position)
    else:
        cut = table.edges[f, table.bins[f, table.order[f, split.position]]]
    return cut


@njit(cache=True, error_model="numpy")
def _grow(
    r: Floats, sums: Floats, table: Table, exact: bool, work: Work, tree: tuple[Ints, Floats], importances: Floats
) -> Ints:
    """One tree on the residuals r, whose root sums are known; leaf j then holds rows[bounds[j]:bounds[j + 1]]."""
    inverse, hists, rows, spare, node_of, latents, state = work
    features, thresholds = tree
    n_inner = len(features)
    lows, highs = np.zeros(2 * n_inner + 1, dtype=np.int64), np.zeros(2 * n_inner + 1, dtype=np.int64)
    slots, total, squares = np.zeros(len(lows), dtype=np.int64), np.zeros(len(lows)), np.zeros(len(lows))
    histogram = Histogram(hists.sums[0], hists.positives[0], hists.counts[0])
    squares[0] = _root_histogram(sums, r, table, histogram)
    highs[0], used = len(r), 1
    for i in range(len(r)):
        rows[i], node_of[i] = i, 0
        total[0] += r[i]
    for node in range(n_inner):
        low, high, slot, left, right = lows[node], highs[node], slots[node], 2 * node + 1, 2 * node + 2
        size, split = high - low, Split(-1, 0, 0, 0.0, 0.0)
        histogram = Histogram(hists.sums[slot], hists.positives[slot], hists.counts[slot])
        if size > 1 and squares[node] * inverse[size] - (total[node] * inverse[size]) ** 2 > PURE:
            _shuffle(latents, state)
            here = Node(rows[low:high], slot, total[node], histogram)
            split = _split_between_bins(here, table, work)
            if exact:
                split = _split_within_bins(split, here, r, table, work)
        lows[left], highs[right] = low, high
        if split.latent < 0:
            features[node], thresholds[node] = 0, np.inf
            highs[left] = lows[right] = high
            continue
        f, threshold = split.latent, _threshold(split, slot, exact, table, node_of)
        features[node], thresholds[node] = f, threshold
        importances[f] += split.gain - total[node] * total[node] * inverse[size]
        middle = low + _partition(rows[low:high], table.x[f], threshold, spare)
        highs[left] = lows[right] = middle
        total[left], total[right] = split.sum, total[node] - split.sum
        if right < n_inner:
            small, large = (left, right) if middle - low <= high - middle else (right, left)
            new = Histogram(hists.sums[used], hists.positives[used], hists.counts[used])
            mine = rows[lows[small] : highs[small]]
            squares[small] = _node_histogram(mine, r, table, used, node_of, new)
            squares[large] = squares[node] - squares[small]
            _subtract(histogram, new)
            slots[small], slots[large] = used, slot
            used += 1
    return np.append(lows[n_inner:], len(r))


@njit(cache=True, error_model="numpy")
def _grow_screened(
    r: Floats,
    roots: Any,
    tables: tuple[Table, Screen],
    exact: bool,
    work: Work,
    entries: Ints,
    tree: tuple[Ints, Floats],
    importances: Floats,
) -> Ints:
    """`_grow` of a wide code; the root's sums are those of coarse bins, none if most entries share a bin."""
    table, screen = tables
    inverse, hists, rows, spare, node_of, _, state = work
    features, thresholds = tree
    n_inner = len(features)
    lows, highs = np.zeros(2 * n_inner + 1, dtype=np.int64), np.zeros(2 * n_inner + 1, dtype=np.int64)
    slots, total, squares = np.zeros(len(lows), dtype=np.int64), np.zeros(len(lows)), np.zeros(len(lows))
    histogram = Histogram(hists.sums[0], hists.positives[0], hists.counts[0])
    gains = np.empty(len(table.x))
    size = 0.0
    for i in range(len(r)):
        rows[i], node_of[i] = i, 0
        total[0] += r[i]
        squares[0] += r[i] * r[i]
        size += abs(r[i])
    unit = 2.0**36 / max(size, 1e-300)
    if len(roots):
        for at in range(len(roots)):
            entries[0, at] = (np.int64(screen.counts[at]) << COUNT) + np.int64(roots[at] * unit)
    else:
        _add_rows(rows, r, unit, screen, 0, node_of, entries[0])
    highs[0], used = len(r), 1
    for node in range(n_inner):
        low, high, slot, left, right = lows[node], highs[node], slots[node], 2 * node + 1, 2 * node + 2
        size, split, mine = high - low, Split(-1, 0, 0, 0.0, 0.0), rows[low:high]
        if size > 1 and squares[node] * inverse[size] - (total[node] * inverse[size]) ** 2 > PURE:
            _coarse_gains(size, total[node] * unit, screen, entries[slot], gains)
            latents = _promising(gains)
            _shuffle(latents, state)
            _fine_histogram(latents, mine, r, table.bins, histogram)
            here = Node(mine, slot, total[node], histogram)
            near = Work(inverse, hists, rows, spare, node_of, latents, state)
            split = _split_between_bins(here, table, near)
            if exact:
                split = _split_within_bins(split, here, r, table, near)
        lows[left], highs[right] = low, high
        if split.latent < 0:
            features[node], thresholds[node] = 0, np.inf
            highs[left] = lows[right] = high
            continue
        f, threshold = split.latent, _threshold(split, slot, exact, table, node_of)
        features[node], thresholds[node] = f, threshold
        importances[f] += split.gain - total[node] * total[node] * inverse[size]
        middle = low + _partition(mine, table.x[f], threshold, spare)
        highs[left] = lows[right] = middle
        total[left], total[right] = split.sum, total[node] - split.sum
        if right < n_inner:
            small, large = (left, right) if middle - low <= high - middle else (right, left)
            fewer = rows[lows[small] : highs[small]]
            squares[small] = _add_rows(fewer, r, unit, screen, used, node_of, entries[used])
            squares[large] = squares[node] - squares[small]
            for at in range(entries.shape[1]):
                entries[slot, at] -= entries[used, at]
            slots[small], slots[large] = used, slot
            used += 1
    return np.append(lows[n_inner:], len(r))


@njit(cache=True, error_model="numpy")
def grow_round(
    raw: Floats,
    residuals: tuple[Floats, Floats],
    columns: Any,
    exact: bool,
    learning_rate: float,
    trees: tuple[Ints, Floats, Floats],
    importances: Floats,
    state: Ints,
) -> None:
    """Fit one tree per class to the residuals, (K, n) and (n, K), and add it to the raw predictions (K, n), in place.

    The arrays of trees, which are features, thresholds and values (K, nodes), and the importances are filled in.
    `columns` is a `Table` as a plain tuple, so that compiled code on disk does not depend on who made it.
    """
    table = Table(*columns)
    by_class, by_row = residuals
    features, thresholds, values = trees
    n_trees, n = raw.shape
    d, n_leaves = len(table.x), values.shape[1]
    work = _work(n, d, max(1, n_leaves // 2), state)
    together = max(1, min(n_trees, ROOM_FOR_ROOTS // (d * BINS)))
    for first in range(0, n_trees, together):
        last = min(first + together, n_trees)
        sums = np.zeros((d, BINS, last - first))
        _root_sums(by_row, table.bins, first, last, sums)
        for k in range(first, last):
            r, tree = by_class[k], (features[k], thresholds[k])
            bounds = _grow(r, sums[:, :, k - first], table, exact, work, tree, importances)
            _add_leaves(r, work.rows, bounds, n_trees, learning_rate, values[k], raw[k])


@njit(cache=True, error_model="numpy")
def grow_screened_round(
    raw: Floats,
    residuals: tuple[Floats, Floats],
    columns: tuple[Any, Any],
    exact: bool,
    learning_rate: float,
    trees: tuple[Ints, Floats, Floats],
    importances: Floats,
    state: Ints,
) -> None:
    """`grow_round` of a wide code; `columns` are a `Table` and a `Screen`."""
    tables = Table(*columns[0]), Screen(*columns[1])
    by_class, by_row = residuals
    features, thresholds, values = trees
    n_trees, n = raw.shape
    d, n_slots, n_bins = len(tables[0].x), max(1, values.shape[1] // 2), len(tables[1].counts)
    work = _work(n, d, 1, state)
    entries = np.empty((n_slots, n_bins), dtype=np.int64)
    dense = len(tables[1].bins) > 0
    roots = np.empty((n_bins if dense else 0, LANES), dtype=np.float32)
    for k in range(n_trees):
        if dense and k % LANES == 0:
            _coarse_roots(by_row, k, tables[1].by_latent, tables[1].starts, roots)
        r, tree = by_class[k], (features[k], thresholds[k])
        bounds = _grow_screened(r, roots[:, k % LANES], tables, exact, work, entries, tree, importances)
        _add_leaves(r, work.rows, bounds, n_trees, learning_rate, values[k], raw[k])


@njit(cache=True, error_model="numpy")
def _work(n: int, d: int, n_slots: int, state: Ints) -> Work:
    inverse = np.zeros(n + 1)
    for m in range(1, n + 1):
        inverse[m] = 1.0 / m
    shape = (n_slots, d * BINS)
    hists = Histogram(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int32))
    rows, spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    return Work(inverse, hists, rows, spare, np.empty(n, dtype=np.int16), np.arange(d), state)


@njit(cache=True, error_model="numpy")
def _add_leaves(
    r: Floats, rows: Ints, bounds: Ints, n_trees: int, learning_rate: float, values: Floats, raw: Floats
) -> None:
    """Fill in the values of a tree's leaves, and add them to the raw predictions of their rows."""
    shrink = (n_trees - 1.0) / n_trees if n_trees > 1 else 1.0
    for leaf in range(len(values)):
        mine = rows[bounds[leaf] : bounds[leaf + 1]]
        values[leaf] = _leaf(mine, r, shrink)
        step = learning_rate * values[leaf]
        for i in mine:
            raw[i] += step
