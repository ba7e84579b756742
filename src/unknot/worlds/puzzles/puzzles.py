"""Raven-like puzzles from a factor space: three rows of three panels, the last missing, six answers.

In each row some factors keep one class; they are the same factors in all rows, and the class may differ from row to
row. The first two rows show which factors they are, the third row which class, and one answer alone fits.

Reference: van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?,
arXiv:1905.12506, section 3 and appendix A.2.
"""

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import FactorSpace

Alternatives = Literal["hard", "easy", "balanced"]
Relations = Literal[1, 2, 3, "mixed"]

PANELS, ANSWERS = 9, 6
CHANCE = 1 / ANSWERS
MOST_RELATIONS = 3
Panels = NDArray[np.int64]  # (n, panels, n_factors)


@dataclass(frozen=True)
class Puzzles:
    """Puzzles with their solutions, as factor classes.

    Attributes:
        grids: (n, 9, f) panels row by row, the last one the right answer.
        answers: (n, 6, f) candidates.
        labels: (n,) which candidate is right.
        fixed: (n, f) whether a factor is constant along each row.
    """

    grids: Panels
    answers: Panels
    labels: NDArray[np.int64]
    fixed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def context(self) -> Panels:
        """(n, 8, f) panels a solver sees: rows one and two, and two panels of row three."""
        return self.grids[:, :8]

    @property
    def relations(self) -> NDArray[np.int64]:
        """(n,) how many factors are fixed."""
        counts: NDArray[np.int64] = self.fixed.sum(axis=1)
        return counts


def draw_puzzles(
    space: FactorSpace,
    n: int,
    rng: np.random.Generator,
    *,
    relations: Relations = "mixed",
    alternatives: Alternatives = "hard",
    reject_distinct: bool = False,
) -> Puzzles:
    """Draw n puzzles.

    One, two or three factors are fixed, each set equally likely. Every fixed factor has a uniform class in each row;
    every other factor has nine independent uniform classes, of which the first six are drawn anew while they are
    constant in both rows. Wrong answers are pairwise distinct.

    | alternatives | a wrong answer |
    |---|---|
    | hard | the right one with all other factors drawn anew and one fixed factor changed |
    | easy | any panel that misses the right one in at least one fixed factor |
    | balanced | the six are drawn first, the right one among them last: nothing in them tells which it is |

    Edge cases: factors of one class are left alone; those of two are allowed. In balanced puzzles factors with many
    classes are fixed more often than others.
    Departs from the paper: it does not say whether wrong answers may repeat. Its released code repeats some, makes
    easy ones only, and never shows a factor that is all different in both of the first rows (`reject_distinct`).

    Args:
        space: of the panels.
        n: how many.
        rng: decides everything; n at once are the same as n in parts.
        relations: how many factors are fixed, or "mixed": one, two or three, equally often.
        alternatives: the kind of wrong answers.
        reject_distinct: also redraw a factor that is all different in both of the first rows.

    >>> from unknot.factors import space
    >>> puzzles = draw_puzzles(space({"shape": 3, "size": 4, "x": 4}), 5, np.random.default_rng(0), relations=2)
    >>> puzzles.answers.shape, puzzles.relations.tolist()
    ((5, 6, 3), [2, 2, 2, 2, 2])
    """
    least, most = check_puzzles(space, relations, alternatives)
    from unknot.worlds.puzzles import _compiled as compiled

    varying = np.flatnonzero(space.sizes > 1)
    f = len(space)
    puzzles = Puzzles(
        np.empty((n, PANELS, f), dtype=np.int64),
        np.empty((n, ANSWERS, f), dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros((n, f), dtype=np.bool_),
    )
    kind = {"easy": compiled.EASY, "hard": compiled.HARD, "balanced": compiled.BALANCED}[alternatives]
    subsets, starts = _subsets(varying, f, most if alternatives == "balanced" else 0)
    rules = compiled.Rules(space.sizes, varying, least, most, kind, reject_distinct, subsets, starts)
    done = compiled.draw(rng, rules, (puzzles.grids, puzzles.answers, puzzles.labels, puzzles.fixed))
    if done < n:
        raise UnknotError(
            f"puzzles: no six answers were found each of which stands alone in {least} to {most} factors of "
            f"{_sizes(space)}; factors need more classes for balanced answers, or ask for hard or easy ones.",
            field="alternatives",
        )
    return puzzles


def check_puzzles(space: FactorSpace, relations: Relations, alternatives: Alternatives) -> tuple[int, int]:
    """The fewest and the most factors that are fixed, or the error why there are no such puzzles.

    For every choice of fixed factors there must be five different wrong answers.
    """
    least, most = _range(space, relations)
    if alternatives not in get_args(Alternatives):
        raise unknown("kind of alternatives", alternatives, get_args(Alternatives))
    sizes = [size for size in space.shape if size > 1]
    for k in range(least, most + 1):
        for chosen in combinations(range(len(sizes)), k):
            free = prod(size for j, size in enumerate(sizes) if j not in chosen)
            wrong = sum(sizes[a] - 1 for a in chosen) if alternatives == "hard" else 0
            room = wrong * free if alternatives == "hard" else prod(sizes) - free
            if room < ANSWERS - 1:
                raise UnknotError(
                    f"puzzles: factors of {_sizes(space)} give only {room} different wrong answers when {k} of them "
                    f"are fixed; {ANSWERS - 1} are needed. Use factors with more classes.",
                    field="classes",
                )
    return least, most


def _range(space: FactorSpace, relations: Relations) -> tuple[int, int]:
    """The fewest and the most fixed factors."""
    varying = sum(size > 1 for size in space.shape)
    if relations == "mixed":
        if varying == 0:
            raise UnknotError(
                f"puzzles: no factor of {_sizes(space)} has two classes; nothing can be asked.", field="classes"
            )
        return 1, min(MOST_RELATIONS, varying)
    if relations not in (1, 2, 3):
        raise UnknotError(who="puzzles", field="relations", value=relations, expected="1, 2, 3 or mixed")
    if relations > varying:
        raise UnknotError(
            f"puzzles: {relations} factors cannot be fixed, since only {varying} of {_sizes(space)} vary.",
            field="relations",
        )
    return relations, relations


def _subsets(varying: NDArray[np.int64], f: int, most: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """All sets of up to `most` factors, smallest first, and where each size begins."""
    rows, starts = [], [0]
    for k in range(1, most + 1):
        for chosen in combinations(varying.tolist(), k):
            row = np.zeros(f, dtype=np.bool_)
            row[list(chosen)] = True
            rows.append(row)
        starts.append(len(rows))
    subsets = np.array(rows) if rows else np.empty((0, f), dtype=np.bool_)
    return subsets, np.array(starts, dtype=np.int64)


def _sizes(space: FactorSpace) -> str:
    return ", ".join(f"{factor.name} {factor.size}" for factor in space)
