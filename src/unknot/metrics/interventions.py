"""Where interventional metrics get latents whose factors they control: a table of rows, or a world and an encoder.

A table can only be asked for rows it has. Holding a factor fixed means drawing among the rows that share its value:
the same thing as an intervention if the factors are independent in the table, otherwise a conditional.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import distinct, prepare
from unknot.metrics.latents import Checked, check_latents
from unknot.metrics.random_words import random_words
from unknot.metrics.rows import spread
from unknot.reading.arrays import as_array

MOST_DRAWS = 10**8
FEW = 32  # latents
Latents = Floats
Encode = Callable[[NDArray[np.uint8]], Any]  # (n, height, width, channels) uint8 -> (n, d)


@runtime_checkable
class InterventionSource(Protocol):
    """Latents under control of the factors. Factors are numbered as in `names`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each factor has; constants have one."""

    @property
    def support(self) -> Mapping[str, Ints]:
        """How many rows each value of a factor has, where rows are limited."""

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Latents (n, d) of random points."""

    def pair_differences(self, factors: ArrayLike, batch: int, rng: np.random.Generator) -> Latents:
        """For each factor given: mean |z - z'| (points, d) over `batch` pairs that share its value.

        Each pair has a value of its own.
        """

    def shared_variances(self, factors: ArrayLike, batch: int, rng: np.random.Generator) -> Latents:
        """For each factor given: variance (points, d; ddof 1) of `batch` points that all share one value of it."""

    def counterfactuals(self, factor: int, n: int, rng: np.random.Generator) -> Latents:
        """Latents (values, n, d) of the same n random points with one factor set to each of its values in turn."""


class TableSource:
    """Draws from the rows of a table.

    Values that only one row has cannot be held fixed and are never drawn for that; `support` counts rows.

    Args:
        latents: (n, d).
        factors: (n, k) whole numbers.
        names: factor names.

    >>> source = TableSource([[0.0], [0.0], [1.0], [1.0]], [[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> source.shared_variances([0, 0], batch=8, rng=np.random.default_rng(0)).ravel()
    array([0., 0.])
    """

    def __init__(self, latents: Any, factors: Any, names: Sequence[str] | None = None) -> None:
        self._latents = np.ascontiguousarray(check_latents("TableSource", latents))
        table = as_array(factors)
        if table.ndim != 2 or len(table) != len(self._latents) or not len(table):
            raise UnknotError(
                f"TableSource: latents have {len(self._latents)} rows, factors shape {table.shape}; expected one "
                "row of factors (n, k) per row of latents."
            )
        self.names = tuple(names) if names is not None else tuple(map(str, range(table.shape[1])))
        self._groups = _Groups(table)
        self.sizes = tuple(len(counts) for counts in self._groups.counts)

    @property
    def support(self) -> Mapping[str, Ints]:
        """How many rows each value of each factor has, values in ascending order."""
        return dict(zip(self.names, self._groups.counts, strict=True))

    @cached_property
    def _by_fours(self) -> Latents:
        """The latents, beside zeros if they are few: processors add up four at a time."""
        missing = -self._latents.shape[1] % 4
        few = self._latents.shape[1] < FEW
        return np.pad(self._latents, ((0, 0), (0, missing))) if missing and few else self._latents

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Latents of n random rows, with replacement."""
        return self._latents.take(rng.integers(0, len(self._latents), size=n), axis=0)

    def pair_differences(self, factors: ArrayLike, batch: int, rng: np.random.Generator) -> Latents:
        """Mean |z - z'| over pairs of different rows that share a value; see `InterventionSource`."""
        from unknot.metrics.kernels.gathers import pair_differences

        chosen = self._groups.check(factors)
        words = rng.integers(0, 2**32, size=(len(chosen), batch, 2), dtype=np.uint32)
        result: Latents = pair_differences(self._latents, *self._groups.neighbours, chosen, words)
        return result

    def shared_variances(self, factors: ArrayLike, batch: int, rng: np.random.Generator) -> Latents:
        """Variances of batches of rows that share a value; see `InterventionSource`."""
        from unknot.metrics.kernels.gathers import shared_variances

        chosen = self._groups.check(factors)
        words = random_words(rng, (len(chosen), batch + 1))
        result: Latents = shared_variances(self._by_fours, *self._groups.arrays, chosen, words)
        return result[:, : self._latents.shape[1]]

    def counterfactuals(self, factor: int, n: int, rng: np.random.Generator) -> Latents:
        """The same points with one factor set to each value, looked up; only a complete grid has them all."""
        codes = self._groups.codes
        cells = np.prod([float(size) for size in self.sizes])
        strides = (
            np.cumprod([1, *self.sizes[:0:-1]])[::-1] if cells <= len(self._latents) else np.zeros(0, np.int64)
        )
        keys = strides @ codes if len(strides) else np.zeros(0, np.int64)
        if len(np.unique(keys)) != cells:
            raise UnknotError(
                f"TableSource: {len(self._latents)} rows do not hold all {cells:.0f} combinations of the factors, so "
                "what setting one factor would do is not known. Pass a WorldSource, or a table of the whole grid."
            )
        order = np.argsort(keys, kind="stable")
        starts = np.searchsorted(keys[order], np.arange(int(cells) + 1))
        base = keys[rng.integers(0, len(keys), size=n)]
        base -= base // strides[factor] % self.sizes[factor] * strides[factor]
        wanted = base + np.arange(self.sizes[factor])[:, None] * strides[factor]
        # A cell may have several rows (noise besides the factors): any of them.
        low, high = starts[wanted], starts[wanted + 1]
        result: Latents = self._latents[order[rng.integers(low, high)]]
        return result


