"""Novel combinations of familiar features."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.metrics.heads import RECIPES
from unknot.representation import Representation
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.tasks.combinations.heads import answer_table, chance_levels, mistake_table
from unknot.tasks.combinations.rows import FileRows, Seen, chosen_combinations, seen_and_novel
from unknot.tasks.combinations.task import combinations, summary
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.published.dsprites import SPACE as DSPRITES

GRID = space({"shape": 3, "scale": 4, "x": 25}, categorical=["shape"])
PAIR = ["scale=0,shape=0", "scale=2,shape=1"]


def telling(grid: FactorSpace = GRID, rows: np.ndarray | None = None) -> ArrayWorld:
    """A world whose images say their classes in the first pixels."""
    classes = grid.classes(np.arange(grid.size)) if rows is None else rows
    images = np.zeros((len(classes), 8, 8), dtype=np.uint8)
    images[:, 0, : len(grid)] = classes
    return ArrayWorld(images, classes, space=grid, name="telling")


def true_factors(images: np.ndarray) -> np.ndarray:
    return images[:, 0, : len(GRID), 0].astype(float)


def one_hot_pairs(images: np.ndarray) -> np.ndarray:
    """A latent for every combination of shape and scale: the novel one has a latent that no head has ever met."""
    y = images[:, 0, : len(GRID), 0]
    return np.eye(12)[y[:, 0] * 4 + y[:, 1]]


def nothing(*_: Any) -> None:
    pass


def test_chance_is_one_in_the_number_of_classes_and_of_pairs() -> None:
    levels = chance_levels(DSPRITES, None, {"scale": 0, "shape": 0})
    assert levels["scale"] == pytest.approx(1 / 6)
    assert levels["shape"] == pytest.approx(1 / 3)
    assert levels["both"] == pytest.approx(1 / 18)


def test_chance_of_uneven_rows_is_worked_out_by_hand() -> None:
    points = np.array([[0, 0], [0, 1], [1, 0], [0, 0]])
    levels = chance_levels(space({"a": 2, "b": 2}), points, {"a": 0, "b": 0})
    assert levels["a"] == levels["b"] == pytest.approx((3 / 4) ** 2 + (1 / 4) ** 2)
    assert levels["both"] == pytest.approx((1 / 2) ** 2 + 2 * (1 / 4) ** 2)  # the empirical joint, not the product


def test_accuracy_above_chance_is_worked_out_by_hand() -> None:
    # Two factors of 2 and 4 classes. Of four novel rows, a is right in 3, b in 2, both at once in 1.
    grid = space({"a": 2, "b": 4})
    truth = np.array([[0, 0]] * 4)
    seen = Seen(*((np.zeros((4, 1)), truth) for _ in range(3)))
    guesses = {"a": np.array([0, 0, 0, 1]), "b": np.array([0, 1, 2, 0])}
    answers = {"mlp": {"random": {"a": truth[:, 0], "b": truth[:, 1]}, "novel": guesses}}
    held_out = {"a": 0, "b": 0}
    table = answer_table(seen, answers, grid, chance_levels(grid, None, held_out), held_out)
    found = {(row["test"], row["factor"]): row["adjusted"] for row in table}
    assert found["novel", "a"] == pytest.approx((0.75 - 0.5) / 0.5)
    assert found["novel", "b"] == pytest.approx((0.5 - 0.25) / 0.75)
    assert found["novel", "both"] == pytest.approx((0.25 - 0.125) / 0.875)
    assert found["random", "both"] == 1


def test_accuracy_below_chance_counts_as_none() -> None:
    grid = space({"a": 2, "b": 2})
    truth = np.zeros((5, 2), dtype=np.int64)
    wrong = {"a": np.ones(5, dtype=np.int64), "b": np.zeros(5, dtype=np.int64)}
    seen = Seen(*((np.zeros((5, 1)), truth) for _ in range(3)))
    held_out = {"a": 0, "b": 0}
    answers = {"linear": {"random": wrong, "novel": wrong}}
    table = answer_table(seen, answers, grid, chance_levels(grid, None, held_out), held_out)
    assert {row["factor"]: row["adjusted"] for row in table} == {"a": 0, "b": 1, "both": 0}


def test_mistakes_are_counted_by_the_factor_that_is_wrong() -> None:
    # The truth is scale 2, shape 1. Wrong answers: scale alone by one and by two, shape alone, both, both.
    novel = {"scale": np.array([2, 1, 0, 2, 3, 0]), "shape": np.array([1, 1, 1, 0, 0, 2])}
    (row,) = mistake_table({"mlp": {"novel": novel}}, GRID, {"scale": 2, "shape": 1})
    assert row["wrong"] == pytest.approx(5 / 6)
    assert (row["first_only"], row["second_only"], row["both"]) == (2 / 5, 1 / 5, 2 / 5)
    assert row["neighbour"] == 2 / 5  # scale 1, and any shape, as shapes have no order


def test_no_wrong_answers_have_no_shares() -> None:
    right = {"novel": {"scale": np.array([2, 2]), "shape": np.array([1, 1])}}
    (row,) = mistake_table({"mlp": right}, GRID, {"scale": 2, "shape": 1})
    assert row["wrong"] == 0 and row["both"] is None and row["neighbour"] is None


def test_the_true_factors_reach_one_on_the_novel_combination_with_a_linear_head() -> None:
    result = combinations(true_factors, telling(), held_out=PAIR, rows="all")
    assert result.values["linear_random_both"] == result.values["linear_novel_both"] == 1
    assert result.values["linear_drop"] == 0
    assert result.values["mlp_novel_both"] > 0.95
    assert {row["factor"] for row in result.tables["answers"]} == {"shape", "scale", "x", "both"}


def test_the_true_factors_of_dsprites_pass_all_published_combinations() -> None:
    y = DSPRITES.sample(3000, np.random.default_rng(0))
    made = Representation(DSPRITES.scaled(y), y, DSPRITES.names, source={"world": "dsprites"})
    result = combinations(made, pair_only=True)
    assert result.settings["combinations"][:2] == ["scale=0,shape=0", "scale=5,shape=2"]
    assert len(result.settings["combinations"]) == 5
    assert result.values["linear_novel_both"] > 0.99
    assert result.values["mlp_novel_both"] > 0.9


def test_a_latent_for_each_combination_is_perfect_on_those_known_and_worthless_on_a_novel_one() -> None:
    values = combinations(one_hot_pairs, telling(), held_out=PAIR, rows="all", pair_only=True).values
    assert values["mlp_random_both"] == values["linear_random_both"] == 1
    assert values["mlp_novel_both"] < 0.1 and values["linear_novel_both"] < 0.1
    assert values["mlp_drop"] > 0.9 and values["linear_drop"] > 0.9


def test_heads_learn_from_no_row_they_are_tested_on_and_from_none_that_is_novel() -> None:
    y = GRID.classes(np.arange(GRID.size))
    rows = FileRows(
        Representation(np.arange(GRID.size, dtype=float)[:, None], y, GRID.names), "all", 0, space=GRID
    )
    seen = seen_and_novel(rows, {"scale": 2, "shape": 1}, 0, nothing)
    train, random, novel = (set(z.ravel().tolist()) for z, _ in (seen.train, seen.random, seen.novel))
    assert not train & random and not train & novel and not random & novel
    assert len(novel) == len(random) == 25 and len(train) == 300 - 50
    assert (seen.novel[1][:, :2] == [1, 2]).all()
    assert not (seen.train[1][:, :2] == [1, 2]).all(axis=1).any()


def test_means_and_deviations_are_over_combinations() -> None:
    answers = [
        {"combination": name, "heads": "mlp", "test": "novel", "factor": factor, "in_combination": inside}
        | {"rows": 9, "accuracy": value, "chance": 0.1, "adjusted": value}
        for name, value in (("a=0,b=0", 0.2), ("a=1,b=0", 0.6))
        for factor, inside in (("a", True), ("both", True), ("c", False))
    ]
    (a, both) = summary(answers)
    assert a["adjusted"] == both["adjusted"] == pytest.approx(0.4)
    assert a["sd_adjusted"] == pytest.approx(np.std([0.2, 0.6], ddof=1))
    assert (a["factor"], both["factor"], a["combinations"]) == ("a", "both", 2)
    assert summary(answers[:3])[0]["sd_adjusted"] is None


def test_a_pair_stands_for_all_its_combinations_and_a_limit_draws_some() -> None:
    every = chosen_combinations((), ("scale", "shape"), "telling", GRID)
    assert len(every) == 12 and {"scale": 3, "shape": 2} in every
    some = chosen_combinations((), ("scale", "shape"), "telling", GRID, limit=5, seed=1)
    assert len(some) == 5 and all(one in every for one in some)
    assert some == chosen_combinations((), ("scale", "shape"), "telling", GRID, limit=5, seed=1)
    assert chosen_combinations({"scale": np.int64(1), "shape": 2}, (), "", GRID) == [{"shape": 2, "scale": 1}]
    assert chosen_combinations([PAIR[0], {"shape": 0, "scale": 0}], (), "", GRID) == [{"shape": 0, "scale": 0}]


def test_the_same_seed_gives_the_same_numbers_in_any_order_of_combinations() -> None:
    def run(order: list[str]) -> dict[Any, Any]:
        answers = combinations(one_hot_pairs, telling(), held_out=order, rows=200, pair_only=True).tables[
            "answers"
        ]
        return {tuple(row[key] for key in ("combination", "heads", "test", "factor")): row for row in answers}

    assert run(PAIR) == run(PAIR[::-1])


class Counted:
    """An encoder that counts the images it sees."""

    def __init__(self, encode: Callable[[np.ndarray], np.ndarray]) -> None:
        self.encode, self.seen = encode, 0

    def __call__(self, images: np.ndarray) -> np.ndarray:
        self.seen += len(images)
        return self.encode(images)


def test_a_task_stopped_half_way_does_only_what_is_missing(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int, /, **facts: Any) -> None:
        if stage.startswith("heads") and "2 of 2" in stage:
            raise KeyboardInterrupt

    how: dict[str, Any] = {"held_out": PAIR, "rows": 240, "pair_only": True}
    whole = combinations(one_hot_pairs, telling(), **how)
    with pytest.raises(KeyboardInterrupt):
        combinations(one_hot_pairs, telling(), **how, folder=tmp_path, progress=stop)
    assert len(list(tmp_path.glob("parts/*.json"))) == 1
    said: list[str] = []
    counted = Counted(one_hot_pairs)
    resumed = combinations(
        counted, telling(), **how, folder=tmp_path, progress=lambda stage, *_: said.append(stage)
    )
    assert resumed.tables == whole.tables
    assert {stage.split(",")[0] for stage in said if "2 of 2" in stage} == {"encoding", "heads"}
    assert not any("1 of 2" in stage for stage in said)
    assert counted.seen == 16 + 25  # the fingerprint and the second combination; the other rows were kept


def test_an_encoder_that_was_edited_gets_new_numbers(tmp_path: Path) -> None:
    def mine(images: np.ndarray) -> np.ndarray:
        return one_hot_pairs(images)

    how: dict[str, Any] = {"held_out": PAIR[:1], "rows": 240, "pair_only": True, "folder": tmp_path}
    before = combinations(mine, telling(), **how).values
    mine.__code__ = (lambda images: true_factors(images)).__code__
    after = combinations(mine, telling(), **how).values
    assert before["linear_novel_both"] < 0.1 and after["linear_novel_both"] == 1


def test_one_run_is_trained_without_each_combination_and_a_stopped_task_goes_on(tmp_path: Path) -> None:
    spec = RunSpec(world="dsprites_rendered", latents=3, image_size=32, steps=4, batch_size=8)
    how: dict[str, Any] = {"held_out": PAIR, "rows": 300, "pair_only": True, "recipe": "paper"}

    def stop(stage: str, done: int, total: int, /, **facts: Any) -> None:
        if stage == "training without scale=2,shape=1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        combinations(spec, **how, folder=tmp_path / "a", progress=stop)
    first = next((tmp_path / "a" / "runs").glob("*/weights.safetensors"))
    made = first.stat().st_mtime_ns
    resumed = combinations(spec, **how, folder=tmp_path / "a")
    assert first.stat().st_mtime_ns == made
    assert len(list((tmp_path / "a" / "runs").glob("*/weights.safetensors"))) == 2
    assert resumed.tables == combinations(spec, **how, folder=tmp_path / "b").tables
    assert resumed.settings["spec"]["steps"] == 4
    assert "One beta_vae was trained for each combination" in resumed.notes[0]


def test_a_run_is_tested_on_the_combination_it_was_trained_without(tmp_path: Path) -> None:
    spec = RunSpec(world="dsprites_rendered", latents=3, image_size=32, steps=2, batch_size=8)
    run = train(spec.replace(split="combination:scale=1,shape=2"), tmp_path)
    result = combinations(run, rows=300, pair_only=True, recipe="paper")
    assert result.settings["combinations"] == ["scale=1,shape=2"]
    assert "inside the split combination:scale=1,shape=2" in result.notes[0]
    assert (
        "may have seen"
        in combinations(train(spec, tmp_path), rows=300, pair_only=True, recipe="paper", limit=1).notes[0]
    )


def test_a_file_names_classes_by_the_order_of_its_values(tmp_path: Path) -> None:
    y = GRID.classes(np.arange(GRID.size))[:, :2]
    path = Representation(y * 1.0, y * 10 + 5, ("shape", "scale")).write(tmp_path / "mine.npz")
    result = combinations(path, held_out="scale=3,shape=0", recipe="converged")
    assert result.values["linear_novel_both"] == 1
    assert any("The values of 'scale' (5, 15, 25, 35)" in note for note in result.notes)


def test_linear_heads_of_wide_codes_can_have_a_penalty(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = GRID.classes(rng.integers(GRID.size, size=500))[:, :2]
    told = np.concatenate([np.eye(3)[y[:, 0]], np.eye(4)[y[:, 1]]], axis=1) + 0.2 * rng.normal(size=(500, 7))
    wide = np.hstack([told, rng.normal(size=(500, 330))])
    path = Representation(wide, y, ("shape", "scale")).write(tmp_path / "wide.npz")
    plain, penalised = (
        combinations(path, held_out="scale=3,shape=0", recipe=recipe).values
        for recipe in ("converged", "penalised")
    )
    assert penalised["linear_random_both"] > 0.85 > 0.8 > plain["linear_random_both"]
    assert penalised["mlp_novel_both"] == plain["mlp_novel_both"]


def test_an_incomplete_world_is_tested_on_the_images_it_has() -> None:
    y = GRID.classes(np.arange(GRID.size))
    world = telling(rows=y[~((y[:, 0] == 2) & (y[:, 1] == 3))])
    assert (
        combinations(true_factors, world, held_out=PAIR[:1], rows="all", pair_only=True).values[
            "linear_novel_both"
        ]
        == 1
    )
    with pytest.raises(UnknotError, match="no row has the combination scale=3,shape=2"):
        combinations(true_factors, world, held_out="scale=3,shape=2")


def test_slots_are_laid_side_by_side_and_a_note_says_so() -> None:
    result = combinations(
        lambda x: true_factors(x)[:, :, None], telling(), held_out=PAIR[:1], rows="all", pair_only=True
    )
    assert result.values["linear_novel_both"] == 1
    assert any("Slots" in note for note in result.notes)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"held_out": "scale=9,shape=0"}, "no image has the combination scale=9, shape=0"),
        ({"held_out": "scale=0"}, "two factors or more; got scale"),
        ({"held_out": "scale=0,shpae=0"}, "unknown factor 'shpae'; did you mean 'shape'"),
        ({"held_out": "scale=0,shape=0,x=1"}, "is not one combination of two factors"),
        ({"held_out": "scale=0+1,shape=0"}, "is not one combination of two factors"),
        ({"held_out": "small squares"}, "is not a factor and its class"),
        ({"held_out": PAIR, "pair": ("scale", "shape")}, "either combinations or a pair"),
        ({"pair": ("scale", "scale")}, "expected two different factors"),
        ({"pair": ("scale", "shaep")}, "unknown factor 'shaep'; did you mean 'shape'"),
        ({}, "no combinations are published for telling; name some"),
        (
            {"held_out": PAIR, "rows": 12},
            "of .* rows to learn from, .* have .* at least 5 are needed. Give more rows",
        ),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UnknotError, match=complaint):
        combinations(true_factors, telling(), **given)


def test_a_spec_needs_a_folder_and_no_split_of_its_own(tmp_path: Path) -> None:
    spec = RunSpec(world="dsprites_rendered", steps=2)
    with pytest.raises(UnknotError, match="needs a folder"):
        combinations(spec)
    with pytest.raises(UnknotError, match=r"has a split \(random\)"):
        combinations(spec.replace(split="random"), folder=tmp_path)
    with pytest.raises(UnknotError, match="trains on dsprites_rendered, and the world is shapes3d"):
        combinations(spec, "shapes3d", folder=tmp_path)
    with pytest.raises(UnknotError, match="no image has the combination scale=6"):
        combinations(spec, held_out="scale=6,shape=0", folder=tmp_path)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} <= {".lock"}


def test_latents_without_factors_are_refused() -> None:
    with pytest.raises(UnknotError, match="has no factors"):
        combinations(Representation(np.zeros((9, 2))), held_out=PAIR)
    with pytest.raises(UnknotError, match="'x' holds real numbers"):
        combinations(Representation(np.zeros((9, 2)), np.full((9, 1), 0.5), ("x",)), held_out=PAIR)
    for bad in (np.nan, np.inf):
        factors = np.array([[bad], [1.0], [0.0]])
        with pytest.raises(UnknotError, match="'x' has missing or infinite values"):
            combinations(Representation(np.zeros((3, 2)), factors, ("x",)), held_out=PAIR)


def test_a_world_that_is_not_that_of_the_file_is_refused() -> None:
    y = GRID.classes(np.arange(GRID.size))
    made = Representation(y * 1.0, y, GRID.names)
    with pytest.raises(
        UnknotError, match="the latents have factors shape, scale, x, dsprites has shape, scale, orient"
    ):
        combinations(made, "dsprites")
    with pytest.raises(UnknotError, match="no combinations are published for latents of an unknown world"):
        combinations(made)


@pytest.mark.parametrize("recipe", [*RECIPES, "penalised"])
def test_every_recipe_trains_both_heads(recipe: str) -> None:
    result = combinations(true_factors, telling(), held_out=PAIR[:1], rows=240, pair_only=True, recipe=recipe)
    assert set(result.values) >= {"mlp_random_both", "mlp_novel_both", "linear_random_both", "linear_novel_both"}
    assert all(0 <= row["accuracy"] <= 1 for row in result.tables["answers"])


def test_whole_numbers_of_any_size_are_classes() -> None:
    factors = np.array([[1e19, 0.0], [2e19, 1.0], [1e19, 1.0], [2e19, 0.0]])
    rows = FileRows(Representation(np.zeros((4, 2)), factors, ("id", "x")), "all", 0)
    assert rows.space.shape == (2, 2)
    assert "10000000000000000000, 20000000000000000000" in rows.notes[0]
