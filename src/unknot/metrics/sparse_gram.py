"""The space that rows of sparse latents span, from their products: no array of all latents is made."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats
from unknot.metrics.units import sparse_in_units
from unknot.reading.arrays import DENSE_BYTES

ROWS = 512  # multiplied at a time
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
        (n, r) coordinates, (m, r) those of held-out rows, and (r,) the eigenvalues S, in rising order.
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
    # With A = latents / unit and c = mean / unit, X X' is A A' - A c - (A c)' + c'c.
    centre = mean / unit
    own, other = (table.tocsr().astype(np.float64).multiply(1 / unit).tocsr() for table in (latents, held_out))
    shift = own @ centre - centre @ centre / 2
    values, vectors = eigh(_products(own, own) - shift - shift[:, None], driver="evd", overwrite_a=True)
    seen = values > max(LEAST * float(values[-1]), 1e-100)
    if not seen.any():  # every latent is dead
        return np.zeros((n, 1)), np.zeros((m, 1)), np.zeros(1)
    values, vectors = values[seen], vectors[:, seen]
    beside = _products(other, own) - shift - (other @ centre - centre @ centre / 2)[:, None]
    return vectors * np.sqrt(values), beside @ vectors / np.sqrt(values), values


def _products(first: Any, second: Any) -> Floats:
    """The products (n, m) of all rows of two sparse matrices, some rows at a time."""
    result, turned = np.empty((first.shape[0], second.shape[0])), second.T.tocsr()
    for start in range(0, len(result), ROWS):
        part = slice(start, start + ROWS)
        result[part] = (first[part] @ turned).toarray()
    return result
