from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unknot
from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import space as make_space
from unknot.worlds import World
from unknot.worlds.array_world import ArrayWorld, ranked, read_arrays
from unknot.worlds.pictures import ChannelsLast, Joined, Selected

SPACE = make_space({"shape": 3, "x": 4}, categorical=["shape"])
GRID = np.array(list(product(range(3), range(4))))


def numbered(n: int) -> np.ndarray:
    """Image i has the value i everywhere but in its last corner, which is white."""
    images = np.broadcast_to(np.arange(n, dtype=np.uint8)[:, None, None], (n, 5, 6)).copy()
    images[:, -1, -1] = 255
    return images


def test_a_complete_grid_in_order_needs_no_factors() -> None:
    world = ArrayWorld(numbered(12), space=SPACE)
    assert isinstance(world, World)
    assert world.rows is None and not world.stochastic and world.image_shape == (5, 6, 1)
    images = world.images([[2, 3], [0, 0], [1, 2]])
    assert images.shape == (3, 5, 6, 1) and images.dtype == np.uint8
    np.testing.assert_array_equal(images[:, 0, 0, 0], [11, 0, 6])


def test_a_shuffled_grid_is_looked_up_by_its_factors() -> None:
    order = np.random.default_rng(0).permutation(12)
    world = ArrayWorld(numbered(12), GRID[order], space=SPACE)
    assert world.rows is None and not world.stochastic
    np.testing.assert_array_equal(order[world.images(GRID)[:, 0, 0, 0]], np.arange(12))


def test_missing_combinations_are_named() -> None:
    world = ArrayWorld(numbered(11), GRID[:11], space=SPACE)
    np.testing.assert_array_equal(world.rows, GRID[:11])
    with pytest.raises(UnknotError, match=r"no image has shape = 2, x = 3; 11 of 12 combinations exist"):
        world.images([[0, 0], [2, 3]])


def test_of_duplicates_the_first_is_given_or_each_is_drawn_equally_often() -> None:
    world = ArrayWorld(numbered(4), [[0, 0], [1, 0], [0, 0], [0, 0]], space=SPACE)
    assert world.stochastic
    assert world.images([[0, 0]])[0, 0, 0, 0] == 0
    drawn = world.images(np.zeros((3000, 2)), rng=np.random.default_rng(0))[:, 0, 0, 0]
    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0 and (np.abs(counts[[0, 2, 3]] - 1000) < 120).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40), st.integers(0, 99))
def test_lookups_agree_with_a_search_through_the_rows(rows: list[tuple[int, int]], seed: int) -> None:
    world = ArrayWorld(numbered(len(rows)), rows, space=SPACE)
    for point in GRID:
        having = [i for i, row in enumerate(rows) if row == tuple(point)]
        if having:
            assert world.images([point])[0, 0, 0, 0] == having[0]
            assert world.images([point], rng=np.random.default_rng(seed))[0, 0, 0, 0] in having
        else:
            with pytest.raises(UnknotError, match="no image has"):
                world.images([point])
    assert (world.rows is None) == (len(set(rows)) == 12)
    assert world.stochastic == (len(set(rows)) < len(rows))


def test_images_handed_out_are_copies() -> None:
    images = numbered(12)
    world = ArrayWorld(images, space=SPACE)
    world.images([[0, 0]])[:] = 99
    assert images[0, 0, 0] == 0


def test_values_become_classes_by_rank() -> None:
    factors, classes = ranked(np.array([[0.5, 30], [0.9, -30], [0.5, 0]]), "x", ["scale", "azimuth"])
    np.testing.assert_array_equal(classes, [[0, 2], [1, 0], [0, 1]])
    assert factors["azimuth"].values == (-30.0, 0.0, 30.0) and factors["azimuth"].kind == "ordinal"


def test_words_become_categorical_factors_and_a_single_value_a_constant_one() -> None:
    factors, classes = ranked(np.array([["b", "z"], ["a", "z"]]), "x")
    assert [f.kind for f in factors] == ["categorical", "constant"] and factors["factor_0"].values == ("a", "b")
    np.testing.assert_array_equal(classes, [[1, 0], [0, 0]])


