"""What holds for every world of the catalogue; a new entry inherits all of it."""

import re
from functools import cache

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.worlds import WORLDS, World, open_world, sample
from unknot.worlds.catalogue import conventions, recorded_name
from unknot.worlds.puzzles.quantised import Quantised
from unknot.worlds.splits.combinations import PUBLISHED_COMBINATIONS, combination_split
from unknot.worlds.splits.named import named_split
from unknot.worlds.splits.rules import RULES

KINDS = ("random", "composition", "interpolation", "extrapolation")
PLAIN = re.compile(r"[\w ,\[\]()-]+")  # needs no escaping in a page, a terminal or the name of a file
EVERY = list(WORLDS)
RENDERED = [key for key, entry in WORLDS.items() if not entry.files]
STOCHASTIC = [key for key in RENDERED if open_world(key).stochastic]


@cache
def opened(key: str) -> World:
    return open_world(key)


def draw(key: str, n: int = 4, seed: int = 0) -> np.ndarray:
    return sample(opened(key), n, np.random.default_rng(seed))


def images(key: str, classes: np.ndarray, seed: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed) if opened(key).stochastic else None
    return opened(key).images(classes, rng=rng)


def split_or_refusal(kind: str, space: FactorSpace, key: str) -> object:
    """The split; for a kind that this grid does not allow, the words that say so."""
    try:
        return named_split(kind, space, conventions(key).rule)
    except UnknotError as error:
        return str(error)


@pytest.mark.parametrize("key", EVERY)
def test_names_are_plain_and_whom_to_thank_is_known(key: str) -> None:
    entry = WORLDS[key]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", key)
    assert PLAIN.fullmatch(entry.title) and entry.licence and entry.reference
    for factor in entry.factors:
        words = [factor.name, *(value for value in factor.values if isinstance(value, str))]
        assert all(PLAIN.fullmatch(word) for word in words)
    for choice in (*entry.choices, entry.split_files):
        assert all(re.fullmatch(r"[\w.-]+", file.name) for file in choice)


@pytest.mark.parametrize("key", EVERY)
def test_conventions_name_factors_and_classes_that_exist(key: str) -> None:
    space, published = WORLDS[key].factors, WORLDS[key].conventions
    names = set(space.names)
    assert published.rule is None or set(published.rule.keep or ()) <= names
    for combination in published.combinations:
        assert combination_split(space, combination).n_test > 0
    assert {f.kind for f in space if f.name in (published.still or ())} <= {"categorical"}
    assert set(published.still or ()) <= names
    for name, n in (published.puzzle_classes or {}).items():
        assert 1 < n < space[name].size


@pytest.mark.parametrize("key", EVERY)
def test_a_stand_in_shares_factors_and_conventions_and_says_what_it_is(key: str) -> None:
    entry = WORLDS[key]
    assert ("(rendered)" in entry.title) == ("rendered" in key) == (not entry.files)
    if entry.stand_in:
        other = WORLDS[entry.stand_in]
        assert not other.files and other.factors == entry.factors and other.conventions == entry.conventions


@pytest.mark.parametrize("key", [key for key in EVERY if WORLDS[key].files])
def test_published_files_have_a_form_that_fits_the_grid(key: str) -> None:
    entry = WORLDS[key]
    forms = [file.form for choice in (*entry.choices, entry.split_files) for file in choice if file.form]
    assert forms
    for form in forms:
        assert not form.arrays or {form.images, form.labels} - {""} <= set(form.arrays)
        assert not form.labels or form.space is not None
        assert len(form.means) in (0, 1, 3) and all(0 < mean < 1 for mean in form.means)


def test_every_published_rule_and_combination_belongs_to_a_world() -> None:
    every = [entry.conventions for entry in WORLDS.values()]
    assert all(any(c.rule is rule for c in every) for rule in RULES.values())
    assert all(any(c.combinations is table for c in every) for table in PUBLISHED_COMBINATIONS.values())


@pytest.mark.parametrize("key", RENDERED)
def test_an_opened_world_is_what_the_catalogue_says(key: str) -> None:
    world, entry = opened(key), WORLDS[key]
    assert isinstance(world, World) and world.key == recorded_name(world) == key
    assert world.name == entry.title and world.factors == entry.factors and world.rows is None
    assert open_world(world) is world


@pytest.mark.parametrize("key", RENDERED)
@pytest.mark.parametrize("kind", KINDS)
def test_splits_of_the_key_are_splits_of_the_object(key: str, kind: str) -> None:
    world = opened(key)
    assert split_or_refusal(kind, WORLDS[key].factors, key) == split_or_refusal(kind, world.factors, world.key)


@pytest.mark.parametrize("key", RENDERED)
def test_images_are_bytes_of_the_shape_and_leave_the_classes_as_they_were(key: str) -> None:
    classes = draw(key)
    before = classes.copy()
    pictures = images(key, classes)
    assert pictures.dtype == np.uint8 and pictures.shape == (len(classes), *opened(key).image_shape)
    assert pictures.std() > 0
    np.testing.assert_array_equal(classes, before)
    assert images(key, classes[:0]).shape == (0, *opened(key).image_shape)


@pytest.mark.parametrize("key", RENDERED)
def test_the_same_seed_gives_the_same_images(key: str) -> None:
    classes = draw(key)
    np.testing.assert_array_equal(images(key, classes), images(key, classes))


@pytest.mark.parametrize("key", [key for key in RENDERED if key not in STOCHASTIC])
def test_images_do_not_depend_on_their_batch(key: str) -> None:
    classes = draw(key)
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(images(key, classes)[order], images(key, classes[order]))
    np.testing.assert_array_equal(images(key, classes)[2:3], images(key, classes[2:3]))


@pytest.mark.parametrize("key", STOCHASTIC)
def test_a_world_with_random_parts_asks_for_a_generator_and_is_drawn_anew_by_another(key: str) -> None:
    classes = draw(key)
    with pytest.raises(UnknotError, match="pass rng="):
        opened(key).images(classes)
    assert (images(key, classes, seed=1) != images(key, classes, seed=2)).any()
    np.testing.assert_array_equal(images(key, classes)[:1], images(key, classes[:1]))


@pytest.mark.parametrize("key", RENDERED)
def test_classes_out_of_range_are_refused_by_name(key: str) -> None:
    world = opened(key)
    wrong = np.zeros((1, len(world.factors)), dtype=np.int64)
    wrong[0, 0] = world.factors.shape[0]
    with pytest.raises(UnknotError, match=f"for factor '{world.factors.names[0]}'"):
        world.images(wrong, rng=np.random.default_rng(0))


@pytest.mark.parametrize("key", [key for key in RENDERED if WORLDS[key].conventions.puzzle_classes])
def test_puzzles_of_a_published_world_keep_the_published_classes(key: str) -> None:
    published = WORLDS[key].conventions.puzzle_classes
    coarse = Quantised(opened(key)).factors
    assert {f.name: f.size for f in coarse} == {f.name: published.get(f.name, f.size) for f in WORLDS[key].factors}
