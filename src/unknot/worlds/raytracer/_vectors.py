"""Vectors of three numbers, and how all of the tracer is compiled."""

# To be raised as `_trace` says. Tracer 6.

# mypy: disable-error-code="no-any-return"

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Table = NDArray[np.float64]
Vector = tuple[float, float, float]

# No "nnan" and "ninf": a grazing ray may divide by zero, and the comparisons after it must stay right.
FAST: Any = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz", "reassoc", "afn"}}
# Functions that make no arrays need not count references to them; the counting took more than half of the time.
LEAN: Any = {**FAST, "_nrt": False}
INLINE: Any = {**LEAN, "forceinline": True}


@njit(**INLINE)
def vector(table: Table, row: int, column: int) -> Vector:
    """The three numbers of a row that begin at a column."""
    return table[row, column], table[row, column + 1], table[row, column + 2]


@njit(**INLINE)
def put(table: Table, row: int, column: int, a: Vector) -> None:
    """Write a vector where `vector` reads it."""
    table[row, column], table[row, column + 1], table[row, column + 2] = a


@njit(**INLINE)
def plus(a: Vector, b: Vector) -> Vector:
    """The sum a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(**INLINE)
def minus(a: Vector, b: Vector) -> Vector:
    """The difference a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(**INLINE)
def times(a: Vector, b: Vector) -> Vector:
    """The product of each number of a with its counterpart in b."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@njit(**INLINE)
def scaled(t: float, a: Vector) -> Vector:
    """The multiple t a."""
    return t * a[0], t * a[1], t * a[2]


@njit(**INLINE)
def spanned(a: Vector, u: float, b: Vector, v: float, c: Vector) -> Vector:
    """The point a + u b + v c of a plane."""
    return plus(plus(a, scaled(u, b)), scaled(v, c))


@njit(**INLINE)
def dot(a: Vector, b: Vector) -> float:
    """The scalar product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**INLINE)
def cross(a: Vector, b: Vector) -> Vector:
    """The vector product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(**INLINE)
def unit(a: Vector) -> Vector:
    """The vector of length one that points where a does."""
    return scaled(1.0 / math.sqrt(dot(a, a)), a)