class ImagesByFactors(Protocol):
    """What interventions ask of a world."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def factors(self) -> FactorSpace:
        """The factors of variation and their grid."""

    @property
    def rows(self) -> Ints | None:
        """The classes of every image there is; None when the grid is complete."""

    @property
    def stochastic(self) -> bool:
        """Whether `images` needs an `rng`."""

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One image for each row of classes."""


class WorldSource:
    """Samples a world and encodes what it shows.

    An incomplete world is sampled among the images it has, as a table is. Each draw is encoded afresh, which is
    what the papers did; `pool` encodes a number of images once and draws from those, far faster.

    Args:
        world: any world, see `ImagesByFactors`.
        encode: images (n, height, width, channels) uint8 to latents (n, d).
        batch_size: how many images are encoded at once.
    """

    def __init__(self, world: ImagesByFactors, encode: Encode, *, batch_size: int = 128) -> None:
        self._world, self._encode, self._batch_size = world, encode, batch_size
        self.names: tuple[str, ...] = world.factors.names
        self.sizes: tuple[int, ...] = world.factors.shape
        self._groups = None if world.rows is None else _Groups(world.rows)

    @property
    def support(self) -> Mapping[str, Ints]:
        """How many images each value has in an incomplete world; empty where any point can be had."""
        return {} if self._groups is None else dict(zip(self.names, self._groups.counts, strict=True))

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Latents of n random points."""
        return self._encoded(self._draw(n, rng), rng)

    def pair_differences(self, factors: ArrayLike, batch: int, rng: np.random.Generator) -> Latents:
        """Mean |z - z'| over pairs that share a value; see `InterventionSource`."""
        points = []
        for factor in np.asarray(factors):
            a, b = self._pairs(int(factor), batch, rng)
            latents = self._encoded(np.concatenate([a, b]), rng)
            points.append(np.abs(latents[:batch] - latents[batch:]).mean(axis=0))
        return np.stack(points)

    def shared_variances(self, factors: ArrayLike, batch: int, rng: np.random.Generator) -> Latents:
        """Variances of batches that share a value; see `InterventionSource`."""
        points = [self._encoded(self._sharing(int(f), batch, rng), rng) for f in np.asarray(factors)]
        return np.stack([latents.var(axis=0, ddof=1) for latents in points])

    def counterfactuals(self, factor: int, n: int, rng: np.random.Generator) -> Latents:
        """The same n points with one factor set to each of its values."""
        if self._groups is not None:
            raise UnknotError(
                f"WorldSource: {self._world.name} lacks some combinations of its factors, so that one factor cannot "
                "be set freely. Use a world with a complete grid."
            )
        points = self._draw(n, rng)
        result = []
        for value in range(self.sizes[factor]):
            points[:, factor] = value
            result.append(self._encoded(points, rng))
        return np.stack(result)

    def pool(self, n: int, rng: np.random.Generator) -> TableSource:
        """A table of n random points, encoded once; with 50,000 of them scores move less than between seeds."""
        points = self._draw(n, rng)
        return TableSource(self._encoded(points, rng), points, self.names)

    def _pairs(self, factor: int, batch: int, rng: np.random.Generator) -> tuple[Classes, Classes]:
        if self._groups is not None and self._world.rows is not None:
            a, b = self._groups.pairs(factor, batch, rng)
            return self._world.rows[a], self._world.rows[b]
        first, second = (self._world.factors.sample(batch, rng) for _ in range(2))
        second[:, factor] = first[:, factor]
        return first, second

    def _sharing(self, factor: int, batch: int, rng: np.random.Generator) -> Classes:
        if self._groups is not None and self._world.rows is not None:
            return self._world.rows[self._groups.sharing(factor, batch, rng)]
        points = self._world.factors.sample(batch, rng)
        points[:, factor] = points[0, factor]
        return points

    def _draw(self, n: int, rng: np.random.Generator) -> Classes:
        if self._world.rows is None:
            return self._world.factors.sample(n, rng)
        return self._world.rows[rng.integers(0, len(self._world.rows), size=n)]

    def _encoded(self, points: Classes, rng: np.random.Generator) -> Latents:
        noise = rng if self._world.stochastic else None
        parts = []
        for start in range(0, len(points), self._batch_size):
            images = self._world.images(points[start : start + self._batch_size], rng=noise)
            parts.append(check_latents("WorldSource", self._encode(images), "encode(images)"))
            if len(parts[-1]) != len(images):
                raise UnknotError(
                    f"WorldSource: encode returned {len(parts[-1])} rows for {len(images)} images; expected one each."
                )
        return np.concatenate(parts)


