"""The compiled inside of `matching`: the best candidates of rows and columns, and the assignment among them."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Bools, Floats, Ints

Singles = NDArray[np.float32]
Places = NDArray[np.int32]


@njit(cache=True)
def _sift_down(keys: Any, items: Any, size: int, key: Any, item: int) -> None:
    """Put an entry in the place of the smallest of a heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@njit(cache=True)
def keep_best(
    block: Singles,
    first: int,
    row_weights: Singles,
    row_places: Places,
    column_weights: Singles,
    column_places: Places,
    least: Singles,
) -> None:
    """Enter the sizes of a block of similarities (b, m) into the heaps of its rows and of all columns.

    Args:
        block: of rows `first` and on.
        first: row of the whole matrix.
        row_weights: (n, k) the largest of each row so far, a heap whose smallest is first, 0 where there is none.
        row_places: (n, k) the columns of these, -1 where there is none.
        column_weights: (m, k) the same of columns.
        column_places: (m, k) the rows of these.
        least: (m,) the smallest in the heap of each column.
    """
    (b, m), k = block.shape, row_weights.shape[1]
    for r in range(b):
        i = first + r
        floor = row_weights[i, 0]
        for j in range(m):
            weight = abs(block[r, j])
            if weight > floor:
                _sift_down(row_weights[i], row_places[i], k, weight, j)
                floor = row_weights[i, 0]
            if weight > least[j]:
                _sift_down(column_weights[j], column_places[j], k, weight, i)
                least[j] = column_weights[j, 0]


@njit(cache=True)
def unsettled(u: Floats, v: Floats, row_floor: Singles, column_floor: Singles) -> Bools:
    """Rows (n,) with a column for which the floors do not show that u + v is as large as their similarity."""
    result = np.zeros(len(u), dtype=np.bool_)
    for i in range(len(u)):
        if row_floor[i] <= u[i]:
            continue
        for j in range(len(v)):
            if min(row_floor[i], column_floor[j]) > u[i] + v[j]:
                result[i] = True
                break
    return result


@njit(cache=True)
def _auction(
    indptr: Ints, columns: Ints, weights: Floats, u: Floats, v: Floats, partner: Ints, owner: Ints
) -> None:
    """Let rows outbid each other for their best columns, two rounds of it: most find theirs, prices near the end's."""
    n = len(indptr) - 1
    waiting, following = np.arange(n), np.empty(n, dtype=np.int64)
    count = n
    for _ in range(2):
        next_count, at = 0, 0
        while at < count:
            i = waiting[at]
            at += 1
            best, second, chosen = 0.0, 0.0, -1
            for e in range(indptr[i], indptr[i + 1]):
                value = weights[e] - v[columns[e]]
                if value > best:
                    best, second, chosen = value, best, columns[e]
                elif value > second:
                    second = value
            u[i] = best
            if chosen < 0:
                continue  # unmatched is as good as any
            before = owner[chosen]
            if before >= 0 and best <= second:
                following[next_count] = i  # two are as good, and this one is taken
                next_count += 1
                continue
            v[chosen] += best - second if before >= 0 else 0.0
            u[i] = second if before >= 0 else best
            owner[chosen], partner[i] = i, chosen
            if before >= 0:
                partner[before] = -1
                following[next_count] = before
                next_count += 1
        waiting, following = following, waiting
        count = next_count


@njit(cache=True)
def _sift_up(keys: Floats, items: Ints, at: int, key: float, item: int) -> None:
    while at > 0 and keys[(at - 1) // 2] > key:
        parent = (at - 1) // 2
        keys[at], items[at] = keys[parent], items[parent]
        at = parent
    keys[at], items[at] = key, item


@njit(cache=True)
def assign(indptr: Ints, columns: Ints, weights: Floats, m: int) -> tuple[Ints, Floats, Floats]:
    """The matching of rows (n) and m columns with the largest sum of weights, and its prices.

    Shortest augmenting paths from every row that two rounds of an auction leave without a column. A row may stay
    without one, at weight 0.

    Args:
        indptr: (n + 1,) where the candidates of each row begin.
        columns: of the candidates.
        weights: of the candidates, above 0.
        m: how many columns there are.

    Returns:
        The column of each row, -1 for none; prices u (n,) and v (m,), never negative, 0 where unmatched, with
        u + v >= weight for every candidate and u + v = weight for those matched.
    """
    n = len(indptr) - 1
    u, v = np.zeros(n), np.zeros(m)
    partner, owner = np.full(n, -1), np.full(m, -1)
    _auction(indptr, columns, weights, u, v, partner, owner)
    distance, before = np.empty(m), np.empty(m, dtype=np.int64)
    seen, done = np.full(m, -1), np.full(m, -1)
    reached = np.empty(m, dtype=np.int64)
    size_of_heap = len(weights) + 1
    keys, items = np.empty(size_of_heap), np.empty(size_of_heap, dtype=np.int64)
    for start in range(n):
        if partner[start] >= 0:
            continue
        u[start] = 0.0
        for e in range(indptr[start], indptr[start + 1]):
            u[start] = max(u[start], weights[e] - v[columns[e]])
        best, last, free = u[start], start, -1  # the row that stays without a column, or a column that is free
        size, n_reached = 0, 0
        row, so_far = start, 0.0
        while True:
            for e in range(indptr[row], indptr[row + 1]):
                j = columns[e]
                if done[j] == start:
                    continue
                length = so_far + max(0.0, u[row] + v[j] - weights[e])
                if length < best and (seen[j] != start or length < distance[j]):
                    seen[j], distance[j], before[j] = start, length, row
                    _sift_up(keys, items, size, length, j)
                    size += 1
            while size > 0 and done[items[0]] == start:
                size -= 1
                _sift_down(keys, items, size, keys[size], items[size])
            if size == 0 or keys[0] >= best:
                break
            so_far, j = keys[0], items[0]
            size -= 1
            _sift_down(keys, items, size, keys[size], items[size])
            done[j] = start
            reached[n_reached] = j
            n_reached += 1
            if owner[j] < 0:
                best, free = so_far, j
                break
            row = owner[j]
            if so_far + u[row] < best:
                best, last = so_far + u[row], row
        u[start] -= best
        for t in range(n_reached):
            j = reached[t]
            if distance[j] < best:
                v[j] += best - distance[j]
                u[owner[j]] -= best - distance[j]
        if free < 0 and last == start:
            continue
        j = free
        if free < 0:
            j = partner[last]
            partner[last] = -1
        while True:
            row = before[j]
            owner[j] = row
            j, partner[row] = partner[row], j
            if row == start:
                break
    return partner, u, v
