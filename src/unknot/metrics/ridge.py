"""Linear probes of any width: one Gram matrix, brought to tridiagonal form once, serves all factors and penalties.

With X (n, d) standardised latents, X'X = Q T Q' costs about as much as a single matrix decomposition. After it, the
coefficients of ridge regression for one penalty are a tridiagonal system, and so is what makes logistic regression
well conditioned: choosing a penalty costs next to nothing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.heads import standardiser
from unknot.metrics.sparse_gram import row_space
from unknot.metrics.units import in_units
from unknot.processes.threads import one_thread, side_by_side
from unknot.reading.arrays import dense, is_sparse

Real = TypeVar("Real", np.float32, np.float64)
ROWS = 1_024  # left out one by one, or turned, at a time
PLENTY = 8  # rows for each latent, from which on singles tell the entries of the hat matrix
HEAVY = 0.5  # an entry that doubles are to tell
LEFT_OUT = 16_384  # rows that are left out one by one; of more, these are drawn
PENALTIES = 61  # tried between the two ends of the grid
WEAKEST, STRONGEST = 1e-8, 1e4  # ends of the grid, relative to the largest eigenvalue of X'X
ALIKE = 1e-6  # share by which errors of penalties that are equally good may differ
FREE = 1e-3  # of the rows, that a fit leaves free at least: where it leaves fewer, errors are told by rounding


@dataclass(frozen=True)
class Gram:
    """Scaled latents and their Gram matrix in tridiagonal form.

    Attributes:
        x: (n, r) training latents, r the smaller of n and d: wider ones are turned into the space of their rows.
        x_test: (m, r) held-out latents.
        diagonal: (r,) of T.
        beside: (r - 1,) next to it.
        reflectors: Q as LAPACK keeps it.
    """

    x: Floats
    x_test: Floats
    diagonal: Floats
    beside: Floats
    reflectors: tuple[Floats, Floats]

    @classmethod
    def of(cls, latents: Floats, latents_test: Floats) -> "Gram":
        """That of latents (n, d) and (m, d), standardised by the former."""
        return cls._scaled(latents, latents_test, *standardiser(latents))

    @classmethod
    def in_units(cls, latents: Any, latents_test: Any) -> "Gram":
        """That of latents (n, d) and (m, d), which may be sparse, in units in which rare ones count as such."""
        if is_sparse(latents) and latents.shape[1] > latents.shape[0]:
            from scipy.sparse import csr_array

            x, x_test, values = row_space(latents, csr_array(latents_test))
            return cls(x, x_test, values, np.zeros(len(values) - 1), (np.empty((0, 0)), np.empty(0)))
        own, other = (dense(each, "ridge") if is_sparse(each) else each for each in (latents, latents_test))
        mean, unit, held_out = in_units(own, other)
        return cls._scaled(own, held_out, mean, unit)

    @classmethod
    def _scaled(cls, latents: Floats, latents_test: Floats, mean: Floats, unit: Floats) -> "Gram":
        x, x_test = (latents - mean) / unit, (latents_test - mean) / unit
        with one_thread():
            if x.shape[1] > len(x):
                basis = np.linalg.qr(x.T)[0]  # an l2 penalty does not see directions that no row has
                x, x_test = x @ basis, x_test @ basis
            return cls.of_products(x.T @ x, x, x_test)

    @classmethod
    def of_products(cls, gram: Floats, x: Floats, x_test: Floats) -> "Gram":
        """That of X'X (r, r), which is overwritten; rows of X that nobody asks for may be missing."""
        from scipy.linalg import lapack

        if len(gram) == 1:
            return cls(x, x_test, gram[0], np.empty(0), (np.empty((0, 0)), np.empty(0)))
        with one_thread():
            room = int(lapack.dsytrd_lwork(len(gram), lower=1)[0])
            packed, diagonal, beside, tau, info = lapack.dsytrd(gram, lower=1, lwork=room, overwrite_a=1)
        if info:
            raise UnknotError(f"ridge: LAPACK's dsytrd refused the Gram matrix of the latents with code {info}.")
        return cls(x, x_test, diagonal, beside, (packed[1:, :-1], tau))

    def turn(self, columns: NDArray[Real], *, back: bool = False) -> NDArray[Real]:
        """The product Q' columns (r, k), or Q columns, in the precision of the columns."""
        from scipy.linalg import get_lapack_funcs

        result = np.array(columns, order="F")
        reflectors, tau = (np.asfortranarray(part, dtype=result.dtype) for part in self.reflectors)
        ormqr = get_lapack_funcs("ormqr", (result,))

        def turn(block: slice) -> None:
            how = ("L", "N" if back else "T", reflectors, tau, result[1:, block])
            result[1:, block] = ormqr(*how, lwork=int(ormqr(*how, lwork=-1)[1][0]))[0]

        if len(tau):
            with one_thread():
                side_by_side(turn, [slice(first, first + ROWS) for first in range(0, result.shape[1], ROWS)])
        return result

    def solve(self, columns: Floats, penalty: float) -> Floats:
        """The product (T + penalty)^-1 columns (r, k)."""
        from scipy.linalg import solveh_banded

        if not len(self.beside):
            return np.asarray(columns / (self.diagonal + penalty))
        band = np.vstack([self.diagonal + penalty, np.append(self.beside, 0.0)])
        result: Floats = solveh_banded(band, columns, lower=True, check_finite=False)
        return result

    @cached_property
    def eigenvalues(self) -> Floats:
        """Those of X'X, none below 0."""
        from scipy.linalg import eigvalsh_tridiagonal

        values = eigvalsh_tridiagonal(self.diagonal, self.beside, lapack_driver="sterf", check_finite=False)
        return np.asarray(np.maximum(values, 0.0))

    @cached_property
    def eigenvectors(self) -> tuple[Floats, Floats]:
        """Eigenvalues (r,) of X'X, none below 0, and the vectors (r, r) that belong to them, as columns."""
        from scipy.linalg import eigh_tridiagonal

        with one_thread():
            values, vectors = eigh_tridiagonal(self.diagonal, self.beside, check_finite=False)
        return np.maximum(values, 0.0), self.turn(vectors, back=True)


