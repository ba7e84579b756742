import json

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds.published.dsprites import SPACE as DSPRITES
from unknot.worlds.published.mpi3d import COMPLEX_SPACE
from unknot.worlds.published.mpi3d import SPACE as MPI3D
from unknot.worlds.published.shapes3d import SPACE as SHAPES3D
from unknot.worlds.splits.combinations import PUBLISHED_COMBINATIONS, combination_split, existing_combinations
from unknot.worlds.splits.split import Split

WORLDS = {"dsprites": (DSPRITES, 40_960, 18), "shapes3d": (SHAPES3D, 15_000, 32), "mpi3d": (MPI3D, 86_400, 12)}


@pytest.mark.parametrize("name", WORLDS)
def test_published_combinations_hold_out_the_published_number_of_images(name):
    grid, held_out, share = WORLDS[name]
    assert existing_combinations(PUBLISHED_COMBINATIONS[name], grid) == PUBLISHED_COMBINATIONS[name]
    for combination in PUBLISHED_COMBINATIONS[name]:
        parts = combination_split(grid, combination)
        assert parts.n_test == np.count_nonzero(parts.test) == held_out
        assert parts.space.size == share * held_out
        assert parts.one_ood_counts == {}
        for factor, value in combination.items():
            assert (parts.space.classes(parts.test_indices())[:, grid.position(factor)] == value).all()


@pytest.mark.parametrize("name", WORLDS)
def test_training_sees_every_class_of_every_factor(name):
    grid, _, _ = WORLDS[name]
    for combination in PUBLISHED_COMBINATIONS[name]:
        parts = combination_split(grid, combination)
        train = parts.train.reshape(grid.shape)
        for axis in range(len(grid)):
            assert train.any(axis=tuple(a for a in range(len(grid)) if a != axis)).all()


def test_combination_by_hand_in_three_factors_and_several_classes():
    parts = combination_split(space({"a": 2, "b": 3, "c": 2}), {"c": 1, "a": np.int64(0), "b": (0, 2)})
    np.testing.assert_array_equal(parts.space.classes(parts.test_indices()), [[0, 0, 1], [0, 2, 1]])
    assert parts.contains([[0, 1, 1], [0, 2, 1]]).tolist() == [True, False]
    assert Split.from_json(json.loads(json.dumps(parts.as_json()))) == parts


def test_worlds_with_fewer_shapes_have_fewer_of_the_combinations():
    assert existing_combinations(PUBLISHED_COMBINATIONS["mpi3d"], DSPRITES) == ()
    fewer = existing_combinations(PUBLISHED_COMBINATIONS["mpi3d"], COMPLEX_SPACE)
    assert [(c["size"], c["shape"]) for c in fewer] == [(0, 0), (1, 3), (1, 1), (0, 2)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: combination_split(DSPRITES, {"scale": 0}), "two factors or more; got scale"),
        (lambda: combination_split(DSPRITES, {}), "got none"),
        (
            lambda: combination_split(DSPRITES, {"scale": 6, "shape": 0}),
            "no image has the combination scale=6, shape=0",
        ),
        (lambda: combination_split(DSPRITES, {"scale": -1, "shape": 0}), "'scale' has classes 0..5"),
        (lambda: combination_split(DSPRITES, {"scale": (), "shape": 0}), "no image has the combination"),
        (lambda: combination_split(DSPRITES, {"size": 0, "shape": 0}), "unknown factor 'size'"),
        (lambda: combination_split(space({"a": 1, "b": 2}), {"a": 0, "b": 0}), "'a' has one class only"),
        (lambda: combination_split(DSPRITES, {"scale": range(6), "shape": 0}), "combination needs two factors"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(UnknotError, match=message):
        call()
