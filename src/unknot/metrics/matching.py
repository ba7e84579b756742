"""One-to-one matching of two sets of vectors by similarity: the best there is, with the proof.

Two dictionaries of 65,536 directions have 4.3e9 pairs. They are looked through once, in blocks; each direction keeps
its best candidates, and the assignment among these comes with prices. Prices that no pair beats prove that no other
assignment is better; pairs that are no candidates are below the worst candidate of both sides, which settles nearly
all of them, and the others are looked at again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints
from unknot.progress import Progress, silent

Blocks = Callable[[Any], NDArray[np.float32]]  # rows -> their similarities (rows, m)
CANDIDATES = 64  # of each row, and of each column
ROOM = 2**28  # bytes of similarities held at once
TOLERANCE = 1e-7  # of a similarity in single precision


@dataclass(frozen=True)
class Matching:
    """The best one-to-one matching of n and m vectors, and a bound that proves it.

    Attributes:
        partner: (n,) which of the others each is matched with, -1 where nothing similar is left.
        similarity: (n,) its size, 0 where there is no partner.
        mean: of the similarities of min(n, m) pairs, in [0, 1].
        bound: no matching has a larger mean; prices prove it.
        rounds: how often candidates had to be added before it was proven.
    """

    partner: Ints
    similarity: Floats
    mean: float
    bound: float
    rounds: int

    @property
    def exact(self) -> bool:
        """Whether no matching is better, up to single precision."""
        return self.bound - self.mean <= TOLERANCE


def directions(vectors: Any) -> NDArray[np.float32]:
    """Vectors (n, w) at length 1, in single precision; one without any length stays 0."""
    rows = np.array(vectors, dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)).astype(np.float32)
    rows /= np.where(lengths > 0, lengths, 1)[:, None]
    return rows


def match_directions(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    *,
    candidates: int = CANDIDATES,
    progress: Progress = silent,
) -> Matching:
    """Match directions (n, w) and (m, w) so that the mean size of their cosines is the largest.

    >>> turned = match_directions(np.eye(3, dtype=np.float32), -np.eye(3, dtype=np.float32)[[2, 0, 1]])
    >>> turned.partner.tolist(), turned.mean, turned.exact
    ([1, 2, 0], 1.0, True)
    """
    return match(lambda rows: a[rows] @ b.T, (len(a), len(b)), candidates=candidates, progress=progress)


def match(
    similarities: Blocks, shape: tuple[int, int], *, candidates: int = CANDIDATES, progress: Progress = silent
) -> Matching:
    """The matching of rows and columns whose similarities have the largest sum of sizes.

    Args:
        similarities: those of some rows with all columns, in single precision.
        shape: of the whole matrix.
        candidates: how many each row and each column keeps.
        progress: told how many rows were looked through.
    """
    from unknot.metrics.kernels.matching import assign, unsettled

    graph = _candidates(similarities, shape, candidates, progress)
    rounds = 0
    while True:
        partner, u, v = assign(graph.starts, graph.columns, graph.weights.astype(np.float64), shape[1])
        open_rows = np.flatnonzero(unsettled(u, v, graph.row_floor, graph.column_floor))
        beaten, excess = _beaten(similarities, open_rows, (u, v), graph, candidates)
        if not len(beaten[0]):
            break
        graph = graph.joined(*beaten)
        rounds += 1
    pairs = max(1, min(shape))
    sizes = graph.sizes(partner)
    mean = float(sizes.sum()) / pairs
    return Matching(partner, sizes, mean, max(mean, float(u.sum() + v.sum() + excess) / pairs), rounds)


@dataclass(frozen=True)
class _Graph:
    """The pairs that may be matched, row by row; all others are below both floors."""

    rows: Ints
    columns: Ints
    weights: NDArray[np.float32]
    row_floor: NDArray[np.float32]  # (n,)
    column_floor: NDArray[np.float32]  # (m,)

    @property
    def starts(self) -> Ints:
        """Where the pairs of each row begin, (n + 1,)."""
        return np.searchsorted(self.rows, np.arange(len(self.row_floor) + 1))

    def joined(self, rows: Ints, columns: Ints, weights: NDArray[np.float32]) -> "_Graph":
        """With more pairs."""
        all_rows, all_columns = np.concatenate([self.rows, rows]), np.concatenate([self.columns, columns])
        all_weights = np.concatenate([self.weights, weights])
        return _graph(all_rows, all_columns, all_weights, self.row_floor, self.column_floor)

    def sizes(self, partner: Ints) -> Floats:
        """The weight of each row with its partner, 0 without one."""
        result = np.zeros(len(partner))
        mine = partner[self.rows] == self.columns
        result[self.rows[mine]] = self.weights[mine]
        return result


def _graph(rows: Ints, columns: Ints, weights: Any, row_floor: Any, column_floor: Any) -> _Graph:
    """Pairs in order, each once."""
    _, first = np.unique(rows * len(column_floor) + columns, return_index=True)
    return _Graph(rows[first], columns[first], weights[first], row_floor, column_floor)


def _candidates(similarities: Blocks, shape: tuple[int, int], k: int, progress: Progress) -> _Graph:
    """The largest k of each row and of each column, from one look at all pairs."""
    from unknot.metrics.kernels.matching import keep_best

    weights = [np.zeros((size, k), dtype=np.float32) for size in shape]
    places = [np.full((size, k), -1, dtype=np.int32) for size in shape]
    least = np.zeros(shape[1], dtype=np.float32)
    for block in _blocks(*shape):
        progress("comparing directions", block.start, shape[0])
        keep_best(similarities(block), block.start, weights[0], places[0], weights[1], places[1], least)
    progress("comparing directions", shape[0], shape[0])
    (of_rows, of_columns), (rows, row_slots) = places, np.nonzero(places[0] >= 0)
    columns, column_slots = np.nonzero(of_columns >= 0)
    return _graph(
        np.concatenate([rows, of_columns[columns, column_slots]]),
        np.concatenate([of_rows[rows, row_slots], columns]),
        np.concatenate([weights[0][rows, row_slots], weights[1][columns, column_slots]]),
        weights[0][:, 0].copy(),
        least,
    )


def _beaten(
    similarities: Blocks, rows: Ints, prices: tuple[Floats, Floats], graph: _Graph, k: int
) -> tuple[tuple[Ints, Ints, Any], float]:
    """Pairs of some rows that are more similar than their prices, at most k of each row; else by how much in all."""
    (u, v), starts = prices, graph.starts
    pairs: list[tuple[Any, Any, Any]] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    within = 0.0
    for block in _blocks(len(rows), len(v)):
        mine = rows[block]
        sizes = np.abs(similarities(mine))
        excess = sizes - u[mine, None] - v
        for r, i in enumerate(mine.tolist()):
            excess[r, graph.columns[starts[i] : starts[i + 1]]] = 0.0  # whose prices are right
        within += float(np.clip(excess.max(axis=1), 0.0, TOLERANCE).sum())
        for r in np.flatnonzero((excess > TOLERANCE).any(axis=1)).tolist():
            most = np.argsort(-excess[r], kind="stable")[:k]
            most = most[excess[r, most] > TOLERANCE]
            pairs.append((np.full(len(most), mine[r]), most, sizes[r, most]))
    first, second, weights = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return (first, second, weights), within


def _blocks(n: int, m: int) -> Iterator[slice]:
    """Stretches of rows whose similarities, and what is made of them, fit into the room there is."""
    size = max(1, ROOM // (4 * max(1, m)))
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))
