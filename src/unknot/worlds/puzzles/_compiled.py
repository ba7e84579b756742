"""Compiled part of `puzzles`: puzzles one after the other, so that n drawn at once equal n drawn in two parts."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

EASY, HARD, BALANCED = 0, 1, 2
TRIES = 100_000  # draws of six answers until each of them could be the right one

Array = NDArray[np.int64]


class Rules(NamedTuple):
    """What puzzles are drawn from."""

    sizes: Array  # (f,) classes of each factor
    varying: Array  # positions of the factors with more than one class
    least: int  # fixed factors
    most: int
    kind: int  # of wrong answers: EASY, HARD or BALANCED
    reject_distinct: bool  # whether no other factor may be all different in both of the first rows
    subsets: NDArray[np.bool_]  # (s, f) sets of fixed factors by their number, for BALANCED
    starts: Array  # first row of `subsets` with one factor, with two, with three, and their end


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def draw(rng: Any, rules: Rules, puzzles: tuple[Array, Array, Array, NDArray[np.bool_]]) -> int:
    """Fill grids (n, 9, f), answers (n, 6, f), labels (n,) and fixed (n, f).

    Returns how many puzzles these are: fewer than n if no balanced answers were found.
    """
    sizes, kind = rules.sizes, rules.kind
    grids, answers, labels, fixed = puzzles
    order = rules.varying.copy()
    for i in range(len(labels)):
        k = rules.least + int(rng.random() * (rules.most - rules.least + 1))
        labels[i] = int(rng.random() * 6)
        if kind == BALANCED:
            subsets = rules.subsets[rules.starts[k - 1] : rules.starts[k]]
            if not _balanced(rng, sizes, subsets, answers[i], labels[i], fixed[i]):
                return i
            grids[i, 8] = answers[i, labels[i]]
        else:
            order[:] = rules.varying
            _choose(rng, order, k, fixed[i])
            for factor in range(len(sizes)):
                grids[i, 8, factor] = int(rng.random() * sizes[factor])
        _fill_rows(rng, sizes, fixed[i], rules.reject_distinct, grids[i])
        if kind != BALANCED:
            _answer(rng, sizes, fixed[i], order[:k], kind, grids[i, 8], answers[i], labels[i])
    return len(labels)


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _choose(rng: Any, order: Array, k: int, fixed: NDArray[np.bool_]) -> None:
    """Fix k factors, drawn without replacement; they come first in `order`."""
    fixed[:] = False
    for i in range(k):
        j = i + int(rng.random() * (len(order) - i))
        order[i], order[j] = order[j], order[i]
        fixed[order[i]] = True


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_rows(rng: Any, sizes: Array, fixed: NDArray[np.bool_], reject_distinct: bool, grid: Array) -> None:
    """The first eight panels, given the last."""
    for factor in range(len(sizes)):
        n = sizes[factor]
        if fixed[factor]:
            for row in range(3):
                class_ = grid[8, factor] if row == 2 else int(rng.random() * n)
                for column in range(3):
                    grid[3 * row + column, factor] = class_
            continue
        # The third row is never examined, so that only the first two are drawn anew.
        for panel in range(8):
            grid[panel, factor] = int(rng.random() * n)
        while n > 1 and _offends(grid[:6, factor], reject_distinct):
            for panel in range(6):
                grid[panel, factor] = int(rng.random() * n)


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _offends(six: Array, reject_distinct: bool) -> bool:
    a, b, c, d, e, f = six
    if a == b and b == c and d == e and e == f:
        return True
    return reject_distinct and a != b and b != c and a != c and d != e and e != f and d != f


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _answer(
    rng: Any,
    sizes: Array,
    fixed: NDArray[np.bool_],
    chosen: Array,
    kind: int,
    right: Array,
    answers: Array,
    label: int,
) -> None:
    """The right answer at its place, and five distinct wrong ones."""
    answers[label] = right
    done = 0
    while done < 5:
        place = done if done < label else done + 1
        panel = answers[place]
        for factor in range(len(sizes)):
            keeps = kind == HARD and fixed[factor]
            panel[factor] = right[factor] if keeps else int(rng.random() * sizes[factor])
        if kind == HARD:
            factor = chosen[int(rng.random() * len(chosen))]
            panel[factor] = int(rng.random() * sizes[factor])
        if _agree(panel, right, fixed):
            continue
        new = True
        for other in range(place):
            new = new and not (panel == answers[other]).all()
        if new:
            done += 1


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _agree(first: Array, second: Array, on: NDArray[np.bool_]) -> bool:
    for factor in range(len(first)):
        if on[factor] and first[factor] != second[factor]:
            return False
    return True


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _balanced(
    rng: Any, sizes: Array, subsets: NDArray[np.bool_], answers: Array, label: int, fixed: NDArray[np.bool_]
) -> bool:
    """Six uniform panels, each of which could be the right one, and the fixed factors that make `label` the one."""
    for _ in range(TRIES):
        for place in range(6):
            for factor in range(len(sizes)):
                answers[place, factor] = int(rng.random() * sizes[factor])
        every = True
        for place in range(6):
            possible = 0
            for s in range(len(subsets)):
                if _stands_alone(answers, place, subsets[s]):
                    possible += 1
                    if place == label and rng.random() * possible < 1:  # each possible set with the same chance
                        fixed[:] = subsets[s]
            every = every and possible > 0
            if not every:
                break
        if every:
            return True
    return False


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _stands_alone(answers: Array, place: int, on: NDArray[np.bool_]) -> bool:
    for other in range(6):
        if other != place and _agree(answers[other], answers[place], on):
            return False
    return True
