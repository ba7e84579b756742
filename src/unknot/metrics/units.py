"""Units that penalised probes take latents in: their deviations or, where they are mostly 0, the size of firings.

A penalty is one number for all latents, so that units decide which of them it holds back. The deviation of a latent
that fires in few rows is small, and in such a unit each of its firings is enormous: a probe of many rare latents would
be that of the rarest ones, which are told by luck.
"""

from typing import Any

import numpy as np

from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.heads import standardiser
from unknot.metrics.latents import dead_latents
from unknot.reading.arrays import is_sparse


def rare(latents: Any) -> Ints:
    """Which latents (n, d) of a wide code fire in fewer than half of the rows, and in some."""
    n, d = latents.shape
    if d <= WIDE:
        return np.empty(0, dtype=np.int64)
    if is_sparse(latents):
        rows = latents.tocsr()
        fired = np.bincount(rows.indices[rows.data != 0], minlength=d)
    else:
        fired = np.count_nonzero(latents, axis=0)
    return np.flatnonzero((fired > 0) & (2 * fired < n))


def in_units(latents: Floats, latents_test: Floats) -> tuple[Floats, Floats, Floats]:
    """Means (d,) and units (d,) of latents (n, d), and held-out latents (m, d) of which no firing is beyond all seen.

    A rare latent has the root of the mean square of its firings for a unit. Nothing is known of larger ones than there
    were, and of one firing the unit is that firing, however small: held-out ones count as the extremes of the training
    rows at most. The unit of a dead latent is infinite.
    """
    mean, unit = standardiser(latents)
    few = rare(latents)
    few = few[np.isfinite(unit[few])]
    if not len(few):
        return mean, unit, latents_test
    own = latents[:, few]
    unit[few] = np.sqrt((own**2).sum(axis=0) / np.count_nonzero(own, axis=0))
    held_out = latents_test.copy()
    held_out[:, few] = np.clip(held_out[:, few], own.min(axis=0), own.max(axis=0))
    return mean, unit, held_out


def sparse_in_units(latents: Any, latents_test: Any) -> tuple[Floats, Floats, Any]:
    """The same of sparse latents of a wide code, from their entries alone."""
    columns, held_out = (table.tocsc().astype(np.float64) for table in (latents, latents_test))
    columns.eliminate_zeros()
    n, d = columns.shape
    fired = np.diff(columns.indptr)
    of = np.repeat(np.arange(d), fired)
    mean = np.bincount(of, columns.data, d) / n
    away = np.bincount(of, (columns.data - mean[of]) ** 2, d) + (n - fired) * mean**2
    unit = np.sqrt(away / n)
    dead = unit <= 1e-12 * np.maximum(1.0, np.abs(mean))
    dead[dead_latents(latents)] = True
    few = 2 * fired < n
    unit[few] = np.sqrt(np.bincount(of, columns.data**2, d)[few] / np.maximum(fired[few], 1))
    unit[dead] = np.inf
    ends = [np.asarray(end(axis=0).todense()).ravel() for end in (columns.min, columns.max)]
    low, high = np.where(few, ends[0], -np.inf), np.where(few, ends[1], np.inf)
    of_test = np.repeat(np.arange(d), np.diff(held_out.indptr))
    held_out.data = np.clip(held_out.data, low[of_test], high[of_test])
    return mean, unit, held_out
