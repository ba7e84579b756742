"""What the latents of a dictionary do by themselves: fire never, fire nearly always, repeat another's direction."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats, Ints
from unknot.progress import Progress, silent
from unknot.reading.arrays import is_sparse

DENSE = 0.1  # share of rows from which on a latent is dense: Sun et al. 2025, Dense SAE Latents Are Features
COPY = 0.95  # cosine from which on two directions are one
ROOM = 2**27  # bytes held at once


def firing(codes: Any) -> Any:
    """1 where latents (n, d) are not zero, as a sparse matrix by columns."""
    from scipy.sparse import csc_array, csr_array, vstack

    if is_sparse(codes):
        columns = codes.tocsc()
        ones = (columns.data != 0).astype(np.int8)
        fires = csc_array((ones, columns.indices, columns.indptr), shape=columns.shape, copy=not ones.all())
        fires.eliminate_zeros()
        return fires
    size = max(1, ROOM // (8 * codes.shape[1]))
    blocks = [csr_array((codes[at : at + size] != 0).astype(np.int8)) for at in range(0, len(codes), size)]
    return vstack(blocks).tocsc() if blocks else csc_array(codes.shape, dtype=np.int8)


def rates(fires: Any) -> Floats:
    """Share of the rows in which each latent fires, (d,)."""
    share: Floats = np.diff(fires.indptr) / max(1, fires.shape[0])
    return share


def duplicates(
    directions: NDArray[np.float32], alive: Ints, progress: Progress = silent
) -> tuple[tuple[int, ...], ...]:
    """Groups of latents that have one direction, up to a cosine of 0.95 from one to the next.

    Args:
        directions: (d, w) of length 1.
        alive: the latents that are looked at.
        progress: told how many were compared with all others.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = [np.empty((2, 0), dtype=np.int64), *_alike(directions[alive], progress)]
    first, second = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(len(alive), len(alive)))
    _, component = connected_components(graph, directed=False)
    order = np.argsort(component, kind="stable")
    groups = np.split(alive[order], np.flatnonzero(np.diff(component[order])) + 1) if len(alive) else []
    return tuple(tuple(group.tolist()) for group in groups if len(group) > 1)


def _alike(directions: NDArray[np.float32], progress: Progress) -> Iterator[Ints]:
    """Pairs (2, ...) of rows with a cosine of 0.95 and more."""
    n = len(directions)
    size = max(1, ROOM // (4 * max(1, n)))
    for first in range(0, n, size):
        progress("looking for repeated directions", first, n)
        cosines = directions[first : first + size] @ directions[first:].T
        rows, columns = np.nonzero(cosines >= COPY)
        above = columns > rows
        yield first + np.stack([rows[above], columns[above]])
    progress("looking for repeated directions", n, n)
