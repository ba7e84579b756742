"""Splits of a factor grid into training and test that ask for generalisation, not for memory.

    random         test images differ from training images in nothing systematic
    composition    every class is seen in training, test combines them in ways training never does
    interpolation  test has classes that lie between those of training
    extrapolation  test has classes that lie beyond those of training
    combination    one combination of classes is kept for testing (see `combinations.py`)

Interpolation and extrapolation: a point is a test point if *any* of its factors has a test-exclusive class.
Composition is the mirror image: a point is for training if any of its factors has a train-exclusive class.

Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain,
arXiv:2107.08221, section 3 and appendix H.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import Classes, FactorSpace, Indices
from unknot.reading.arguments import checked
from unknot.worlds.splits.regions import Box, Mask, Masked, Outside, Region, check_maskable
from unknot.worlds.splits.rules import (
    RULES,
    Rule,
    SplitKind,
    caveats,
    check_kind,
    exclusive_classes,
    held_back,
    split_factors,
)

_HELD_OUT = ("interpolation", "extrapolation")  # exclusive classes are the test's; training is a box


@dataclass(frozen=True)
class Split:
    """Which points of a grid are for training and which for testing; a definition, not a list of points.

    Args:
        kind: "random", "composition", "interpolation", "extrapolation" or "combination".
        space: the grid.
        exclusive: factor name -> the classes that only the test has (interpolation, extrapolation), that only
            training has (composition), or whose combination only the test has (combination); other factors are
            left out. None for random.
        seed: decides a random split.
        train_size: how many points a random split trains on.
        notes: what a reader of results should know about it.

    >>> from unknot.factors import space
    >>> halves = Split("extrapolation", space({"x": 4, "y": 4}), {"x": (2, 3)})
    >>> halves.n_train, halves.n_test, halves.contains([[1, 3], [2, 0]])
    (8, 8, array([ True, False]))
    """

    kind: SplitKind
    space: FactorSpace
    exclusive: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    seed: int = 0
    train_size: int | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        check_kind(self.kind)
        object.__setattr__(self, "exclusive", _checked(self.space, self.exclusive))
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.kind == "random":
            self._check_random()
        elif self.train_size is not None:
            raise UnknotError(f"split: train_size belongs to random splits; the classes decide a {self.kind} one.")
        else:
            self._check_box()

    def _check_random(self) -> None:
        if self.exclusive:
            raise UnknotError(
                f"split: a random split has no exclusive classes; got some for {', '.join(self.exclusive)}."
            )
        if self.train_size is None or not 0 < self.train_size < self.space.size:
            raise UnknotError(
                f"split: a random split of {self.space.size} points needs a train_size between 1 and "
                f"{self.space.size - 1}; got {self.train_size}. Otherwise training or test would be empty."
            )
        if self.seed < 0:
            raise UnknotError(f"split: the seed is {self.seed}; seeds are whole numbers from 0 up.")
        check_maskable(self.space)

    def _check_box(self) -> None:
        if not self.exclusive:
            raise UnknotError(
                f"split: {self.kind} with no exclusive class leaves training or test empty. Name some classes, or "
                "raise the rule's ratio (composition: its composition_quota)."
            )
        for name, classes in self.exclusive.items():
            if self.kind != "combination" and len(classes) == self.space[name].size:
                empty = "test" if self.kind == "composition" else "training"
                raise UnknotError(f"split: all classes of '{name}' are exclusive, so {empty} would be empty.")
        telling = [name for name, classes in self.exclusive.items() if len(classes) < self.space[name].size]
        if self.kind not in _HELD_OUT and len(telling) < 2:
            raise UnknotError(
                f"split: {self.kind} needs two factors with exclusive classes and got "
                f"{', '.join(telling) or 'none'}; with fewer, test has classes that training never sees, which is "
                "extrapolation or interpolation."
            )

    @cached_property
    def _box(self) -> Box:
        inside_is_exclusive = self.kind == "combination"
        allowed = []
        for factor in self.space:
            named = np.zeros(factor.size, dtype=np.bool_)
            named[list(self.exclusive.get(factor.name, ()))] = True
            free = factor.name not in self.exclusive
            allowed.append(named | free if inside_is_exclusive else ~named)
        return Box(self.space, tuple(allowed))

    @cached_property
    def _random_train(self) -> Mask:
        # Shuffling a mask takes a byte a point; a permutation of the indices would take eight.
        mask = np.zeros(self.space.size, dtype=np.bool_)
        mask[: self.train_size] = True
        np.random.default_rng(self.seed).shuffle(mask)
        mask.setflags(write=False)
        return mask

    @cached_property
    def train_region(self) -> Region:
        """The training part as a region, to sample from and to draw pairs in."""
        if self.kind == "random":
            return Masked(self.space, self._random_train)
        return self._box if self.kind in _HELD_OUT else Outside(self._box)

    @cached_property
    def test_region(self) -> Region:
        """The test part as a region."""
        if self.kind == "random":
            return Masked(self.space, ~self._random_train)
        return Outside(self._box) if self.kind in _HELD_OUT else self._box

    @property
    def n_train(self) -> int:
        """How many grid points are for training; counted without listing them."""
        return self.train_size if self.train_size is not None else self.train_region.size

    @property
    def n_test(self) -> int:
        """How many grid points are for testing."""
        return self.space.size - self.n_train

    @cached_property
    def train(self) -> Mask:
        """(n_points,) mask of the training points in index order, read-only, a byte a point."""
        mask = self._random_train if self.kind == "random" else self.train_region.mask()
        mask.setflags(write=False)
        return mask

    @property
    def test(self) -> Mask:
        """(n_points,) mask of the test points."""
        return ~self.train

    def train_indices(self) -> Indices:
        """Grid indices of the training points, rising."""
        return np.flatnonzero(self.train)

    def test_indices(self) -> Indices:
        """Grid indices of the test points, rising."""
        return np.flatnonzero(self.test)

    def contains(self, classes: ArrayLike) -> Mask:
        """(n,) which rows of classes are training points; needs no mask of the grid unless the split is random."""
        return self.train_region.contains(classes)

    def rows(self, classes: ArrayLike) -> Mask:
        """(n,) which images of an incomplete world are for training, given the classes of all its images."""
        mask = self.contains(classes)
        if not len(mask) or mask.all() or not mask.any():
            part = "test" if len(mask) and mask.all() else "training"
            raise UnknotError(
                f"split: none of the {len(mask)} rows is in the {part} part of the {self.kind} split; the world "
                "has too little of the grid for it. Choose other exclusive classes or a larger ratio."
            )
        return mask

    def sample(self, n: int, rng: np.random.Generator, *, part: Literal["train", "test"] = "train") -> Classes:
        """Draw n training (or test) points uniformly, with replacement."""
        if part not in ("train", "test"):
            raise unknown("part of a split", part, ("train", "test"))
        return (self.train_region if part == "train" else self.test_region).sample(n, rng)

    def ood(self, classes: ArrayLike) -> Mask:
        """(n, n_factors) which classes never occur in training.

        These are the test-exclusive ones. Composition, combination and random splits have none: on the grid all
        their classes are seen (a random split that trains on a handful of points may miss some by chance).
        """
        checked = self.space.check(classes)
        if self.kind not in _HELD_OUT:
            return np.zeros(checked.shape, dtype=np.bool_)
        return np.stack([~mask[checked[:, i]] for i, mask in enumerate(self._box.allowed)], axis=1)

    def one_ood_factor(self, classes: ArrayLike) -> NDArray[np.int64]:
        """(n,) the column of the one factor whose class training never saw; -1 where there is none, or several."""
        ood = self.ood(classes)
        return np.where(ood.sum(axis=1) == 1, ood.argmax(axis=1), -1)

    @property
    def one_ood_counts(self) -> dict[str, int]:
        """How many one-OOD points each factor is the odd one of: e_i prod_{j != i} (n_j - e_j)."""
        if self.kind not in _HELD_OUT:
            return {}
        seen = {f.name: f.size - len(self.exclusive.get(f.name, ())) for f in self.space}
        return {
            name: len(classes) * prod(count for other, count in seen.items() if other != name)
            for name, classes in self.exclusive.items()
        }

    def as_json(self) -> dict[str, Any]:
        """The definition as plain values; `from_json` reads it back."""
        return {
            "kind": self.kind,
            "space": self.space.as_json(),
            "exclusive": {name: list(classes) for name, classes in self.exclusive.items()},
            "seed": self.seed,
            "train_size": self.train_size,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Split":
        """The split that `as_json` described."""
        try:
            return cls(
                kind=record["kind"],
                space=FactorSpace.from_json(record["space"]),
                exclusive=record.get("exclusive", {}),
                seed=record.get("seed", 0),
                train_size=record.get("train_size"),
                notes=tuple(record.get("notes", ())),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UnknotError(
                f"split: expected a record with kind, space and exclusive; could not read it ({error!r})."
            ) from None


@checked
def split(
    space: FactorSpace,
    kind: SplitKind,
    *,
    rule: Rule | str | None = None,
    exclusive: Mapping[str, int | Iterable[int]] | None = None,
    rng: int | np.random.Generator = 0,
) -> Split:
    """Split a grid by a rule, or by exclusive classes named by hand.

    Random trains on as many points as extrapolation by the same rule would, drawn without replacement. Its points
    are not those of the authors' released random files, which come from another generator; the other kinds follow
    the paper's tables class for class.

    Args:
        space: the grid.
        kind: "random", "composition", "interpolation" or "extrapolation"; see `combination_split` for the fifth.
        rule: a `Rule`, or the name of a published one ("dsprites", "shapes3d", "mpi3d", "celeb_glow").
        exclusive: instead of a rule, factor name -> classes that only the test has (composition: only training).
        rng: decides a random split; a generator is asked for a seed, so that the split can be written down.

    >>> from unknot.worlds.published.dsprites import SPACE
    >>> beyond = split(SPACE, "extrapolation", rule="dsprites")
    >>> beyond.exclusive["scale"], beyond.n_train, beyond.n_test
    ((4, 5), 240000, 497280)
    """
    check_kind(kind)
    if kind == "combination":
        raise UnknotError("split: a combination is not made by a rule; call combination_split(space, {...}).")
    if isinstance(rule, str):
        if rule not in RULES:
            raise unknown("published split rule", rule, RULES)
        rule = RULES[rule]
    if (rule is None) == (exclusive is None):
        raise UnknotError(
            "split: give either a rule, such as Rule(ratio=0.2) or 'dsprites', or exclusive classes by hand; got "
            + ("neither." if rule is None else "both.")
        )
    if exclusive is not None:
        by_hand = _checked(space, exclusive)
        return Split(kind, space, by_hand, notes=caveats(space, kind, by_hand))
    chosen = cast(Rule, rule)
    notes = tuple(text for which, text in chosen.notes if which in ("any", kind))
    if kind == "random":
        kept_back = {f.name: held_back(f, chosen) for f in split_factors(space, chosen)}
        size = prod(f.size - kept_back.get(f.name, 0) for f in space)
        seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else int(rng)
        return Split(kind, space, seed=seed, train_size=size, notes=notes)
    by_rule = exclusive_classes(space, kind, chosen)
    return Split(kind, space, by_rule, notes=notes + caveats(space, kind, by_rule))


def _checked(space: FactorSpace, exclusive: Mapping[str, int | Iterable[int]]) -> dict[str, tuple[int, ...]]:
    """Sorted classes in storage order of the factors; factors with none are dropped."""
    checked: dict[str, tuple[int, ...]] = {}
    for name, classes in exclusive.items():
        factor = space[name]
        wanted = list(classes) if isinstance(classes, Iterable) else [classes]
        if any(isinstance(c, str) or c % 1 for c in wanted):
            raise UnknotError(f"split: classes of '{name}' are {wanted}; expected whole numbers.")
        chosen = tuple(sorted({int(c) for c in wanted}))
        if chosen and factor.kind == "constant":
            raise UnknotError(f"split: '{name}' has one class only, so it cannot be split. Leave it out.")
        wrong = [c for c in chosen if not 0 <= c < factor.size]
        if wrong:
            raise UnknotError(f"split: '{name}' has no class {wrong[0]}; its classes are 0..{factor.size - 1}.")
        checked[name] = chosen
    return {f.name: checked[f.name] for f in space if checked.get(f.name)}
