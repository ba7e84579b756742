"""What can be solved without learning anything: the rule itself, and two shortcuts that puzzles leave open.

Each solver says, from context (n, 8, f) and answers (n, 6, f) alone, with which chance it picks each answer: (n, 6),
rows adding up to one; answers it likes equally share the chance.

| solver | looks at |
|---|---|
| `rule` | everything: factors constant in rows one and two must be in row three what they are there |
| `third_row` | the two panels of row three and the answers: most agreement where those two agree |
| `answers_only` | the answers alone: the one that shares most classes with the others |

An accuracy means something above the last two only. Hard wrong answers cluster around the right one, which is what
`answers_only` finds; in most puzzles the third row alone tells much of the rule.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from unknot.worlds.puzzles.puzzles import Panels, Puzzles

Chances = NDArray[np.float64]  # (n, 6)


def rule(context: Panels, answers: Panels) -> Chances:
    """The whole rule; always right."""
    rows = context[:, :6].reshape(len(context), 2, 3, -1)
    fixed = (rows == rows[:, :, :1]).all(axis=(1, 2))
    agrees = answers == context[:, 7:8]
    fits: NDArray[np.bool_] = (agrees | ~fixed[:, None]).all(axis=2)
    return _shared(fits.astype(np.int64))


def third_row(context: Panels, answers: Panels) -> Chances:
    """Agreement with row three where its two panels agree."""
    alike = context[:, 6:7] == context[:, 7:8]
    return _shared(((answers == context[:, 7:8]) & alike).sum(axis=2))


def answers_only(context: Panels, answers: Panels) -> Chances:
    """The answer that shares most classes with the other answers; the context is not looked at."""
    return _shared((answers[:, :, None] == answers[:, None]).sum(axis=(2, 3)))


SOLVERS: Mapping[str, Callable[[Panels, Panels], Chances]] = {
    "rule": rule,
    "third_row": third_row,
    "answers_only": answers_only,
}


def accuracies(puzzles: Puzzles) -> dict[str, dict[int, float]]:
    """Accuracy of each solver by the number of fixed factors; 0 stands for all puzzles.

    >>> from unknot.factors import space
    >>> from unknot.worlds.puzzles.puzzles import draw_puzzles
    >>> puzzles = draw_puzzles(space({"a": 4, "b": 4, "c": 4}), 1000, np.random.default_rng(0))
    >>> accuracies(puzzles)["rule"]
    {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}
    """
    counts = puzzles.relations
    by_solver = {}
    for name, solver in SOLVERS.items():
        right = solver(puzzles.context, puzzles.answers)[np.arange(len(puzzles)), puzzles.labels]
        by_relations = {int(k): float(right[counts == k].mean()) for k in np.unique(counts)}
        by_solver[name] = {0: float(right.mean()), **by_relations}
    return by_solver


def _shared(liking: NDArray[np.int64]) -> Chances:
    best = liking == liking.max(axis=1, keepdims=True)
    chances: Chances = best / best.sum(axis=1, keepdims=True)
    return chances
