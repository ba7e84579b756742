"""Factors of variation: their names, sizes and kinds, and the grid they span.

A *class* is a number 0..size-1; a *value* is the physical quantity behind it (an angle, a hue). A point of
the grid is a row of classes; its *index* counts the grid in storage order, last factor fastest.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.reading.arguments import must_be

Kind = Literal["ordinal", "categorical", "circular", "continuous", "constant"]
Classes = NDArray[np.int64]  # (n_points, n_factors)
Indices = NDArray[np.int64]  # (n_points,)
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Factor:
    """One factor of variation.

    Args:
        name: what the factor is called.
        size: how many classes it has.
        kind: "ordinal", "categorical", "circular" (the last class neighbours the first), "continuous" (a measurement,
            whose classes are the values that occur) or "constant".
        values: the physical value (or the name) of each class; the class number itself if left out.

    >>> Factor("scale", 6, values=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0)).numbers[2]
    np.float64(0.7)
    """

    name: str
    size: int
    kind: Kind = "ordinal"
    values: tuple[float | str, ...] = ()

    def __post_init__(self) -> None:
        must_be("factor", "name", self.name, str)
        if not isinstance(self.kind, str) or self.kind not in get_args(Kind):
            raise unknown("kind of factor", self.kind, get_args(Kind))
        must_be(f"factor '{self.name}'", "size", self.size, float)
        if not self.size >= 1 or self.size % 1:
            raise UnknotError(
                f"factor '{self.name}': size is {self.size}; it is a whole number of classes, at least one."
            )
        must_be(f"factor '{self.name}'", "values", self.values, Iterable[float | str])
        object.__setattr__(self, "size", int(self.size))
        object.__setattr__(self, "values", tuple(self.values))
        if (self.size == 1) != (self.kind == "constant"):
            raise UnknotError(
                f"factor '{self.name}': has {self.size} class(es) and kind '{self.kind}'; exactly the factors "
                "with one class are of kind 'constant'. Drop the factor or change its kind."
            )
        if self.values and len(self.values) != self.size:
            raise UnknotError(
                f"factor '{self.name}': has {self.size} classes but {len(self.values)} values; give one each."
            )

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The physical value of every class; the class number where values are missing or are names."""
        if self.values and not any(isinstance(value, str) for value in self.values):
            return _frozen(np.array(self.values, dtype=np.float64))
        return _frozen(np.arange(self.size, dtype=np.float64))

    def label(self, class_: int) -> str:
        """How a class is shown to people: its name or value."""
        if not self.values:
            return str(class_)
        value = self.values[class_]
        return value if isinstance(value, str) else f"{value:.4g}"


