"""What latents know of factors, of latents as they came and labels that may be missing, once for all metrics."""

from typing import Any

import numpy as np

from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.kernels.columns import (
    Binning,
    Information,
    binned_information,
    maybe_dead,
    release,
    width_edges,
    width_steps,
)
from unknot.metrics.kernels.information import factor_entropy
from unknot.metrics.latents import dead
from unknot.metrics.rows import Rows
from unknot.processes.threads import side_by_side

ROOM = 2**25  # bytes of the latents that are looked at by one thread


def known_information(rows: Rows, bins: int | str = 20, *, correct: bool = False) -> Information:
    """Mutual information of latents and factors, each in the rows that have it: see `binned_information`."""
    how = known_information, bins, correct
    return rows.kept_once(how, lambda: _information(rows, bins, correct), rows.latents, rows.factors)


def factor_entropies(rows: Rows) -> Floats:
    """Entropy (k,) in nats of each factor, made once for all metrics with these rows."""
    return rows.kept_once(factor_entropies, lambda: factor_entropy(rows.factors, rows.sizes), rows.factors)


def _information(rows: Rows, bins: int | str, correct: bool) -> Information:
    z, y, sizes = rows.latents, rows.factors, rows.sizes
    there = y >= 0
    if there.all():
        return binned_information(z, y, sizes, bins, correct=correct)
    if isinstance(z, np.ndarray) and z.shape[1] > WIDE and not Binning.of(bins).zero:
        return _blocked(z, y, sizes, Binning.of(bins).bins, correct)
    alone = [
        binned_information(z[known], column[known, None], size[None], bins, correct=correct)
        for known, column, size in zip(there.T, y.T, sizes, strict=True)
    ]
    return Information(np.hstack([each.mutual for each in alone]), np.hstack([each.entropy for each in alone]))


def _blocked(latents: Any, factors: Ints, sizes: Ints, bins: int, correct: bool) -> Information:
    """The same of wide codes, from one pass over the latents: no factor's rows are copied."""
    from unknot.metrics.kernels.column_tables import reduce
    from unknot.metrics.kernels.known_tables import count_known, known_extents

    (n, d), k = latents.shape, len(sizes)
    kind = np.uint8 if sizes.max() < 2**8 else np.uint32
    labels = np.ascontiguousarray(np.where(factors < 0, sizes, factors).T, dtype=kind)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    mutual, entropy = np.empty((d, k)), np.empty((d, k))

    def count(block: slice) -> None:
        columns = np.ascontiguousarray(latents[:, block].T, dtype=np.float64)
        release(latents)
        low, high = np.full((len(columns), k), np.inf), np.full((len(columns), k), -np.inf)
        known_extents(columns, labels, sizes, low, high)
        edges = width_edges(low, high, _dead(columns, factors, low, high), bins)
        same = np.all([part[:, :, None] == part[:, None] for part in (low, high, edges[:, :, -1])], axis=0)
        tables = np.zeros((len(columns), bins, int(offsets[-1])), dtype=np.int32)
        count_known(columns, edges, width_steps(low, high, bins), same.argmax(axis=2), labels, sizes, tables)
        reduce(tables, offsets, correct, mutual[block], entropy[block])

    size = int(np.clip(ROOM // max(8 * n, 4 * bins * int(offsets[-1])), 1, d))
    side_by_side(count, [slice(first, min(first + size, d)) for first in range(0, d, size)])
    return Information(mutual, entropy)


def _dead(columns: Floats, factors: Ints, low: Floats, high: Floats) -> Any:
    """Which latents (b, n) have no variance in the rows of which factor (b, k)."""
    result = maybe_dead(low, high, (factors >= 0).sum(axis=0))
    for i, j in np.argwhere(result):
        result[i, j] = dead(columns[i, factors[:, j] >= 0, None])[0]
    return result
