"""Rows that metrics compute with: latents, factors as codes 0..K-1, what was left out and why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import Kind
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.score import Score

T = TypeVar("T")
SMALLEST = 1e-100  # of numbers below this, squares and their sums leave the range of float64
COUNTED = {  # kinds whose classes are not at the distances of their numbers: how these are taken
    "words": "in this order",
    "categorical": "in this order",
    "circular": "the last far from the first",
}


class HeldOut(NamedTuple):
    """The rows that a metric is judged on."""

    latents: Floats  # (n_test, d)
    factors: Ints  # (n_test, k) codes of the factors that vary
    numbers: Floats  # (n_test, k) the same as the caller gave them


@dataclass(frozen=True)
class Rows:
    """Latents and factors, checked; constant factors are gone from `factors` and listed in `skipped`."""

    latents: Floats  # (n, d)
    factors: Ints  # (n, k) codes 0..K-1 of the factors that vary
    sizes: Ints  # (k,) number of codes
    given: NDArray[Any]  # (n, all columns) the factors as the caller gave them
    kept: Ints  # (k,) which of the caller's columns these are
    names: tuple[str, ...]  # of all the caller's columns
    continuous: Bools  # (k,) whether a factor was given as real numbers
    latents_test: Floats | None = None
    factors_test: Ints | None = None  # UNSEEN where a value is not among the training rows
    given_test: NDArray[Any] | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # factor -> its kind, where the caller knew it
    worded: frozenset[str] = frozenset()  # names of the factors that were given as words
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    shared: dict[Any, Any] = field(default_factory=dict, repr=False)  # by `kept_once`

    @property
    def n_factors(self) -> int:
        """How many factors vary."""
        return len(self.kept)

    @cached_property
    def numbers(self) -> Floats:
        """The varying factors (n, k) as the caller gave them, for regressions; see `_regressed`."""
        return self._regressed(self.given)

    def _regressed(self, given: NDArray[Any]) -> Floats:
        """Columns as float64, those whose squares would be 0 times a power of two: the same in all rows."""
        numbers: Floats = given[:, self.kept].astype(np.float64, copy=False)
        if given.dtype.kind == "f":
            training = self.given[:, self.kept].astype(np.float64, copy=False)
            largest = np.maximum(np.fmax.reduce(training), -np.fmin.reduce(training))
            small = np.flatnonzero(largest < SMALLEST)
            numbers[:, small] = np.ldexp(numbers[:, small], -np.frexp(largest[small])[1])
        return numbers

    @cached_property
    def held_out(self) -> HeldOut:
        """The held-out rows, of what was prepared with an `rng` or with test rows."""
        if self.latents_test is None or self.factors_test is None or self.given_test is None:
            raise UnknotError("rows were prepared without held-out rows; pass an rng to prepare.")
        return HeldOut(self.latents_test, self.factors_test, self._regressed(self.given_test))

    def once(self, make: Callable[[Floats, Floats], T]) -> T:
        """What `make` returns of the training and the held-out latents, made once for all metrics with these rows."""
        arrays = self.latents, self.held_out.latents
        return self.kept_once(make, lambda: make(*arrays), *arrays)

    def kept_once(self, what: Any, make: Callable[[], T], *arrays: Any) -> T:
        """What `make` returns of some arrays, made once for all metrics with these rows."""
        key = what, *map(id, arrays)
        if key not in self.shared:
            self.shared[key] = make(), arrays  # kept alive, so that no other array gets their id
        result: T = self.shared[key][0]
        return result

    def spread(self, per_factor: Any) -> Floats:
        """Values of the varying factors at the caller's columns along the last axis, NaN where skipped."""
        return spread(per_factor, self.kept, len(self.names))

    def about(self) -> dict[str, Any]:
        """The entries every score's `parts` should have."""
        n_test = 0 if self.latents_test is None else self.latents_test.shape[0]
        about = {
            "factor_names": list(self.names),
            "skipped": dict(self.skipped),
            "notes": list(self.notes),
            "n_rows": self.latents.shape[0],
            "n_test_rows": n_test,
        }
        known = self.kept_once("known", lambda: (self.factors >= 0).sum(axis=0).tolist(), self.factors)
        if min(known) < about["n_rows"]:
            per_factor = {self.names[j]: count for j, count in zip(self.kept, known, strict=True)}
            about |= {"n_rows": min(known), "n_rows_per_factor": per_factor}
        return about

    def score(self, value: float, per_factor: Mapping[str, Any], **parts: Any) -> Score:
        """A score of these rows.

        Args:
            value: the headline.
            per_factor: parts whose last axis is the factors that vary; see `spread`.
            parts: all others.
        """
        by_column = {name: self.spread(values) for name, values in per_factor.items()}
        return Score(float(value), {**self.about(), **by_column, **parts}, tuple(by_column))

    def note_continuous(self, how: str) -> None:
        """Note what is done with each factor that was given as real numbers."""
        self.notes.extend(f"factor '{self.names[j]}' is continuous: {how}." for j in self.kept[self.continuous])

    def note_numbers(self, how: str) -> None:
        """Note that all factors are taken as numbers, real ones and those whose classes are not in a line."""
        self.note_continuous(how)
        for j, size in zip(self.kept, self.sizes, strict=True):
            name = self.names[j]
            kind = "words" if name in self.worded else self.kinds.get(name, "")
            if size > 2 and kind in COUNTED:
                self.notes.append(
                    f"factor '{name}' is {kind}: its classes count as the numbers 0 to {size - 1}, {COUNTED[kind]}."
                )

    def need_two_factors(self, who: str) -> None:
        """Refuse rows of which one factor alone varies."""
        if self.n_factors < 2:
            raise UnknotError(
                f"{who}: needs at least 2 factors that vary; got {self.n_factors} ({self.names[self.kept[0]]})."
            )


def spread(per_factor: Any, columns: Ints, n: int) -> Floats:
    """Values at some of n columns along the last axis, NaN at the others."""
    values = np.asarray(per_factor, dtype=np.float64)
    full = np.full((*values.shape[:-1], n), np.nan)
    full[..., columns] = values
    return full
