"""Raven-like puzzles: what holds for every one of them, and what holds on average."""

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.worlds.puzzles.puzzles import Puzzles, draw_puzzles

SPRITES, ROOM = (5, 6, 3, 3, 4, 4), (10, 10, 10, 4, 4, 4)
KINDS = ("hard", "easy", "balanced")
MANY = 25_000
MILLION = 1_000_000  # in all, over worlds and kinds of answers


def _space(sizes: Sequence[int]) -> FactorSpace:
    return space({f"factor_{i}": size for i, size in enumerate(sizes)})


def _draw(sizes: Sequence[int], n: int = 6_000, seed: int = 0, **options: object) -> Puzzles:
    return draw_puzzles(_space(sizes), n, np.random.default_rng(seed), **options)  # type: ignore[arg-type]


def _constant(rows: np.ndarray) -> np.ndarray:
    """(n, rows, f) whether a factor is constant in a row, of panels (n, 3 * rows, f)."""
    cut = rows.reshape(len(rows), -1, 3, rows.shape[2])
    return (cut == cut[:, :, :1]).all(axis=2)


def _must_hold(puzzles: Puzzles, sizes: Sequence[int], alternatives: str) -> None:
    n, fixed = len(puzzles), puzzles.fixed
    every, varying = np.arange(n), np.array(sizes) > 1
    assert puzzles.context.shape == (n, 8, len(sizes)) and puzzles.answers.shape == (n, 6, len(sizes))
    assert ((puzzles.labels >= 0) & (puzzles.labels < 6)).all()
    for panels in (puzzles.grids, puzzles.answers):
        assert (panels >= 0).all() and (panels < np.array(sizes)).all()
    constant = _constant(puzzles.grids)
    assert constant.all(axis=1)[fixed].all()
    assert (constant[:, :2].all(axis=1) == (fixed | ~varying)).all()
    right = puzzles.answers[every, puzzles.labels]
    assert (right == puzzles.grids[:, 8]).all()
    agrees = puzzles.answers == puzzles.grids[:, 7:8]
    fits = (agrees | ~fixed[:, None]).all(axis=2)
    assert (fits.sum(axis=1) == 1).all() and fits[every, puzzles.labels].all()
    missed = ((puzzles.answers != right[:, None]) & fixed[:, None]).sum(axis=2)
    wrong = np.arange(6) != puzzles.labels[:, None]
    assert (missed[wrong] >= 1).all()
    if alternatives == "hard":
        assert (missed[wrong] == 1).all()
    for a, b in combinations(range(6), 2):
        assert (puzzles.answers[:, a] != puzzles.answers[:, b]).any(axis=1).all()


@pytest.mark.parametrize("alternatives", KINDS)
@pytest.mark.parametrize("sizes", [SPRITES, ROOM], ids=["sprites", "room"])
def test_every_puzzle_has_one_answer_that_fits_and_shows_its_fixed_factors(
    sizes: tuple[int, ...], alternatives: str
) -> None:
    part = MILLION // (2 * len(KINDS) * 4)
    for seed in range(4):  # in parts, for the sake of memory
        _must_hold(_draw(sizes, part + 1, seed, alternatives=alternatives), sizes, alternatives)


@pytest.mark.parametrize("alternatives", ("hard", "easy"))
@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 3, 3), (2, 2, 2, 2, 2), (1, 4, 5, 2), (40, 40), (6,)], ids=str)
def test_small_factors_constant_factors_and_few_factors_make_puzzles_too(
    sizes: tuple[int, ...], alternatives: str
) -> None:
    puzzles = _draw(sizes, 5_000, alternatives=alternatives)
    _must_hold(puzzles, sizes, alternatives)
    assert not puzzles.fixed[:, np.array(sizes) == 1].any()
    assert puzzles.relations.max() == min(3, sum(size > 1 for size in sizes))


@pytest.mark.parametrize("k", (1, 2, 3))
def test_relations_say_how_many_factors_are_fixed(k: int) -> None:
    assert (_draw(SPRITES, relations=k).relations == k).all()


def test_the_released_code_never_shows_a_factor_all_different_in_both_first_rows() -> None:
    def all_different(puzzles: Puzzles) -> np.ndarray:
        cut = puzzles.grids[:, :6].reshape(len(puzzles), 2, 3, -1)
        a, b, c = cut[:, :, 0], cut[:, :, 1], cut[:, :, 2]
        return ((a != b) & (b != c) & (a != c)).all(axis=1)

    assert all_different(_draw(SPRITES)).any()
    parity = _draw(SPRITES, reject_distinct=True)
    assert not all_different(parity)[~parity.fixed].any()
    _must_hold(parity, SPRITES, "hard")