def ridge(gram: Gram, targets: Floats) -> tuple[Floats, Floats]:
    """Predictions (m, k) of the held-out rows by ridge regression, and the penalty (k,) of each target.

    |y - b - X w|^2 + penalty |w|^2 is minimised, each target with its own penalty, see `leave_one_out`.

    Args:
        gram: of the latents.
        targets: (n, k) of the training rows.
    """
    projected, near = best_penalties(gram, targets)
    rows = left_out(len(targets))
    judges = LeftOut(gram.x, rows, (targets - targets.mean(axis=0))[rows])
    penalties = leave_one_out(gram, judges, len(targets), projected, near)
    weights = np.column_stack(
        [gram.solve(projected[:, [j]], float(penalty))[:, 0] for j, penalty in enumerate(penalties)]
    )
    with one_thread():
        return gram.x_test @ gram.turn(weights, back=True) + targets.mean(axis=0), penalties


class LeftOut(NamedTuple):
    """Rows that are left out one by one, of all rows (n, r), which may still have to be standardised."""

    x: Floats
    rows: Ints
    targets: Floats  # (m, k) theirs, centred
    mean: Floats | float = 0.0  # (r,)
    scale: Floats | float = 1.0  # (r,)


def left_out(n: int) -> Ints:
    """Which of n rows are left out one by one: all, or some that are drawn."""
    return np.arange(n) if n <= LEFT_OUT else np.sort(np.random.default_rng(0).permutation(n)[:LEFT_OUT])


