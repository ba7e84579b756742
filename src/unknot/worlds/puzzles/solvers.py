"""What can be solved without learning anything: the rule itself, and the best use of less than the whole puzzle.

Each solver says, from context (n, 8, f) and answers (n, 6, f) alone, with which chance it picks each answer: (n, 6),
rows adding up to one; answers it likes equally share the chance.

| solver | looks at |
|---|---|
| `rule` | everything: factors constant in rows one and two must be in row three what they are there |
| `third_row` | the two panels of row three and the answers, never rows one and two |
| `answers_only` | the answers alone |

The last two know how puzzles are drawn and pick the answer that is right with the greatest chance given what they see,
so that nobody who sees no more does better. Only an accuracy above `third_row` shows that rows one and two are used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unknot.factors import FactorSpace
from unknot.worlds.puzzles.puzzles import ANSWERS, Alternatives, Panels, Puzzles, Relations, check_puzzles

Chances = NDArray[np.float64]  # (n, 6)
ALIKE = 1e-9  # chances that differ by less, as a share, are the same but for rounding
TRIALS = 10_000  # sets of six answers, from which it is known how many of them can be balanced


def rule(context: Panels, answers: Panels) -> Chances:
    """The whole rule; always right."""
    rows = context[:, :6].reshape(len(context), 2, 3, -1)
    fixed = (rows == rows[:, :, :1]).all(axis=(1, 2))
    agrees = answers == context[:, 7:8]
    fits: NDArray[np.bool_] = (agrees | ~fixed[:, None]).all(axis=2)
    return _shared(fits.astype(np.float64))


@dataclass(frozen=True)
class Shortcuts:
    """The best solvers that see less than the whole puzzle, by the likelihood of what they see.

    P(right is a | row, answers) ~ sum_A P(A) P(row | A, a) P(others | A, a)     over the sets A of fixed factors

    A class of row three is certain in a fixed factor and uniform in any other. The others are the five wrong answers in
    their order, none like one before it.

    Edge cases: in balanced puzzles, answers alone tell nothing. How many of all sets of six answers can be balanced has
    no closed form and is estimated.

    Attributes:
        space: of the panels.
        relations: how many factors are fixed, as in `draw_puzzles`.
        alternatives: the kind of wrong answers.
    """

    space: FactorSpace
    relations: Relations = "mixed"
    alternatives: Alternatives = "hard"

    def third_row(self, context: Panels, answers: Panels) -> Chances:
        """The likeliest answer given the two panels of row three and the answers."""
        agrees = (answers == context[:, 6:7]) & (answers == context[:, 7:8])
        right = np.zeros(answers.shape[:2])
        for fixed, chance in self._sets(answers):
            right += chance * agrees[:, :, fixed].all(axis=2) / float(self._free(fixed)) ** 2
        return _shared(right)

    def answers_only(self, context: Panels, answers: Panels) -> Chances:
        """The likeliest answer given the answers; the context is not looked at."""
        return _shared(sum((chance for _, chance in self._sets(answers)), np.zeros(answers.shape[:2])))

    def _sets(self, answers: Panels) -> Iterator[tuple[list[int], Chances]]:
        """Sets of fixed factors, and P(set) P(the other answers | set, each answer as the right one), (n, 6)."""
        differs = answers[:, :, None] != answers[:, None]
        for sets, accepted in zip(self._fixed, self._accepted, strict=True):
            if self.alternatives == "balanced":
                alone = [_stands_alone(differs, fixed) for fixed in sets]
                possible = np.sum(alone, axis=0)
                each = (possible > 0).all(axis=1, keepdims=True) / np.maximum(possible, 1) / accepted
                yield from ((fixed, each * stands) for fixed, stands in zip(sets, alone, strict=True))
            else:
                wrong = self._hard if self.alternatives == "hard" else self._easy
                yield from ((fixed, wrong(differs, fixed) / len(sets)) for fixed in sets)

    def _hard(self, differs: NDArray[np.bool_], fixed: list[int]) -> Chances:
        """P(the others | a set, an answer as the right one): each misses it in one of the fixed factors."""
        sizes = self.space.sizes[fixed].astype(np.float64)
        misses = differs[..., fixed]
        panel = (misses.sum(axis=-1) == 1) * (misses @ (1 / sizes)) / (1 - 1 / sizes).sum() / self._free(fixed)
        drawn_before = np.cumsum(panel, axis=2) - panel
        each = panel / (1 - drawn_before)
        places = np.arange(ANSWERS)
        each[:, places, places] = 1.0
        chances: Chances = each.prod(axis=2)
        return chances

    def _easy(self, differs: NDArray[np.bool_], fixed: list[int]) -> Chances:
        """P(the others | a set, an answer as the right one): all panels that do not fit are as likely."""
        room = self.space.size - self._free(fixed)
        orders = float(np.prod([room - drawn for drawn in range(ANSWERS - 1)], dtype=np.float64))
        return _stands_alone(differs, fixed) / orders

    def _free(self, fixed: list[int]) -> int:
        """How many panels agree with one in these factors."""
        return self.space.size // int(np.prod(self.space.sizes[fixed]))

    @cached_property
    def _fixed(self) -> list[list[list[int]]]:
        """The sets of fixed factors, by their number; each number and each set of a number is as likely."""
        least, most = check_puzzles(self.space, self.relations, self.alternatives)
        varying = np.flatnonzero(self.space.sizes > 1).tolist()
        return [[list(fixed) for fixed in combinations(varying, k)] for k in range(least, most + 1)]

    @cached_property
    def _accepted(self) -> list[float]:
        """By the number of fixed factors, the share of sets of six panels that balanced puzzles can have."""
        if self.alternatives != "balanced" or len(self._fixed) == 1:
            return [1.0] * len(self._fixed)
        panels = np.random.default_rng(0).integers(0, self.space.sizes, (TRIALS, ANSWERS, len(self.space)))
        differs = panels[:, :, None] != panels[:, None]
        possible = [np.any([_stands_alone(differs, fixed) for fixed in sets], axis=0) for sets in self._fixed]
        return [max(float(some.all(axis=1).mean()), 1 / TRIALS) for some in possible]


def accuracies(
    puzzles: Puzzles, space: FactorSpace, *, relations: Relations = "mixed", alternatives: Alternatives = "hard"
) -> dict[str, dict[int, float]]:
    """Accuracy of each solver by the number of fixed factors; 0 stands for all puzzles.

    The space and the options are those that the puzzles were drawn with.

    >>> from unknot.factors import space
    >>> from unknot.worlds.puzzles.puzzles import draw_puzzles
    >>> cube = space({"a": 4, "b": 4, "c": 4})
    >>> accuracies(draw_puzzles(cube, 1000, np.random.default_rng(0)), cube)["rule"]
    {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}
    """
    shortcuts = Shortcuts(space, relations, alternatives)
    solvers = {"rule": rule, "third_row": shortcuts.third_row, "answers_only": shortcuts.answers_only}
    counts = puzzles.relations
    by_solver = {}
    for name, solver in solvers.items():
        right = solver(puzzles.context, puzzles.answers)[np.arange(len(puzzles)), puzzles.labels]
        by_relations = {int(k): float(right[counts == k].mean()) for k in np.unique(counts)}
        by_solver[name] = {0: float(right.mean()), **by_relations}
    return by_solver


def _stands_alone(differs: NDArray[np.bool_], fixed: list[int]) -> NDArray[np.bool_]:
    """(n, 6) whether each other answer misses this one in some of these factors."""
    agrees = ~differs[..., fixed].any(axis=-1)
    alone: NDArray[np.bool_] = agrees.sum(axis=2) == 1  # with itself
    return alone


def _shared(liking: Chances) -> Chances:
    best = liking >= liking.max(axis=1, keepdims=True) * (1 - ALIKE)
    chances: Chances = best / best.sum(axis=1, keepdims=True)
    return chances