def test_images_without_factors_are_told_apart_by_number() -> None:
    world = ArrayWorld(numbered(3))
    assert world.factors.names == ("image",) and world.factors.shape == (3,)
    assert ArrayWorld(numbered(1)).factors["image"].kind == "constant"


@pytest.mark.parametrize(
    ("images", "factors", "message"),
    [
        (np.zeros((12, 5, 5), np.float32), None, r"type float32; expected uint8 .*images \* 255"),
        (np.zeros((12, 5, 5), np.int64), None, "type int64; expected uint8"),
        (np.zeros((12, 3, 64, 64), np.uint8), None, "Move the channels last"),
        (np.zeros((12, 5), np.uint8), None, r"shape \(12, 5\)"),
        (np.zeros((0, 5, 5), np.uint8), None, r"shape \(0, 5, 5\)"),
        (np.zeros((11, 5, 5), np.uint8), None, "11 images for a grid of 12"),
        (np.zeros((2, 5, 5), np.uint8), [[0, 0]], r"shape \(1, 2\) for 2 images"),
        (np.zeros((1, 5, 5), np.uint8), [[0, 4]], "class 4 for factor 'x'"),
    ],
)
def test_wrong_arrays_are_refused(images, factors, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        ArrayWorld(images, factors, space=SPACE)


def test_classes_out_of_range_are_refused() -> None:
    with pytest.raises(UnknotError, match=r"row 0 has class 3 for factor 'shape'; it has classes 0\.\.2"):
        ArrayWorld(numbered(12), space=SPACE).images([[3, 0]])


def test_images_of_zeros_and_ones_are_warned_about() -> None:
    with pytest.warns(UnknotWarning, match="if 1 means white, multiply by 255"):
        ArrayWorld(np.ones((2, 4, 4), np.uint8))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_of_images_and_factors_opens(tmp_path: Path, save) -> None:
    names, kinds = np.array(["hue", "size"]), np.array(["circular", "ordinal"])
    save(tmp_path / "mine.npz", images=numbered(12), factors=GRID * [1, 5], factor_names=names, factor_kinds=kinds)
    world = read_arrays(tmp_path / "mine.npz")
    assert world.name == "mine" and world.factors.names == ("hue", "size")
    assert world.factors["hue"].kind == "circular" and world.factors["size"].values == (0, 5, 10, 15)
    assert world.images([[1, 2]])[0, 0, 0, 0] == 6
    assert isinstance(world.pictures, np.memmap) == (save is np.savez)


def test_an_npy_of_images_opens(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", numbered(12))
    assert read_arrays(tmp_path / "mine.npy").images([[7]])[0, 0, 0, 0] == 7


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"imgs": numbered(2)}, "no array 'images'; it holds imgs"),
        ({"images": numbered(2), "factors": np.array([[{}], [{}]], dtype=object)}, "'factors' is a pickled array"),
        ({"images": numbered(2), "factors": [[0.0], [np.nan]]}, "finite"),
        (
            {"images": numbered(2), "factors": [[0], [1]], "factor_names": ["a", "b"]},
            "2 factor names for 1 factors",
        ),
        (
            {"images": numbered(2), "factors": [[0], [1]], "factor_kinds": ["round"]},
            "unknown kind of factor 'round'",
        ),
        ({"images": numbered(2), "factors": 3.0}, r"factors have shape \(\) for 2 images"),
        ({"images": numbered(2), "factors": np.zeros((2, 1, 1))}, r"factors have shape \(2, 1, 1\) for 2 images"),
        (
            {"images": numbered(2), "factors": [[0, 1], [1, 0]], "factor_names": "ab"},
            "1 factor names for 2 factors",
        ),
        ({"images": np.uint8(2), "factors": [[0]]}, r"images have shape \(\)"),
        ({"images": numbered(2)[:0], "factors": np.zeros((0, 1))}, r"images have shape \(0, 5, 6\)"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, arrays, message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(UnknotError, match=message):
        read_arrays(tmp_path / "a.npz")


def test_a_pickled_npy_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(UnknotError, match="is a pickled array"):
        read_arrays(tmp_path / "a.npy")


def test_selected_rows_are_renumbered() -> None:
    chosen = Selected(numbered(12), np.array([5, 7, 9]))
    np.testing.assert_array_equal(chosen[np.array([2, 0, 0])][:, 0, 0], [9, 5, 5])
    assert chosen.shape == (3, 5, 6)


def test_joined_stacks_continue_each_other() -> None:
    joined = Joined(numbered(3), numbered(4), numbered(2))
    assert joined.shape == (9, 5, 6)
    np.testing.assert_array_equal(joined[np.array([8, 0, 3, 2, 6, 7])][:, 0, 0], [1, 0, 0, 2, 3, 0])


def test_channels_first_are_turned_around() -> None:
    images = np.random.default_rng(0).integers(0, 255, (4, 3, 5, 6), dtype=np.uint8)
    turned = ChannelsLast(images)
    assert turned.shape == (4, 5, 6, 3)
    np.testing.assert_array_equal(turned[np.array([2])][0, :, :, 1], images[2, 1])


def test_names_that_are_no_words_are_refused() -> None:
    with pytest.raises(UnknotError, match="names is 9223372036854775808; expected a list, each a word"):
        ArrayWorld(numbered(2), [[0], [1]], names=2**63)  # type: ignore[arg-type]


def test_a_table_brings_names_and_words() -> None:
    images = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((1, 8, 8), np.uint8)
    table = pd.DataFrame({"kind": ["shoe", "bag", "shoe", "bag"], "size": [1.5, 1.5, 2.5, 2.5]})
    world = ArrayWorld(images, table)
    assert world.factors.names == ("kind", "size")
    assert [(factor.kind, factor.values) for factor in world.factors] == [
        ("categorical", ("bag", "shoe")),
        ("ordinal", (1.5, 2.5)),
    ]
    assert world.images([[1, 1]]).max() == 2
    assert ArrayWorld(images, table.to_numpy()[:, 1:].astype(float), names=["size"]).factors.names == ("size",)
    with pytest.raises(UnknotError, match="must be finite numbers or words"):
        ArrayWorld(images, table.assign(size=[1.0, None, 2.0, 2.0]))


def test_a_measurement_is_a_continuous_factor_and_scored_by_its_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    warmth, colour = rng.normal(size=300), rng.integers(0, 3, 300)
    images = np.zeros((300, 8, 8), dtype=np.uint8)
    images[:, 0, 0] = np.round(40 * (warmth + 3)).clip(0, 255)
    images[:, 1, 1] = 50 * colour
    world = ArrayWorld(images, np.column_stack([warmth, colour]), names=["warmth", "colour"])
    assert [factor.kind for factor in world.factors] == ["continuous", "ordinal"]
    colours = np.array(["red", "green", "blue"])[colour]
    world = ArrayWorld(images, pd.DataFrame({"warmth": warmth, "colour": colours}))
    np.savez(
        tmp_path / "world.npz",
        images=images,
        factors=np.column_stack([np.arange(300) // 2, colour]),
        factor_kinds=["continuous", "categorical"],
    )
    assert [f.kind for f in read_arrays(tmp_path / "world.npz").factors] == ["continuous", "categorical"]

    encoded = unknot.encode(lambda seen: seen.reshape(len(seen), -1)[:, [0, 9]] / 255.0, world, rows="all")
    assert encoded.kinds == {"warmth": "continuous", "colour": "categorical"}
    assert sorted(encoded.factors[:, 0]) == sorted(warmth), "values, not the numbers of 300 classes"
    again = unknot.read_representation(encoded.write(tmp_path / "latents.npz"))
    assert again.kinds == encoded.kinds, "they are kept in the file"
    card = unknot.score(again, metrics=["r2", "mig"])
    assert (
        "factor 'colour' is categorical: its classes count as the numbers 0 to 2, in this order."
        in card["r2"].parts["notes"]
    )
    assert (
        dict(zip(card["r2"].parts["factor_names"], card["r2"].parts["per_factor"], strict=True))["warmth"] > 0.99
    )
    assert any("'warmth' is continuous: cut into 20 bins" in note for note in card["mig"].parts["notes"])


def test_no_names_may_be_an_empty_array() -> None:
    images, factors = np.zeros((4, 8, 8, 1), np.uint8), np.array([[0], [1], [0], [1]])
    assert ArrayWorld(images, factors=factors, names=np.array([])).factors.names == ("factor_0",)