def leave_one_out(gram: Gram, judges: LeftOut, n: int, projected: Floats, near: Floats) -> Floats:
    """The penalty (k,) of each target that predicts rows best from all others.

    Tried are half powers of ten, up to a hundred times those `near`, which generalised cross-validation chooses: it
    takes all rows to be alike, and trusts features that few rows have too far. The error of a row that is left out is
    its residual over 1 - h, with h the row's entry on the diagonal of the hat matrix.

    Args:
        gram: of all rows.
        judges: the rows that are left out in turn.
        n: how many rows there are.
        projected: (r, k) of `best_penalties`.
        near: (k,) of `best_penalties`.
    """
    low, high = float(near.min()), float(near.max()) * 100
    penalties = np.geomspace(high, low, round(2 * np.log10(high / low)) + 1)
    values, vectors = gram.eigenvectors
    shrunk = 1 / (values[:, None] + penalties)
    own = vectors.T @ gram.turn(projected, back=True)
    weights = (shrunk[:, :, None] * own[:, None]).reshape(len(own), -1)
    errors = np.zeros((len(penalties), own.shape[1]))
    with one_thread():
        turned = (vectors.T / judges.scale).T
        shift = np.broadcast_to(judges.mean, len(turned)) @ turned
        lines, offsets = turned @ weights, shift @ weights

        def shares(rows: Floats, kind: type[np.floating[Any]]) -> Floats:
            """The entries (m, penalties) of rows on the diagonal of the hat matrix, computed in some precision."""
            square = rows.astype(kind, copy=False) @ turned.astype(kind, copy=False)
            square -= shift.astype(kind, copy=False)
            square *= square
            return 1 / n + np.asarray(square @ shrunk.astype(kind, copy=False), dtype=np.float64)

        for first in range(0, len(judges.rows), ROWS):
            part = slice(first, first + ROWS)
            rows = judges.x[judges.rows[part]]
            guesses = (rows @ lines - offsets).reshape(len(rows), *errors.shape)
            share = shares(rows, np.float32 if n > PLENTY * len(turned) else np.float64)
            heavy = share.max(axis=1) > HEAVY  # of which what is left of 1 needs all digits
            if heavy.any():
                share[heavy] = shares(rows[heavy], np.float64)
            rest = np.maximum(1 - share, 1e-6)
            residuals = judges.targets[part, None] - guesses
            errors += ((residuals / rest[:, :, None]) ** 2).sum(axis=0)
    result: Floats = penalties[errors.argmin(axis=0)]
    return result


def best_penalties(gram: Gram, targets: Floats) -> tuple[Floats, Floats]:
    """Q'X'y (r, k) of centred targets (n, k), and the penalty (k,) of each that generalised cross-validation chooses.

    It is the one with the smallest RSS / (n - 1 - trace of the hat matrix)^2, the strongest of equally good ones.

    Reference: Golub, Heath & Wahba 1979, Generalized Cross-Validation as a Method for Choosing a Good Ridge Parameter.
    """
    y = targets - targets.mean(axis=0)
    with one_thread():
        projected = gram.turn(gram.x.T @ y)
    return projected, generalised(gram, projected, (y**2).sum(axis=0), len(y))


def generalised(gram: Gram, projected: Floats, total: Floats, n: int) -> Floats:
    """The penalty (k,) by generalised cross-validation, of n targets whose squares add up to `total` (k,)."""
    values = gram.eigenvalues
    largest = float(values.max())  # nearly nothing where all latents are dead
    penalties = (largest if largest > 1e-100 else 1.0) * np.geomspace(STRONGEST, WEAKEST, PENALTIES)
    errors = np.full((PENALTIES, len(total)), np.inf)
    for p, penalty in enumerate(penalties):
        w = gram.solve(projected, penalty)
        rss = total - (projected * w).sum(axis=0) - penalty * (w**2).sum(axis=0)
        freedom = n - 1 - float((values / (values + penalty)).sum())
        if p and freedom < FREE * n:
            break  # and weaker ones leave fewer
        errors[p] = np.maximum(rss, 0.0) / max(freedom, 1e-6) ** 2
    as_good = errors <= (1 + ALIKE) * errors.min(axis=0)
    result: Floats = penalties[as_good.argmax(axis=0)]
    return result
