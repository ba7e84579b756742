"""Solvers that learn nothing: the rule, and the best use of less than the whole puzzle."""

from itertools import combinations, permutations
from math import prod

import numpy as np
import pytest

from unknot.factors import FactorSpace, space
from unknot.worlds.puzzles.puzzles import Alternatives, Panels, draw_puzzles
from unknot.worlds.puzzles.solvers import Shortcuts, accuracies, rule

SPRITES = (5, 6, 3, 3, 4, 4)
ROOM = (10, 10, 10, 4, 4, 4)


def _space(sizes: tuple[int, ...]) -> FactorSpace:
    return space({f"f{i}": n for i, n in enumerate(sizes)})


# Third row for 1, 2, 3 fixed factors and for all; answers alone for all.
MEASURED: list[tuple[tuple[int, ...], Alternatives, tuple[float, ...], float]] = [
    (SPRITES, "hard", (0.86, 0.98, 0.99, 0.94), 0.62),
    (SPRITES, "easy", (0.83, 0.88, 0.96, 0.89), 0.25),
    (SPRITES, "balanced", (0.88, 0.89, 0.96, 0.91), 1 / 6),
    (ROOM, "hard", (0.91, 0.99, 1.00, 0.97), 0.66),
    (ROOM, "easy", (0.90, 0.96, 0.99, 0.95), 0.22),
    (ROOM, "balanced", (0.94, 0.96, 0.99, 0.96), 1 / 6),
]


@pytest.mark.parametrize(("sizes", "alternatives", "third", "blind"), MEASURED)
def test_shortcuts_solve_as_many_puzzles_as_their_likelihood_says(
    sizes: tuple[int, ...], alternatives: Alternatives, third: tuple[float, ...], blind: float
) -> None:
    puzzles = draw_puzzles(_space(sizes), 8_000, np.random.default_rng(0), alternatives=alternatives)
    by_solver = accuracies(puzzles, _space(sizes), alternatives=alternatives)
    assert by_solver["rule"] == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}
    assert [by_solver["third_row"][k] for k in (1, 2, 3, 0)] == pytest.approx(third, abs=0.02)
    assert by_solver["answers_only"][0] == pytest.approx(blind, abs=0.015)


@pytest.mark.parametrize("alternatives", ["hard", "easy", "balanced"])
def test_nobody_who_sees_row_three_and_the_answers_does_better(alternatives: Alternatives) -> None:
    """The rules by hand, most agreement where the two panels agree and most classes shared, are far behind."""
    small = _space(SPRITES)
    puzzles = draw_puzzles(small, 8_000, np.random.default_rng(1), alternatives=alternatives)
    by_solver = accuracies(puzzles, small, alternatives=alternatives)
    rows, answers, right = puzzles.context, puzzles.answers, (np.arange(len(puzzles)), puzzles.labels)
    agreement = ((answers == rows[:, 7:8]) & (rows[:, 6:7] == rows[:, 7:8])).sum(axis=2)
    best = agreement == agreement.max(axis=1, keepdims=True)
    assert by_solver["third_row"][0] > (best / best.sum(axis=1, keepdims=True))[right].mean() + 0.03
    shared = (answers[:, :, None] == answers[:, None]).sum(axis=(2, 3))
    for liking in (shared, -shared):
        best = liking == liking.max(axis=1, keepdims=True)
        assert by_solver["answers_only"][0] > (best / best.sum(axis=1, keepdims=True))[right].mean() - 0.01


def _wrong(
    kind: Alternatives, sizes: tuple[int, ...], fixed: tuple[int, ...], right: Panels
) -> dict[bytes, float]:
    """Every panel that can be drawn as a wrong answer, and its chance: all draws of the generator, one by one."""
    chances: dict[bytes, float] = {}
    free = [j for j in range(len(sizes)) if j not in fixed] if kind == "hard" else list(range(len(sizes)))
    for changed in fixed if kind == "hard" else (None,):
        drawn = free if changed is None else [*free, changed]
        for values in np.ndindex(*(sizes[j] for j in drawn)):
            panel = right.copy()
            panel[drawn] = values
            if (panel[list(fixed)] != right[list(fixed)]).any():
                share = 1 / (prod(sizes[j] for j in drawn) * (len(fixed) if kind == "hard" else 1))
                chances[panel.tobytes()] = chances.get(panel.tobytes(), 0.0) + share
    return {panel: chance / sum(chances.values()) for panel, chance in chances.items()}


