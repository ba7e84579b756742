"""A sparse dictionary whose faults are known because they were put there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading.arguments import checked

MISSED, WRONG = 0.05, 0.001  # how often a latent is silent where it should fire, and fires where it should not


@dataclass(frozen=True)
class PlantedDictionary:
    """Codes, decoder and labels of a dictionary, and what is wrong with it.

    Attributes:
        codes: (n, d) sparse, what each latent is in each row.
        decoder: (d, w) the direction of each latent.
        factors: (n, c) whether each concept is there.
        activations: (n, w) what the codes are of: the true features, with noise.
        split: concept -> the latents that share it, each for some of its rows.
        absorbed: concept -> the latents that fire for some of its rows in the place of its own.
        duplicates: groups of latents that have one direction.
        dead: latents that never fire.
        dense: latents that fire in a third of the rows.
    """

    codes: Any
    decoder: NDArray[np.float32]
    factors: NDArray[np.int64]
    activations: NDArray[np.float32]
    split: dict[int, tuple[int, ...]]
    absorbed: dict[int, tuple[int, ...]]
    duplicates: tuple[tuple[int, ...], ...]
    dead: tuple[int, ...]
    dense: tuple[int, ...]


@checked
def dictionary(n: int = 6_000, *, each: int = 8, width: int = 128, seed: int = 0) -> PlantedDictionary:
    """A dictionary with splitting, absorption and duplication in known places, and concepts without any of these.

    Concepts, each in one of twelve rows, are `each` of a kind, in this order: those with a latent of their own; those
    split into two to four latents, each with a part of the rows and a direction half the concept's and half its own;
    those with a latent that one to three narrower ones have taken some rows from, whose direction holds the concept's;
    those with narrower latents that fire beside their own; and those whose latent is there twice or three times over.
    As many latents again are dead, dense, or of things that no concept names. Latents are in random order, silent in
    one of twenty rows where they should fire, and fire in one of a thousand where they should not.

    Args:
        n: rows.
        each: concepts of a kind.
        width: of the activations.
        seed: decides everything.

    >>> planted = dictionary()
    >>> planted.factors.shape, len(planted.split), len(planted.absorbed), len(planted.duplicates)
    ((6000, 40), 8, 8, 8)
    """
    if n < 100 or each < 1 or width < 8:
        raise UnknotError(
            f"dictionary: n is {n}, each {each}, width {width}; expected at least 100 rows, 1 concept and width 8."
        )
    return _Plant(n, each, width, np.random.default_rng(seed)).grown()


class _Plant:
    """Latents as they are put in, one after the other."""

    def __init__(self, n: int, each: int, width: int, rng: np.random.Generator) -> None:
        self.n, self.each, self.width, self.rng = n, each, width, rng
        self.directions: list[NDArray[np.float64]] = []
        self.rows: list[NDArray[np.bool_]] = []
        self.activations = rng.normal(size=(n, width)) * 0.05

    def grown(self) -> PlantedDictionary:
        """All latents in random order, and where each kind of fault is."""
        present = self.rng.random((self.n, 5 * self.each)) < 0.08
        of_kind = np.arange(5 * self.each).reshape(5, self.each)
        split: dict[int, list[int]] = {}
        absorbed: dict[int, list[int]] = {}
        duplicates: list[list[int]] = []
        for kind, concepts in enumerate(of_kind):
            for concept in concepts.tolist():
                there, way = present[:, concept], self._way()
                self.activations += there[:, None] * way
                if kind == 1:
                    split[concept] = self._split(there, way)
                elif kind in (2, 3):
                    narrower = self._narrower(there, way, instead=kind == 2)
                    absorbed |= {concept: narrower} if kind == 2 else {}
                elif kind == 4:
                    duplicates.append(self._copies(there, way))
                else:
                    self._add(there, way)
        for _ in range(self.each):
            self._add(self.rng.random(self.n) < 0.05, self._way())
        dead = [self._add(np.zeros(self.n, dtype=np.bool_), self._way()) for _ in range(self.each)]
        dense = [self._add(self.rng.random(self.n) < 1 / 3, self._way()) for _ in range(self.each)]
        return self._shuffled(present, split, absorbed, duplicates, dead, dense)

    def _shuffled(
        self,
        present: NDArray[np.bool_],
        split: dict[int, list[int]],
        absorbed: dict[int, list[int]],
        duplicates: list[list[int]],
        dead: list[int],
        dense: list[int],
    ) -> PlantedDictionary:
        from scipy.sparse import csr_array

        d = len(self.rows)
        place = self.rng.permutation(d)
        order = np.argsort(place)
        codes = np.stack(self.rows, axis=1)[:, order] * self.rng.exponential(size=(self.n, d)).astype(np.float32)

        def named(latents: list[int]) -> tuple[int, ...]:
            return tuple(sorted(place[latents].tolist()))

        return PlantedDictionary(
            csr_array(codes),
            np.stack(self.directions).astype(np.float32)[order],
            present.astype(np.int64),
            self.activations.astype(np.float32),
            {concept: named(latents) for concept, latents in split.items()},
            {concept: named(latents) for concept, latents in absorbed.items()},
            tuple(sorted(map(named, duplicates))),
            named(dead),
            named(dense),
        )

    def _way(self) -> NDArray[np.float64]:
        way = self.rng.normal(size=self.width)
        return way / np.linalg.norm(way)

    def _add(self, there: NDArray[np.bool_], way: NDArray[np.float64]) -> int:
        """A latent for some rows, which misses a few of them and, unless it is dead, takes a few others in."""
        wrong = (self.rng.random(self.n) < WRONG) & there.any()
        self.rows.append((there & (self.rng.random(self.n) >= MISSED)) | wrong)
        self.directions.append(way)
        return len(self.rows) - 1

    def _half_own(self, way: NDArray[np.float64], rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        """A direction between a concept's and one of its own, along which some rows lie as well."""
        own = self._way()
        self.activations += rows[:, None] * own
        return (way + own) / np.linalg.norm(way + own)

    def _split(self, there: NDArray[np.bool_], way: NDArray[np.float64]) -> list[int]:
        shares = self.rng.uniform(1, 2, size=self.rng.integers(2, 5))
        part = self.rng.choice(len(shares), size=self.n, p=shares / shares.sum())
        members = [there & (part == p) for p in range(len(shares))]
        return [self._add(rows, self._half_own(way, rows)) for rows in members]

    def _narrower(self, there: NDArray[np.bool_], way: NDArray[np.float64], *, instead: bool) -> list[int]:
        """A latent for a concept and one to three for parts of it, in its place or beside it."""
        part = self.rng.integers(0, 100, size=self.n) // self.rng.integers(5, 11)  # 5 to 10 % of the rows each
        members = [there & (part == p) for p in range(self.rng.integers(1, 4))]
        taken = np.any(members, axis=0) if instead else np.zeros(self.n, dtype=np.bool_)
        self._add(there & ~taken, way)
        return [self._add(rows, self._half_own(way, rows)) for rows in members]

    def _copies(self, there: NDArray[np.bool_], way: NDArray[np.float64]) -> list[int]:
        """Two or three latents of one direction, each of which fires in most of the rows."""
        copies = []
        for _ in range(self.rng.integers(2, 4)):
            near = way + 0.1 * self._way()
            rows = there & (self.rng.random(self.n) < 0.8)
            copies.append(self._add(rows, near / np.linalg.norm(near)))
        return copies
