"""The space that rows of sparse latents span, from their products: no array of all latents is made."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.metrics.units import sparse_in_units
from unknot.processes.threads import one_thread
from unknot.reading.arrays import DENSE_BYTES

ROWS = 512  # multiplied, or latents made dense, at a time
FAR = 10.0  # units from 0, from which on a mean is taken off before anything is multiplied
LEAST = (
    1e-12  # of the largest eigenvalue: what is smaller is rounding, and no penalty that is tried lets it through
)


def row_space(latents: Any, latents_test: Any) -> tuple[Floats, Floats, Floats]:
    """Coordinates of sparse latents, centred and in the units of the training rows, along axes of what these span.

    With X such latents, X X' = V S V' has the coordinates V S^1/2 for the rows of X and Y X' V S^-1/2 for
    held-out rows Y. An l2 penalty sees no other directions, and the covariance of these is diagonal.

    Args:
        latents: (n, d) the training rows.
        latents_test: (m, d) held-out rows.

    Returns:
        (n, n) coordinates, (m, n) those of held-out rows, and (n,) the eigenvalues S, in rising order, 0 where there is
        no such direction.
    """
    from scipy.linalg import eigh

    n, m = latents.shape[0], latents_test.shape[0]
    size = 8.0 * n * (n + m)
    if size > DENSE_BYTES:
        raise UnknotError(
            f"ridge: needs the products of all pairs of {n} sparse training rows, and with {m} held-out ones, in "
            f"arrays of {size / 1e9:.0f} GB; score fewer rows (--limit)."
        )
    mean, unit, held_out = sparse_in_units(latents, latents_test)
    with one_thread():
        inner, beside = _centred_products(latents, held_out, mean, unit)
        values, vectors = eigh(inner, driver="evd", overwrite_a=True)
        values = np.where(values > max(LEAST * float(values[-1]), 1e-100), values, 0.0)
        sizes = np.sqrt(values)
        return vectors * sizes, beside @ vectors / np.where(sizes > 0, sizes, np.inf), values


def _centred_products(latents: Any, held_out: Any, mean: Floats, unit: Floats) -> tuple[Floats, Floats]:
    """Products of all training rows, and of held-out ones with them, centred and in units.

    With A = latents / unit and c = mean / unit that is A A' - A c - (A c)' + c'c, but for latents whose mean is so far
    from 0 that nothing would be left of them by rounding: these are made dense, some at a time.
    """
    far = np.flatnonzero(np.abs(mean) > FAR * unit)
    near = unit.copy()
    near[far] = np.inf
    centre = mean / near
    own, other = (table.tocsr().astype(np.float64).multiply(1 / near).tocsr() for table in (latents, held_out))
    shift, shift_test = (table @ centre - centre @ centre / 2 for table in (own, other))
    inner = _products(own, own) - shift - shift[:, None]
    beside = _products(other, own) - shift - shift_test[:, None]
    columns, columns_test = latents.tocsc(), held_out.tocsc()
    for start in range(0, len(far), ROWS):
        some = far[start : start + ROWS]
        a, b = ((each[:, some].toarray() - mean[some]) / unit[some] for each in (columns, columns_test))
        inner += a @ a.T
        beside += b @ a.T
    return inner, beside


def _products(first: Any, second: Any) -> Floats:
    """The products (n, m) of all rows of two sparse matrices, some rows at a time."""
    result, turned = np.empty((first.shape[0], second.shape[0])), second.T.tocsr()
    for start in range(0, len(result), ROWS):
        part = slice(start, start + ROWS)
        result[part] = (first[part] @ turned).toarray()
    return result
