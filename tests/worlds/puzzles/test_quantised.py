"""Worlds with fewer classes."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.worlds import ArrayWorld, open_world
from unknot.worlds.puzzles.picture import puzzle_picture
from unknot.worlds.puzzles.puzzles import draw_puzzles
from unknot.worlds.puzzles.quantised import Quantised, kept_classes


def _pictures(factors: FactorSpace) -> ArrayWorld:
    """A grid in which an image is as bright as its number."""
    images = np.arange(factors.size, dtype=np.uint8)[:, None, None].repeat(4, 1).repeat(4, 2)
    return ArrayWorld(images, factors.classes(np.arange(factors.size)), space=factors, name="grid")


def test_the_study_keeps_these_classes() -> None:
    sprites = Quantised(open_world("abstract_dsprites_rendered"))
    assert [kept.tolist() for kept in sprites.kept[3:]] == [[0, 2, 4], [0, 8, 16, 24], [0, 8, 16, 24]]
    assert sprites.factors.size == 4320
    room = Quantised(open_world("shapes3d_rendered"))
    assert [kept.tolist() for kept in room.kept[3:]] == [[0, 2, 4, 6], [0, 1, 2, 3], [0, 3, 7, 11]]
    assert room.factors.size == 64_000
    assert [float(v) for v in room.factors["azimuth"].values] == pytest.approx([-30, -17.14, 0, 17.14], abs=0.01)


def test_other_worlds_keep_at_most_ten_classes_whatever_their_factors_are_called() -> None:
    assert Quantised(_pictures(space({"shape": 3, "x": 32}))).factors.shape == (3, 10)
    like_shapes3d = space({"floor_hue": 2, "wall_hue": 2, "object_hue": 2, "size": 6, "shape": 2, "azimuth": 2})
    assert Quantised(_pictures(like_shapes3d)).factors.shape == like_shapes3d.shape


def test_the_key_is_that_of_the_world_only_if_all_classes_stay() -> None:
    room = open_world("shapes3d_rendered")
    assert Quantised(room, {}).key == "shapes3d_rendered"
    assert Quantised(room).key == "" and Quantised(room).name == room.name


@pytest.mark.parametrize(("n", "m"), [(32, 4), (15, 4), (7, 7), (3, 5), (40, 10), (5, 1)])
def test_kept_classes_rise_and_stay_in_range(n: int, m: int) -> None:
    kept = kept_classes(n, m)
    assert len(kept) == min(n, m) and kept[0] == 0 and kept[-1] < n and (np.diff(kept) > 0).all()


def test_images_are_those_of_the_class_that_is_kept() -> None:
    world = _pictures(space({"a": 6, "b": 8}))
    coarse = Quantised(world, {"a": 3, "b": 2})
    assert coarse.factors.shape == (3, 2)
    assert coarse.images([[2, 1]])[0, 0, 0, 0] == world.images([[4, 4]])[0, 0, 0, 0] == 36
    assert coarse.image_shape == world.image_shape and coarse.rows is None and not coarse.stochastic


def test_a_circle_that_is_cut_unevenly_is_no_circle() -> None:
    world = _pictures(space({"hue": 10, "x": 4}, circular=["hue"]))
    assert Quantised(world, {"hue": 5}).factors["hue"].kind == "circular"
    assert Quantised(world, {"hue": 4}).factors["hue"].kind == "ordinal"
    assert Quantised(world, {"hue": 1}).factors["hue"].kind == "constant"


def test_a_partial_grid_is_refused_unless_what_is_kept_is_there() -> None:
    factors = space({"a": 4, "b": 4})
    classes = factors.classes(np.arange(16))
    lacking = classes[~((classes == [2, 2]).all(axis=1))]
    world = ArrayWorld(np.full((15, 4, 4), 9, dtype=np.uint8), lacking, space=factors, name="grid")
    with pytest.raises(UnknotError, match="1 of the 16 combinations that puzzles are made from have no image"):
        Quantised(world)
    with pytest.raises(UnknotError, match="1 of the 4 combinations"):
        Quantised(world, {"a": 2, "b": 2})
    assert Quantised(world, {"a": 1, "b": 2}).factors.size == 2


def test_a_wrong_factor_no_classes_and_a_world_without_factors_are_refused() -> None:
    world = _pictures(space({"a": 4, "b": 4}))
    with pytest.raises(UnknotError, match="unknown factor 'c'"):
        Quantised(world, {"c": 2})
    with pytest.raises(UnknotError, match="cannot keep 0 classes"):
        Quantised(world, {"a": 0})
    with pytest.raises(UnknotError, match="has no factors"):
        Quantised(ArrayWorld(np.full((5, 4, 4), 9, dtype=np.uint8), name="folder"))


def test_a_picture_shows_the_puzzle_and_marks_the_right_answer_when_asked() -> None:
    world = Quantised(open_world("abstract_dsprites_rendered"))
    puzzles = draw_puzzles(world.factors, 2, np.random.default_rng(1))
    plain, solved = (
        np.asarray(puzzle_picture(world, puzzles, 1, rng=np.random.default_rng(0), solved=s))
        for s in (False, True)
    )
    assert plain.shape == solved.shape and plain.ndim == 3
    differs = (plain != solved).any(axis=(0, 2)) & (plain[-150:] != solved[-150:]).any(axis=(0, 2))
    middle = np.flatnonzero(differs).mean() / plain.shape[1]
    assert int(middle * 6) == puzzles.labels[1]
    with pytest.raises(UnknotError, match="number 2 is not among them"):
        puzzle_picture(world, puzzles, 2, rng=np.random.default_rng(0))