@pytest.mark.parametrize("alternatives", ["hard", "easy"])
def test_the_likelihood_is_that_of_all_draws_of_the_generator(alternatives: Alternatives) -> None:
    sizes = (2, 3, 4)
    puzzles = draw_puzzles(_space(sizes), 40, np.random.default_rng(2), alternatives=alternatives)
    shortcuts = Shortcuts(_space(sizes), alternatives=alternatives)
    third = shortcuts.third_row(puzzles.context, puzzles.answers)
    blind = shortcuts.answers_only(puzzles.context, puzzles.answers)
    for i, (context, answers) in enumerate(zip(puzzles.context, puzzles.answers, strict=True)):
        with_row, without = np.zeros(6), np.zeros(6)
        for k in (1, 2, 3):
            sets = list(combinations(range(3), k))
            for fixed in sets:
                for label in range(6):
                    chances, left, likelihood = _wrong(alternatives, sizes, fixed, answers[label]), 1.0, 1.0
                    for other in (place for place in range(6) if place != label):
                        chance = chances.get(answers[other].tobytes(), 0.0)
                        likelihood *= chance / left
                        left -= chance
                    row = 1.0
                    for j, size in enumerate(sizes):
                        pair = context[6:, j]
                        row *= float((pair == answers[label, j]).all()) if j in fixed else size**-2
                    without[label] += likelihood / len(sets)
                    with_row[label] += likelihood * row / len(sets)
        for liking, chances_of in ((with_row, third[i]), (without, blind[i])):
            best = liking >= liking.max() * (1 - 1e-9)
            assert chances_of == pytest.approx(best / best.sum())


@pytest.mark.parametrize("alternatives", ["hard", "easy", "balanced"])
def test_the_order_of_answers_is_told_only_by_that_none_is_like_one_before_it(alternatives: Alternatives) -> None:
    puzzles = draw_puzzles(_space(ROOM), 20, np.random.default_rng(3), alternatives=alternatives)
    shortcuts = Shortcuts(_space(ROOM), alternatives=alternatives)
    straight = shortcuts.third_row(puzzles.context, puzzles.answers)
    for order in list(permutations(range(6)))[1::240]:
        turned = shortcuts.third_row(puzzles.context, puzzles.answers[:, order])
        assert (turned == straight[:, order]).mean() > 0.98


def test_rows_one_and_two_and_for_answers_alone_the_third_are_not_looked_at() -> None:
    first, second = (draw_puzzles(_space(SPRITES), 300, np.random.default_rng(seed)) for seed in (4, 5))
    shortcuts = Shortcuts(_space(SPRITES))
    mixed = np.concatenate([second.context[:, :6], first.context[:, 6:]], axis=1)
    assert (shortcuts.third_row(mixed, first.answers) == shortcuts.third_row(first.context, first.answers)).all()
    blind = shortcuts.answers_only(first.context, first.answers)
    assert (shortcuts.answers_only(second.context, first.answers) == blind).all()


def test_factors_of_one_class_tell_nothing() -> None:
    sizes = (1, 3, 4, 4)
    puzzles = draw_puzzles(_space(sizes), 200, np.random.default_rng(6))
    with_it = Shortcuts(_space(sizes)).third_row(puzzles.context, puzzles.answers)
    without = Shortcuts(_space(sizes[1:])).third_row(puzzles.context[..., 1:], puzzles.answers[..., 1:])
    assert with_it == pytest.approx(without)


def test_the_rule_by_hand() -> None:
    # Factor 0 is fixed (0, 1, 2 in the rows), factor 1 is not; in row three both of its panels have class 3.
    context = np.array([[[0, 0], [0, 1], [0, 0], [1, 2], [1, 2], [1, 3], [2, 3], [2, 3]]])
    answers = np.array([[[2, 0], [1, 3], [0, 0], [0, 1], [1, 2], [3, 0]]])
    assert rule(context, answers).tolist() == [[1, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("alternatives", ["hard", "easy", "balanced"])
def test_chances_of_a_solver_add_up_to_one(alternatives: Alternatives) -> None:
    puzzles = draw_puzzles(_space(SPRITES), 200, np.random.default_rng(7), alternatives=alternatives)
    shortcuts = Shortcuts(_space(SPRITES), alternatives=alternatives)
    for solver in (rule, shortcuts.third_row, shortcuts.answers_only):
        assert solver(puzzles.context, puzzles.answers).sum(axis=1) == pytest.approx(np.ones(200))