def test_answers_positions_relations_and_fixed_factors_are_uniform() -> None:
    puzzles = _draw(SPRITES, MANY)
    n = len(puzzles)

    def near(count: float, chance: float) -> bool:
        return abs(count / n - chance) < 4 * np.sqrt(chance * (1 - chance) / n)

    assert all(near((puzzles.labels == i).sum(), 1 / 6) for i in range(6))
    assert all(near((puzzles.relations == k).sum(), 1 / 3) for k in (1, 2, 3))
    assert all(near(count, 2 / 6) for count in puzzles.fixed.sum(axis=0))
    pairs = puzzles.fixed[puzzles.relations == 2]
    for a, b in combinations(range(6), 2):
        assert (pairs[:, a] & pairs[:, b]).mean() == pytest.approx(1 / comb(6, 2), abs=0.015)


def test_values_of_rows_are_uniform_and_independent_between_rows() -> None:
    puzzles = _draw(SPRITES, MANY)
    for factor, size in enumerate(SPRITES):
        rows = puzzles.grids[puzzles.fixed[:, factor]][:, [0, 3, 6], factor]
        for row in rows.T:
            assert np.bincount(row, minlength=size) / len(rows) == pytest.approx(1 / size, abs=0.02)
        assert np.mean(rows[:, 0] == rows[:, 1]) == pytest.approx(1 / size, abs=0.02)
        assert np.mean(rows[:, 1] == rows[:, 2]) == pytest.approx(1 / size, abs=0.02)


def test_free_factors_are_uniform_but_for_the_rejected_rows() -> None:
    puzzles = _draw((2, 3, 3, 4), MANY, relations=1)
    free = puzzles.grids[~puzzles.fixed[:, 0]][:, :, 0]
    both = (free[:, [0]] == free[:, :3]).all(axis=1).mean()
    # One row of three coins is constant with chance 1/4; given that not both rows are, (1/4 - 1/16) / (15/16).
    assert both == pytest.approx((1 / 4 - 1 / 16) / (15 / 16), abs=0.01)
    assert free[:, 6:].mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("sizes", "shares"), [(SPRITES, (0.518, 0.342, 0.140)), (ROOM, (0.457, 0.354, 0.189))], ids=["sprites", "room"]
)
def test_easy_answers_miss_one_two_or_three_fixed_factors_as_often_as_uniform_panels_do(
    sizes: tuple[int, ...], shares: tuple[float, ...]
) -> None:
    puzzles = _draw(sizes, 20_000, alternatives="easy")
    missed = ((puzzles.answers != puzzles.grids[:, 8:9]) & puzzles.fixed[:, None]).sum(axis=2)
    counts = np.bincount(missed.ravel(), minlength=4)[1:]
    assert counts / counts.sum() == pytest.approx(shares, abs=0.02)


def test_hard_answers_change_a_factor_in_proportion_to_how_often_a_new_value_differs() -> None:
    puzzles = _draw((2, 10, 40, 40), 30_000, relations=2)
    both = puzzles.fixed[:, 0] & puzzles.fixed[:, 1]
    changed = (puzzles.answers != puzzles.grids[:, 8:9])[both]
    first = changed[:, :, 0].sum() / (changed[:, :, 0].sum() + changed[:, :, 1].sum())
    assert first == pytest.approx(0.5 / (0.5 + 0.9), abs=0.015)


@pytest.mark.parametrize("alternatives", KINDS)
def test_the_same_seed_gives_the_same_puzzles_at_once_or_in_parts(alternatives: str) -> None:
    whole = _draw(SPRITES, 64, alternatives=alternatives)
    rng = np.random.default_rng(0)
    parts = [draw_puzzles(_space(SPRITES), 32, rng, alternatives=alternatives) for _ in range(2)]  # type: ignore[arg-type]
    for name in ("grids", "answers", "labels", "fixed"):
        assert (getattr(whole, name) == np.concatenate([getattr(part, name) for part in parts])).all()
    assert (whole.grids != _draw(SPRITES, 64, seed=1, alternatives=alternatives).grids).any()


@pytest.mark.parametrize(("sizes", "room"), [((2, 2, 3), 4), ((2, 2, 2), 4), ((3, 3), 4), ((5,), 4)], ids=str)
def test_a_space_with_too_few_wrong_answers_is_refused(sizes: tuple[int, ...], room: int) -> None:
    with pytest.raises(UnknotError, match=f"give only {room} different wrong answers"):
        _draw(sizes)


def test_a_space_just_large_enough_is_not_refused() -> None:
    assert len(_draw((2, 3, 3), 100)) == 100


def test_more_fixed_factors_than_factors_are_refused() -> None:
    with pytest.raises(UnknotError, match="3 factors cannot be fixed, since only 2 of"):
        _draw((10, 10, 1), relations=3)
    with pytest.raises(UnknotError, match="nothing can be asked"):
        _draw((1,))
    with pytest.raises(UnknotError, match="expected 1, 2, 3 or mixed"):
        _draw(SPRITES, relations=4)


def test_an_unknown_kind_of_answers_is_refused_and_so_are_balanced_ones_that_do_not_exist() -> None:
    with pytest.raises(UnknotError, match="unknown kind of alternatives 'harder'; did you mean 'hard'"):
        _draw(SPRITES, alternatives="harder")
    with pytest.raises(UnknotError, match="no six answers were found"):
        _draw((2, 2, 2, 2), 10, alternatives="balanced", relations=1)
