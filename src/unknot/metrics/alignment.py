"""Which latent stands for which factor."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import Rows
from unknot.metrics.kernels.information import (
    equal_ranks,
    frequency_information,
    mutual_information,
    table_information,
)
from unknot.metrics.latents import in_blocks
from unknot.processes.threads import side_by_side
from unknot.reading.arrays import is_sparse

UNALIGNED = -1
ROOM = 2**23  # bytes of tables of sparse latents that are made at a time
DECIDES = 1e-7  # of the largest weight: between equals, and far below any difference that means something
Cuts = Literal["tie_safe", "published"]


@dataclass(frozen=True)
class Alignment:
    """The latent of every factor.

    Attributes:
        latents: (k,) column of the latent of each factor, UNALIGNED (-1) where none was left.
        arbitrary: (k,) whether a factor's weight with its latent is zero, so that any other would have done.
    """

    latents: Ints
    arbitrary: Bools


def align(weights: Any, *, naive: bool = False, share: bool = False, ties: Floats | None = None) -> Alignment:
    """Give every factor a latent of its own so that the summed weight is as large as possible.

    f = argmax over injective f of  sum_j weights[f(j), j]        (the Hungarian method)

    The naive counterpart takes the best latent of each factor alone, so that two factors can end at one latent:
    it rewards a code that puts everything into a single latent.

    Args:
        weights: (d, k) what latent i says about factor j: mutual information, importance, R^2.
        naive: each factor's best latent, whatever the others take.
        share: with more factors than latents, let latents serve several factors, each as often as any other
            or once less (the published code's way), instead of leaving factors without one.
        ties: (d, k) what decides between equally good assignments, before their order does.

    Edge cases: with more factors than latents, those outside the best d get UNALIGNED. Among equally good
    assignments the one that gives low latents to low factors is taken.

    Reference: Mahon et al., Correcting Flaws in Common Disentanglement Metrics, section 4.1.

    >>> align([[9.0, 8.0], [7.0, 1.0]]).latents
    array([1, 0])
    >>> align([[9.0, 8.0], [7.0, 1.0]], naive=True).latents
    array([0, 0])
    """
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 2 or 0 in w.shape:
        raise UnknotError(f"align: weights have shape {w.shape}; expected (n_latents, n_factors), neither zero.")
    if not np.isfinite(w).all():
        raise UnknotError(f"align: weights have {int((~np.isfinite(w)).sum())} NaN or infinite entries.")
    d, k = w.shape
    if naive:
        latents = w.argmax(axis=0)
    else:
        copies = -(-k // d) if share else 1
        if ties is not None:
            w = w + DECIDES * _largest(w) * ties / _largest(ties)
        latents = _hungarian(np.tile(w, (copies, 1)))
        latents[latents >= 0] %= d
    weight = np.where(latents >= 0, w[latents, np.arange(k)], 0.0)
    return Alignment(latents.astype(np.int64), (latents >= 0) & (np.abs(weight) <= 1e-12 * _largest(w)))


def alignment_information(rows: Rows, cuts: Cuts = "tie_safe") -> Floats:
    """MI (d, k) in nats between each factor and each latent in as many bins of equal count as it has classes."""
    if cuts == "tie_safe":
        return _in_bins(rows, rows.sizes)
    ordered = np.sort(rows.latents, axis=0)
    columns = []
    for j, size in enumerate(rows.sizes):
        points = published_cuts(ordered, int(size))
        codes = np.stack(
            [np.searchsorted(c, z, side="right") for c, z in zip(points.T, rows.latents.T, strict=True)], axis=1
        )
        of_factor = rows.factors[:, [j]]
        columns.append(mutual_information(codes.astype(np.int32), int(size), of_factor, rows.sizes[[j]])[:, 0])
    return np.stack(columns, axis=1)


def tie_breaker(rows: Rows, information: Floats) -> Floats | None:
    """What decides between latents that know equally much of a factor: what they know of it in twice as many bins.

    None where no two latents are equal, or all equal ones know nothing.
    """
    ranked = np.sort(information, axis=0)
    equal = (np.diff(ranked, axis=0) <= DECIDES * _largest(information)) & (ranked[1:] > 1e-9)
    return _in_bins(rows, 2 * rows.sizes) if equal.any() else None


def _in_bins(rows: Rows, sizes: Ints) -> Floats:
    if is_sparse(rows.latents):
        return _sparse_in_bins(rows, sizes)
    blocks = in_blocks(rows.latents)
    return np.concatenate([frequency_information(block, rows.factors, sizes) for block in blocks])


def _sparse_in_bins(rows: Rows, sizes: Ints) -> Floats:
    """The same of sparse latents, of which nothing but the stored values is sorted and counted."""
    from unknot.metrics.kernels.sparse_columns import classes_of, ranked_tables, stored

    matrix: Any = rows.latents.tocsc()  # type: ignore[attr-defined]
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    classes = classes_of(rows.factors.T, sizes)
    targets = np.concatenate([equal_ranks(len(rows.factors), int(size)) for size in sizes]).astype(np.int64)
    ends = np.cumsum(sizes**2)

    def information(block: slice) -> Floats:
        counts = np.zeros((block.stop - block.start, int(ends[-1])), dtype=np.int64)
        ranked_tables(stored(matrix, block), classes, targets, sizes, counts)
        tables = [
            counts[:, end - size**2 : end].reshape(-1, size, size) for size, end in zip(sizes, ends, strict=True)
        ]
        return table_information(tables)

    d = matrix.shape[1]
    size = max(1, ROOM // (8 * int(ends[-1])))
    return np.concatenate(side_by_side(information, [slice(i, min(i + size, d)) for i in range(0, d, size)]))


def alignment_notes(rows: Rows, alignment: Alignment) -> list[str]:
    """Sentences on factors whose latent is missing or says nothing."""
    notes = []
    for j, column in enumerate(rows.kept):
        if alignment.latents[j] == UNALIGNED:
            notes.append(f"factor '{rows.names[column]}' has no latent of its own: more factors than latents.")
        elif alignment.arbitrary[j]:
            notes.append(f"factor '{rows.names[column]}' has zero information with its latent: an arbitrary one.")
    return notes


def published_cuts(ordered: Floats, n_bins: int) -> Floats:
    """Cut points of sorted latents into bins of equal count, as the published code has them: ties may be split."""
    return ordered[np.arange(1, n_bins) * len(ordered) // n_bins]


def _hungarian(w: Floats) -> Ints:
    from scipy.optimize import linear_sum_assignment

    d, k = w.shape
    order = np.outer(2 - np.arange(d) / d, 1 - np.arange(k) / k)
    weights = w + 1e-3 * DECIDES * _largest(w) * order
    # The others take k - 1 latents at most, so that one of the k best of a factor is always left for it.
    best = np.argpartition(-weights, k, axis=0)[:k] if d > k**2 else np.arange(d)
    candidates = np.unique(best)
    factor, latent = linear_sum_assignment(weights[candidates].T, maximize=True)
    latents = np.full(k, UNALIGNED, dtype=np.int64)
    latents[factor] = candidates[latent]
    return latents


def _largest(w: Floats) -> float:
    return float(np.abs(w).max()) or 1.0