class _Groups:
    """The rows of a table by their value of each factor, values that one row alone has last."""

    def __init__(self, table: NDArray[Any]) -> None:
        n, k = table.shape
        self.counts: list[Ints] = []
        self.codes, self.order = np.empty((k, n), dtype=np.int64), np.empty((k, n), dtype=np.int64)
        for j in range(k):
            column = table[:, j]
            self.codes[j] = distinct(column.astype(np.int64) if column.dtype.kind in "iub" else column)[1]
            counts = np.bincount(self.codes[j]).astype(np.int64)
            self.counts.append(counts)
            rank = np.arange(len(counts)) + len(counts) * (counts == 1)
            # Small numbers sort by counting, in linear time.
            keys = (rank.astype(np.int16) if len(counts) < 2**14 else rank)[self.codes[j]]
            self.order[j] = np.argsort(keys, kind="stable")
        most = max(map(len, self.counts))
        self.starts, self.sizes = np.zeros((k, most), dtype=np.int64), np.zeros((k, most), dtype=np.int64)
        for j, counts in enumerate(self.counts):
            by_value = np.argsort(counts == 1, kind="stable")
            self.starts[j, by_value] = np.cumsum(counts[by_value]) - counts[by_value]
            self.sizes[j, : len(counts)] = counts
        self.usable = np.array([counts[counts > 1].sum() for counts in self.counts], dtype=np.int64)

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """What the compiled draws take."""
        return self.codes, self.order, self.starts, self.sizes, self.usable

    @cached_property
    def neighbours(self) -> tuple[NDArray[Any], ...]:
        """What compiled draws of pairs take: rows by value and, for each place, where its value begins and ends."""
        codes = np.take_along_axis(self.codes, self.order, axis=1)
        begins = np.take_along_axis(self.starts, codes, axis=1)
        ends = begins + np.take_along_axis(self.sizes, codes, axis=1)
        return *(table.astype(np.int32) for table in (self.order, begins, ends)), self.usable

    def check(self, factors: ArrayLike) -> Ints:
        """Factor numbers, all of which have a value that two rows share."""
        chosen = np.ascontiguousarray(factors, dtype=np.int64)
        fixed = (chosen >= 0) & (chosen < len(self.usable))
        fixed[fixed] = self.usable[chosen[fixed]] > 0
        if not fixed.all():
            raise UnknotError(
                f"factor {chosen[~fixed].min()} cannot be held fixed: no two rows share a value of it. Give more rows, "
                "or leave the factor out."
            )
        return chosen

    def pairs(self, factor: int, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Two different rows each time that share the factor's value."""
        place = rng.integers(0, self.usable[self.check([factor])[0]], size=n)
        first = self.order[factor, place]
        start, size = (table[factor, self.codes[factor, first]] for table in (self.starts, self.sizes))
        other = start + (place - start + rng.integers(1, size)) % size
        return first, self.order[factor, other]

    def sharing(self, factor: int, n: int, rng: np.random.Generator) -> Ints:
        """Rows that all share one value of the factor."""
        value = self.codes[factor, self.order[factor, rng.integers(0, self.usable[self.check([factor])[0]])]]
        start = self.starts[factor, value]
        rows: Ints = self.order[factor, start + rng.integers(0, self.sizes[factor, value], size=n)]
        return rows


@dataclass(frozen=True)
class Drawn:
    """A source ready for a metric: which of its factors vary, and what `parts` should say."""

    source: InterventionSource
    factors: Ints  # (k,) the source's factors that vary
    columns: Ints  # (k,) where their values belong among all factors
    about: dict[str, Any]

    def spread(self, values: ArrayLike) -> Floats:
        """Values of the varying factors among all factors, along the last axis, NaN where skipped."""
        return spread(values, self.columns, len(self.about["factor_names"]))

    def accuracy(self, labels: Ints, right: Bools) -> Floats:
        """Share of right answers for each factor, among all factors; NaN for one that was never drawn."""
        asked = np.bincount(labels, minlength=len(self.factors))
        share = np.bincount(labels, weights=right, minlength=len(self.factors)) / np.maximum(asked, 1)
        return self.spread(np.where(asked > 0, share, np.nan))


def few_enough(who: str, *counts: int) -> None:
    """Refuse to draw more latents than memory holds."""
    if math.prod(counts) > MOST_DRAWS:
        words = " x ".join(f"{count:,}" for count in counts)
        raise UnknotError(
            f"{who}: would draw {words} rows of latents; expected {MOST_DRAWS:,} at most. Draw fewer."
        )


def drawn(who: str, latents: Any, factors: Any, source: InterventionSource | None) -> Drawn:
    """The source a metric samples: the one given, else the rows; an error if it cannot hold two factors fixed."""
    if source is None:
        if latents is None:
            raise UnknotError(
                f"{who}: needs latents and factors, or source=WorldSource(world, encode); got neither."
            )
        rows = prepare(who, latents, factors)
        rows.need_two_factors(who)
        names = tuple(rows.names[j] for j in rows.kept)
        ready = Drawn(
            TableSource(Checked(rows.latents), rows.factors, names),
            np.arange(rows.n_factors),
            rows.kept,
            rows.about(),
        )
    else:
        varying = np.flatnonzero(np.array(source.sizes) > 1)
        if len(varying) < 2:
            raise UnknotError(f"{who}: needs at least 2 factors that vary; the source has {len(varying)}.")
        skipped = {name: "constant" for name, size in zip(source.names, source.sizes, strict=True) if size < 2}
        notes = [f"latents were drawn from a {type(source).__name__}; rows passed beside it are not used."]
        about = {"factor_names": list(source.names), "skipped": skipped, "notes": notes}
        ready = Drawn(source, varying, varying, about)
    support = ready.source.support
    for name in (ready.source.names[j] for j in ready.factors):
        if name in support and support[name].max() < 2:
            raise UnknotError(
                f"{who}: no two rows share a value of factor '{name}', so it cannot be held fixed. Give more rows, "
                "leave the factor out, or pass source=WorldSource(world, encode)."
            )
        alone = int((support[name] == 1).sum()) if name in support else 0
        if alone:
            ready.about["notes"].append(
                f"{alone} value(s) of factor '{name}' have one row only and were not drawn."
            )
    ready.about["support"] = {name: counts for name, counts in support.items()}
    return ready
