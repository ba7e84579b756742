"""Parts of a factor grid: what a split trains on, what it tests on, what an incomplete world has.

Every region answers the same four questions without listing the grid where that can be helped: how many points,
is this point inside, draw some points, and which classes may one factor take while the others stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace

Mask = NDArray[np.bool_]
MOST_MASKED = 2**31  # points; a mask takes a byte each


class Region(Protocol):
    """A part of a factor grid."""

    @property
    def space(self) -> FactorSpace:
        """The grid it is a part of."""

    @property
    def size(self) -> int:
        """How many points it has."""

    def mask(self) -> Mask:
        """(n_points,) over the whole grid in index order; a byte a point."""

    def contains(self, classes: ArrayLike) -> Mask:
        """(n,) which rows of classes are inside."""

    def sample(self, n: int, rng: np.random.Generator) -> Classes:
        """Draw n of its points uniformly, with replacement."""

    def along(self, classes: Classes, column: int) -> Mask:
        """(n, size) the classes one factor may take so that each row, a point inside, stays inside.

        One row stands for all where the answer is the same for every point.
        """


@dataclass(frozen=True, eq=False)
class Box:
    """The points whose every factor has an allowed class: a product of per-factor sets.

    Args:
        space: the grid.
        allowed: for each factor in storage order, a (size,) mask of its allowed classes.
    """

    space: FactorSpace
    allowed: tuple[Mask, ...]

    @property
    def size(self) -> int:
        """How many points it has: the product of the numbers of allowed classes."""
        return prod(int(mask.sum()) for mask in self.allowed)

    def mask(self) -> Mask:
        """(n_points,) over the whole grid: the outer product of the per-factor masks."""
        check_maskable(self.space)
        return reduce(lambda grid, mask: np.logical_and.outer(grid, mask).reshape(-1), self.allowed)

    def contains(self, classes: ArrayLike) -> Mask:
        """(n,) which rows of classes are inside."""
        return self._inside(self.space.check(classes), range(len(self.space)))

    def sample(self, n: int, rng: np.random.Generator) -> Classes:
        """Draw n of its points uniformly, with replacement."""
        return np.stack([_draw(mask, n, rng) for mask in self.allowed], axis=1)

    def along(self, classes: Classes, column: int) -> Mask:
        """(1, size) the factor's allowed classes, whatever the others are."""
        return self.allowed[column][None]

    def _inside(self, classes: Classes, columns: Sequence[int]) -> Mask:
        inside = np.ones(len(classes), dtype=np.bool_)
        for i in columns:
            inside &= self.allowed[i][classes[:, i]]
        return inside


@dataclass(frozen=True, eq=False)
class Outside:
    """All points that are not in a box."""

    box: Box

    @property
    def space(self) -> FactorSpace:
        """The grid it is a part of."""
        return self.box.space

    @property
    def size(self) -> int:
        """How many points it has."""
        return self.space.size - self.box.size

    def mask(self) -> Mask:
        """(n_points,) over the whole grid in index order."""
        mask = self.box.mask()
        return np.logical_not(mask, out=mask)

    def contains(self, classes: ArrayLike) -> Mask:
        """(n,) which rows of classes are inside."""
        return ~self.box.contains(classes)

    def sample(self, n: int, rng: np.random.Generator) -> Classes:
        """Draw n of its points uniformly, with replacement, and with none to reject.

        A point outside has a first factor i whose class is not allowed; the factors before it are in the box and
        those after it are free. So choose i by the number of such points, then draw each factor on its own.
        """
        allowed, shape = self.box.allowed, self.space.shape
        inside = [int(mask.sum()) for mask in allowed]
        weights = [prod(inside[:i]) * (shape[i] - inside[i]) * prod(shape[i + 1 :]) for i in range(len(shape))]
        first = rng.choice(len(shape), size=n, p=np.array(weights, dtype=np.float64) / sum(weights))
        points = self.space.sample(n, rng)
        for i, mask in enumerate(allowed):
            leaves, before = first == i, first > i
            points[leaves, i] = _draw(~mask, int(leaves.sum()), rng)
            points[before, i] = _draw(mask, int(before.sum()), rng)
        return points

    def along(self, classes: Classes, column: int) -> Mask:
        """(n, size) all classes, unless the other factors are in the box: then only those not allowed there."""
        others = self.box._inside(classes, [i for i in range(len(self.space)) if i != column])
        return ~(others[:, None] & self.box.allowed[column])


