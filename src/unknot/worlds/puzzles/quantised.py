"""A world in which factors keep a few of their classes, far enough apart to tell: what puzzles are made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import Classes, Factor, FactorSpace, Kind
from unknot.worlds.catalogue import conventions
from unknot.worlds.world import Images, World, WorldDefaults, as_world

MOST = 10  # classes of a factor where nothing is published: as many as the study's richest factors have


def kept_classes(n: int, m: int) -> NDArray[np.int64]:
    """The m of n classes that stay: class i of the m is class floor(i n / m) of the n.

    The last class is never among them unless all stay.

    >>> kept_classes(15, 4).tolist(), kept_classes(6, 3).tolist(), kept_classes(3, 4).tolist()
    ([0, 3, 7, 11], [0, 2, 4], [0, 1, 2])
    """
    m = min(n, m)
    return np.arange(m, dtype=np.int64) * n // m


def usual_classes(space: FactorSpace, key: str) -> Mapping[str, int]:
    """How many classes each factor keeps: as published for the world of a key, at most ten where nothing is.

    >>> from unknot.factors import space
    >>> usual_classes(space({"shape": 3, "x": 32}), key="")
    {'shape': 3, 'x': 10}
    """
    few = conventions(key).puzzle_classes
    if few is None:
        return {factor.name: min(factor.size, MOST) for factor in space}
    return {factor.name: min(factor.size, few.get(factor.name, factor.size)) for factor in space}


@dataclass(frozen=True)
class Quantised(WorldDefaults):
    """A world seen through fewer classes, with a complete grid.

    Images of class i of a factor are those of class floor(i n / m) of the world underneath, whose key it has only if
    all classes stay: otherwise numbers of classes mean something else.

    Edge cases: a world that lacks some combinations is refused if one of them is kept. Circular factors that lose
    classes become ordinal only if what is left is not evenly spread over the circle.
    Reference: van Steenkiste et al. 2019, arXiv:1905.12506, section 3; which classes stay is from its code.

    Args:
        world: underneath.
        classes: factor -> how many classes it keeps, all if it is not named; left out, as published.

    >>> from unknot.worlds import open_world
    >>> coarse = Quantised(open_world("abstract_dsprites_rendered"))
    >>> coarse.factors.shape, coarse.full([[4, 5, 2, 2, 3, 3]]).tolist()
    ((5, 6, 3, 3, 4, 4), [[4, 5, 2, 4, 24, 24]])
    """

    world: World
    classes: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        space = self.world.factors
        if space.names == ("image",):
            raise UnknotError(
                f"{self.world.name}: has no factors; puzzles are made from a world that has some.", field="world"
            )
        for name, m in (self.classes or {}).items():
            if name not in space.names:
                raise unknown("factor", name, space.names, field="classes")
            if m < 1:
                raise UnknotError(
                    f"{self.world.name}: '{name}' cannot keep {m} classes; one is the least.", field="classes"
                )
        rows = self.world.rows
        if rows is not None:
            there = np.isin(
                space.indices(self.full(self.factors.classes(np.arange(self.factors.size)))), rows @ space.strides
            )
            if not there.all():
                raise UnknotError(
                    f"{self.world.name}: {int((~there).sum()):,} of the {self.factors.size:,} combinations that "
                    "puzzles are made from have no image; puzzles need the complete grid of the classes they keep.",
                    field="classes",
                )

    @cached_property
    def kept(self) -> tuple[NDArray[np.int64], ...]:
        """Of each factor, the classes that stay."""
        wanted = self.classes
        if wanted is None:
            wanted = usual_classes(self.world.factors, as_world(self.world).key)
        return tuple(kept_classes(f.size, wanted.get(f.name, f.size)) for f in self.world.factors)

    @property
    def key(self) -> str:
        """That of the world underneath if nothing is left out."""
        return as_world(self.world).key if self.factors == self.world.factors else ""

    @property
    def name(self) -> str:
        """That of the world underneath."""
        return self.world.name

    @cached_property
    def factors(self) -> FactorSpace:
        """The factors with the classes that stay."""
        return FactorSpace(
            tuple(_fewer(factor, kept) for factor, kept in zip(self.world.factors, self.kept, strict=True))
        )

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        return self.world.image_shape

    @property
    def stochastic(self) -> bool:
        """Whether images have randomness beyond their factors."""
        return self.world.stochastic

    def full(self, classes: ArrayLike) -> Classes:
        """Classes of the world underneath."""
        checked = self.factors.check(classes, self.name)
        return np.stack([kept[checked[:, i]] for i, kept in enumerate(self.kept)], axis=1)

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One image for each row of classes."""
        return self.world.images(self.full(classes), rng=rng)


def _fewer(factor: Factor, kept: NDArray[np.int64]) -> Factor:
    if len(kept) == factor.size:
        return factor
    kind: Kind = "constant" if len(kept) == 1 else factor.kind
    if kind == "circular" and factor.size % len(kept):
        kind = "ordinal"
    values = tuple(factor.values[i] for i in kept) if factor.values else ()
    return Factor(factor.name, len(kept), kind, values)
