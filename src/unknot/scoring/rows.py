"""Which rows of a representation a metric is scored on, and how often they are looked through: once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unknot.metrics.arrays import Bools, Ints
from unknot.metrics.held_out import third, third_of_groups
from unknot.metrics.latents import Checked
from unknot.representation import Representation
from unknot.statistics.scatter import LEAST_UNITS
from unknot.tables.labels import Labels, known


@dataclass(frozen=True)
class Data:
    """The rows one metric sees.

    Attributes:
        latents: (n, d), as they came.
        factors: their labels.
        latents_test: held-out rows.
        factors_test: their labels.
        groups: (n,) number of the group that each row belongs to; None if every row is its own.
        groups_test: those of the held-out rows.
    """

    latents: Any
    factors: Labels | None
    latents_test: Any = None
    factors_test: Labels | None = None
    groups: Ints | None = None
    groups_test: Ints | None = None

    @cached_property
    def checked(self) -> Checked:
        """The latents, for metrics that share what they make of them."""
        return Checked(self.latents)

    @property
    def n(self) -> int:
        """How many rows there are, held-out ones not counted."""
        return int(self.latents.shape[0])

    @property
    def units(self) -> int:
        """How many rows, or groups of them, `parted` chooses from: of training and held-out ones, the fewer."""
        units = self.n if self.groups is None else len(np.unique(self.groups))
        if self.latents_test is None or self.factors_test is None:
            return units
        tested = self.latents_test.shape[0] if self.groups_test is None else len(np.unique(self.groups_test))
        return min(units, int(tested))

    def rows(self, train: Any, test: Any = slice(None)) -> "Data":
        """Some of the rows, and some of the held-out ones."""
        return Data(
            self.latents[train],
            None if self.factors is None else self.factors[train],
            None if self.latents_test is None else self.latents_test[test],
            None if self.factors_test is None else self.factors_test[test],
            None if self.groups is None else self.groups[train],
            None if self.groups_test is None else self.groups_test[test],
        )

    def split(self, seed: int) -> "Data":
        """A third of the rows held out, whole groups of them; before `parted`, which parts both sides by themselves."""
        if self.factors is None or self.latents_test is not None:
            return self
        test, train = third(self.latents, seed) if self.groups is None else third_of_groups(self.groups, seed)
        held_out, rest = self.rows(test), self.rows(train)
        return replace(
            rest, latents_test=held_out.latents, factors_test=held_out.factors, groups_test=held_out.groups
        )

    def parted(self, rng: np.random.Generator) -> Iterator["Data"]:
        """A third of the rows, or of their groups, then all others; then another third, without end.

        Training and test rows are split apart. Nothing where one of them has fewer than four rows or groups.
        """
        enough = self.units >= LEAST_UNITS
        while enough:
            train = _parts(self.n, self.groups, rng)
            if self.latents_test is None or self.factors_test is None:
                yield from map(self.rows, train)
            else:
                yield from map(self.rows, train, _parts(self.latents_test.shape[0], self.groups_test, rng))

    def torn(self, rng: np.random.Generator) -> Iterator["Data"]:
        """The same latents with labels of other rows, training and test rows apart; again and again, without end.

        Rows change labels within their group; where no group has two, groups change theirs.
        """
        while True:
            factors, test = self.factors, self.factors_test
            if factors is not None:
                factors = factors[_exchanged(factors, self.groups, rng)]
            if test is not None:
                test = test[_exchanged(test, self.groups_test, rng)]
            yield replace(self, factors=factors, factors_test=test)

    def capped(self, cap: int | None, seed: int) -> "Data":
        """At most `cap` rows, two thirds of them training rows where there are held-out ones."""
        rng = np.random.default_rng(seed)
        if self.latents_test is None:
            return self.rows(_subset(self.n, cap, rng))
        train = _subset(self.n, cap and -(-cap * 2 // 3), rng)
        return self.rows(train, _subset(self.latents_test.shape[0], cap and max(1, cap // 3), rng))

    @cached_property
    def _known(self) -> tuple[Bools, Bools]:
        """Which labels of the rows, and of the held-out ones, are there."""
        none = np.ones((0, 0 if self.factors is None else self.factors.values.shape[1]), dtype=np.bool_)
        here = none if self.factors is None else known(self.factors.values)
        return here, none if self.factors_test is None else known(self.factors_test.values)

    @property
    def gaps(self) -> bool:
        """Whether labels are missing."""
        return not all(part.all() for part in self._known)

    def complete(self) -> "Data":
        """The rows whose labels are all there."""
        train, test = (part.all(axis=1) for part in self._known)
        return self.rows(train, test)

    def of_each_factor(self) -> Iterator[tuple[list[int], "Data"]]:
        """Factors that are known in the same rows, with these rows."""
        together: dict[bytes, list[int]] = {}
        train, test = self._known
        for j in range(train.shape[1]):
            together.setdefault(train[:, j].tobytes() + test[:, j].tobytes(), []).append(j)
        for columns in together.values():
            data = self.rows(train[:, columns[0]], test[:, columns[0]])
            test_labels = None if data.factors_test is None else data.factors_test.only(columns)
            yield columns, replace(data, factors=_only(data.factors, columns), factors_test=test_labels)


def whole(rep: Representation, tested: bool) -> Data:
    """All rows of a representation, the held-out ones if `tested`."""
    if tested and rep.latents_test is not None and rep.factors_test is not None:
        return Data(rep.latents, rep.labels, rep.latents_test, rep.labels_test)
    # what is missing is split off by the metric: some variants hold out nothing, some only for a part of their numbers
    return Data(rep.latents, rep.labels, groups=rep.groups)


def _only(labels: Labels | None, columns: list[int]) -> Labels | None:
    return None if labels is None else labels.only(columns)


def _parts(n: int, groups: Ints | None, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """A third of the rows, or those of a third of the groups, and the others, in their order; a third on average."""
    names = np.arange(n) if groups is None else np.unique(groups)
    size = int(len(names) / 3 + rng.random())
    inside = np.zeros(len(names), dtype=np.bool_)
    inside[rng.choice(len(names), size=size, replace=False)] = True
    of_row = inside if groups is None else inside[np.searchsorted(names, groups)]
    return np.flatnonzero(of_row), np.flatnonzero(~of_row)


def _exchanged(labels: Labels, groups: Ints | None, rng: np.random.Generator) -> Ints:
    """For each row, the row whose labels it is given."""
    n = len(labels.values)
    if groups is None:
        return rng.permutation(n)
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    codes = codes.reshape(-1)
    one_each = labels.values[first][codes]
    same = (labels.values == one_each) | ((labels.values != labels.values) & (one_each != one_each))
    if same.all():
        return np.asarray(first[rng.permutation(len(first))][codes])
    within, mixed = np.argsort(codes, kind="stable"), np.lexsort((rng.random(n), codes))
    result = np.empty(n, dtype=np.int64)
    result[within] = mixed
    return result


def _subset(n: int, cap: int | None, rng: np.random.Generator) -> Any:
    if cap is None or n <= cap:
        return slice(None)
    return np.sort(rng.choice(n, size=cap, replace=False))