@dataclass(frozen=True, eq=False)
class Masked:
    """The points marked in a mask of the whole grid."""

    space: FactorSpace
    marked: Mask  # (n_points,)

    @cached_property
    def size(self) -> int:
        """How many points it has."""
        return int(np.count_nonzero(self.marked))

    def mask(self) -> Mask:
        """(n_points,) a copy of the mask."""
        return self.marked.copy()

    def contains(self, classes: ArrayLike) -> Mask:
        """(n,) which rows of classes are inside."""
        return self.marked[self.space.indices(classes)]

    def sample(self, n: int, rng: np.random.Generator) -> Classes:
        """Draw n of its points uniformly, with replacement."""
        return self.space.classes(self._indices[rng.integers(0, len(self._indices), size=n)])

    def along(self, classes: Classes, column: int) -> Mask:
        """(n, size) the mask along one axis of the grid."""
        return self.marked[_line(self.space, classes, column)]

    @cached_property
    def _indices(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.marked)


@dataclass(frozen=True, eq=False)
class Listed:
    """The points of an incomplete world, or of its training part: those in a list of rows.

    Args:
        space: the grid.
        rows: (n, n_factors) classes; a row listed twice is drawn twice as often.
    """

    space: FactorSpace
    rows: Classes

    def __post_init__(self) -> None:
        rows = self.space.check(self.rows, "listed rows")
        if not len(rows):
            raise UnknotError("listed rows: there are none; give at least one row of classes.")
        object.__setattr__(self, "rows", rows)

    @property
    def size(self) -> int:
        """How many different points are listed."""
        return len(self._indices)

    def mask(self) -> Mask:
        """(n_points,) over the whole grid in index order."""
        check_maskable(self.space)
        mask = np.zeros(self.space.size, dtype=np.bool_)
        mask[self._indices] = True
        return mask

    def contains(self, classes: ArrayLike) -> Mask:
        """(n,) which rows of classes are listed."""
        return self._has(self.space.indices(classes))

    def sample(self, n: int, rng: np.random.Generator) -> Classes:
        """Draw n of the rows uniformly, with replacement."""
        return self.rows[rng.integers(0, len(self.rows), size=n)]

    def along(self, classes: Classes, column: int) -> Mask:
        """(n, size) the classes of one factor that are listed together with the others of each row."""
        return self._has(_line(self.space, classes, column))

    @cached_property
    def _indices(self) -> NDArray[np.int64]:
        return np.unique(self.rows @ self.space.strides)

    @cached_property
    def _small(self) -> Mask | None:
        # Looking up a mask is some ten times faster than searching; a grid of 2^27 points is 128 MB.
        return self.mask() if self.space.size <= 2**27 else None

    def _has(self, indices: NDArray[np.int64]) -> Mask:
        if self._small is not None:
            return self._small[indices]
        at = np.minimum(np.searchsorted(self._indices, indices), len(self._indices) - 1)
        listed: Mask = self._indices[at] == indices
        return listed


def whole(space: FactorSpace) -> Box:
    """The region of all points of a grid."""
    return Box(space, tuple(np.ones(size, dtype=np.bool_) for size in space.shape))


def check_maskable(space: FactorSpace) -> None:
    """Refuse masks of grids that would fill the memory."""
    if space.size > MOST_MASKED:
        raise UnknotError(
            f"a mask of {space.size:,} grid points would take {space.size / 2**30:,.1f} GB; ask for single points "
            "with contains(classes) or draw some with sample(n, rng) instead."
        )


def _line(space: FactorSpace, classes: Classes, column: int) -> NDArray[np.int64]:
    stride = space.strides[column]
    start = classes @ space.strides - classes[:, column] * stride
    line: NDArray[np.int64] = start[:, None] + stride * np.arange(space.shape[column])
    return line


def _draw(mask: Mask, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    values = np.flatnonzero(mask)
    return values[rng.integers(0, len(values), size=n)] if n else np.empty(0, dtype=np.int64)