@dataclass(frozen=True)
class FactorSpace:
    """The grid of all combinations of some factors, never materialised.

    >>> space = FactorSpace((Factor("shape", 3, "categorical"), Factor("x", 32), Factor("y", 32)))
    >>> space.size, space.shape
    (3072, (3, 32, 32))
    >>> space.indices([[0, 1, 0]])
    array([32])
    >>> space.classes([32])
    array([[0, 1, 0]])
    """

    factors: tuple[Factor, ...]
    size: int = field(init=False)

    def __post_init__(self) -> None:
        must_be("factor space", "factors", self.factors, Iterable[Factor])
        factors = tuple(self.factors)
        object.__setattr__(self, "factors", factors)
        if not factors:
            raise UnknotError("a factor space needs at least one factor; got none.")
        repeated = [a for a, b in pairwise(sorted(f.name for f in factors)) if a == b]
        if repeated:
            raise UnknotError(f"factor space: the name '{repeated[0]}' occurs twice; names must differ.")
        size = math.prod(factor.size for factor in factors)
        if size >= 2**63:
            raise UnknotError(f"factor space: {size:.3g} points do not fit a 64-bit index; use fewer factors.")
        object.__setattr__(self, "size", size)

    def __len__(self) -> int:
        return len(self.factors)

    def __iter__(self) -> Iterator[Factor]:
        return iter(self.factors)

    def __getitem__(self, name: str) -> Factor:
        return self.factors[self.position(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """Factor names in storage order."""
        return tuple(f.name for f in self.factors)

    @property
    def shape(self) -> tuple[int, ...]:
        """Factor sizes in storage order: the shape of an array with one entry per grid point."""
        return tuple(f.size for f in self.factors)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Factor sizes as an array."""
        return _frozen(np.array(self.shape, dtype=np.int64))

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """How far the index moves when a factor's class grows by one."""
        strides = np.ones(len(self.factors), dtype=np.int64)
        for i in range(len(self.factors) - 2, -1, -1):
            strides[i] = strides[i + 1] * self.shape[i + 1]
        return _frozen(strides)

    def position(self, name: str) -> int:
        """The column of a factor, by name."""
        if name not in self.names:
            raise unknown("factor", name, self.names)
        return self.names.index(name)

    def check(self, classes: ArrayLike, who: str = "factor space") -> Classes:
        """The classes as an (n, n_factors) int64 array, or an error naming the first entry out of range."""
        array = np.asarray(classes)
        if array.ndim == 1 and array.size == len(self.factors):
            array = array[None]
        if array.ndim != 2 or array.shape[1] != len(self.factors):
            raise UnknotError(
                f"{who}: classes have shape {array.shape}; expected (n, {len(self.factors)}), one column each "
                f"for {', '.join(self.names)}."
            )
        array = np.ascontiguousarray(_whole(array, f"{who}: classes"))
        bad = (array < 0) | (array >= self.sizes)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            factor = self.factors[column]
            raise UnknotError(
                f"{who}: row {row} has class {array[row, column]} for factor '{factor.name}'; "
                f"it has classes 0..{factor.size - 1}."
            )
        return array

    def indices(self, classes: ArrayLike) -> Indices:
        """Grid index of each row of classes."""
        result: Indices = self.check(classes) @ self.strides
        return result

    def classes(self, indices: ArrayLike) -> Classes:
        """Row of classes of each grid index."""
        array = np.atleast_1d(_whole(np.asarray(indices), "factor space: indices"))
        if array.ndim != 1:
            raise UnknotError(f"factor space: indices have shape {array.shape}; expected one number per point.")
        if array.size and (array.min() < 0 or array.max() >= self.size):
            wrong = array[(array < 0) | (array >= self.size)][0]
            raise UnknotError(f"factor space: index {wrong} is outside the grid of {self.size} points.")
        return array[:, None] // self.strides % self.sizes

    def numbers(self, classes: ArrayLike) -> NDArray[np.float64]:
        """Physical values of each row of classes."""
        checked = self.check(classes)
        return np.stack([f.numbers[checked[:, i]] for i, f in enumerate(self.factors)], axis=1)

    def measured(self, classes: Classes) -> NDArray[Any]:
        """The classes, with physical values in place of those of continuous factors."""
        places = [i for i, f in enumerate(self.factors) if f.kind == "continuous"]
        if not places:
            return classes
        values = classes.astype(np.float64)
        values[:, places] = self.numbers(classes)[:, places]
        return values

    @property
    def kinds(self) -> dict[str, Kind]:
        """Factor -> its kind, of those that vary."""
        return {factor.name: factor.kind for factor in self.factors if factor.kind != "constant"}

    def scaled(self, classes: ArrayLike) -> NDArray[np.float64]:
        """Classes divided by size - 1, so that every factor spans [0, 1]; constants are 0."""
        return self.check(classes) / np.maximum(self.sizes - 1, 1)

    def sample(self, n: int, rng: np.random.Generator, *, fixed: Mapping[str, int] | None = None) -> Classes:
        """Draw n points uniformly, with replacement; factors in `fixed` keep the class given there."""
        points = rng.integers(0, self.sizes, size=(n, len(self.factors)), dtype=np.int64)
        for name, class_ in (fixed or {}).items():
            if not 0 <= class_ < self[name].size or class_ % 1:
                raise UnknotError(
                    f"factor space: cannot fix '{name}' at class {class_}; it has classes 0..{self[name].size - 1}."
                )
            points[:, self.position(name)] = class_
        return points

    def chunks(self, size: int = 65_536) -> Iterator[Classes]:
        """All points in index order, `size` at a time."""
        if size < 1:
            raise UnknotError(f"factor space: chunks of {size} points; give a size of at least one.")
        for start in range(0, self.size, size):
            yield self.classes(np.arange(start, min(start + size, self.size), dtype=np.int64))

    def subspace(self, names: Iterable[str]) -> "FactorSpace":
        """The space of some of the factors, in the order given."""
        return FactorSpace(tuple(self[name] for name in names))

    def first(self, name: str, n: int) -> "FactorSpace":
        """The space in which one factor keeps only its first n classes; class numbers stay as they were.

        A circular factor that loses classes no longer closes, so it becomes ordinal; one that keeps a single
        class becomes constant.

        >>> space({"angle": 40, "x": 32}, circular=["angle"]).first("angle", 10)["angle"].kind
        'ordinal'
        """
        factor = self[name]
        if not 1 <= n <= factor.size:
            raise UnknotError(
                f"factor space: cannot keep the first {n} classes of '{name}', which has {factor.size}."
            )
        if n == factor.size:
            return self
        open_kind: Kind = "ordinal" if factor.kind == "circular" else factor.kind
        shorter = Factor(name, n, "constant" if n == 1 else open_kind, factor.values[:n])
        return FactorSpace(tuple(shorter if f.name == name else f for f in self.factors))

    def as_json(self) -> list[dict[str, Any]]:
        """The factors as plain lists and dicts; `from_json` reads them back."""
        return [{"name": f.name, "size": f.size, "kind": f.kind, "values": list(f.values)} for f in self.factors]

    @classmethod
    def from_json(cls, record: Sequence[Mapping[str, Any]]) -> "FactorSpace":
        """The space that `as_json` described."""
        try:
            return cls(tuple(Factor(r["name"], r["size"], r["kind"], tuple(r.get("values", ()))) for r in record))
        except (KeyError, TypeError) as error:
            raise UnknotError(
                "factor space: expected a list of factors with name, size, kind and values; "
                f"could not read {record!r:.200} ({error})."
            ) from None


def numbered(n: int) -> FactorSpace:
    """The factor space of pictures told apart by number alone.

    >>> numbered(3).names
    ('image',)
    """
    return FactorSpace((Factor("image", n, "categorical" if n > 1 else "constant"),))


def space(
    sizes: Mapping[str, int], *, categorical: Sequence[str] = (), circular: Sequence[str] = ()
) -> FactorSpace:
    """A factor space from names and sizes alone.

    >>> space({"shape": 3, "x": 32}, categorical=["shape"]).shape
    (3, 32)
    """

    def kind(name: str, size: int) -> Kind:
        if size == 1:
            return "constant"
        return "categorical" if name in categorical else "circular" if name in circular else "ordinal"

    for name in (*categorical, *circular):
        if name not in sizes:
            raise unknown("factor", name, sizes)
    return FactorSpace(tuple(Factor(name, size, kind(name, size)) for name, size in sizes.items()))


def _whole(array: NDArray[Any], who: str) -> NDArray[np.int64]:
    """The array as int64, or an error where that would change a number."""
    if array.dtype.kind not in "iubf":
        if array.size:
            raise UnknotError(f"{who} must be whole numbers; got values of type {array.dtype}.")
        return array.astype(np.int64)
    if array.dtype.kind == "f" and not np.all(np.isfinite(array) & (np.floor(array) == array)):
        raise UnknotError(f"{who} must be whole numbers; got {array.dtype} with fractions, NaN or infinities.")
    if array.size and (array.max() >= 2**63 or array.min() < -(2**63)):
        raise UnknotError(f"{who} must fit 64 bits; got {array.max()}.")
    return array.astype(np.int64, copy=False)


def _frozen(array: NDArray[T]) -> NDArray[T]:
    array.setflags(write=False)  # cached and shared
    return array
