import json
import pickle
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace, space

DSPRITES = space({"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}, categorical=["shape"])
sizes_lists = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def of_sizes(sizes: list[int]) -> FactorSpace:
    return space({f"f{i}": n for i, n in enumerate(sizes)})


def test_index_counts_the_grid_with_the_last_factor_fastest():
    assert DSPRITES.size == 737_280
    assert DSPRITES.strides.tolist() == [245_760, 40_960, 1024, 32, 1]
    assert DSPRITES.indices([[2, 5, 39, 31, 31], [0, 0, 0, 1, 0]]).tolist() == [737_279, 32]
    assert DSPRITES.classes([737_279, 32]).tolist() == [[2, 5, 39, 31, 31], [0, 0, 0, 1, 0]]


@settings(deadline=None)
@given(sizes_lists)
def test_indices_are_the_order_of_a_nested_loop(sizes):
    grid = of_sizes(sizes)
    everything = np.array(list(product(*map(range, sizes))))
    np.testing.assert_array_equal(grid.indices(everything), np.arange(grid.size))
    np.testing.assert_array_equal(grid.classes(np.arange(grid.size)), everything)
    np.testing.assert_array_equal(np.ravel_multi_index(everything.T, grid.shape), np.arange(grid.size))


@settings(deadline=None)
@given(st.lists(st.integers(1, 2000), min_size=1, max_size=5), st.data())
def test_index_to_classes_and_back_is_exact_on_grids_of_any_size(sizes, data):
    grid = of_sizes(sizes)
    chosen = data.draw(st.lists(st.integers(0, grid.size - 1), min_size=1, max_size=20))
    classes = grid.classes(chosen)
    assert (classes >= 0).all()
    assert (classes < grid.sizes).all()
    assert grid.indices(classes).tolist() == chosen


def test_largest_64_bit_grid_is_indexed_exactly():
    grid = of_sizes([2] * 62)
    assert grid.size == 2**62
    assert grid.indices([[1] * 62]).tolist() == [2**62 - 1]
    assert grid.classes([2**62 - 2]).tolist() == [[1] * 61 + [0]]


def test_huge_grids_cost_nothing():
    tracemalloc.start()
    try:
        grid = of_sizes([100] * 9)
        grid.sample(100, np.random.default_rng(0))
        next(grid.chunks(1000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grid.size == 10**18
    assert peak < 1_000_000


@settings(deadline=None)
@given(sizes_lists, st.integers(1, 50))
def test_chunks_are_the_whole_grid_in_order(sizes, size):
    grid = of_sizes(sizes[:3])
    chunks = list(grid.chunks(size))
    assert all(len(chunk) == size for chunk in chunks[:-1])
    np.testing.assert_array_equal(np.concatenate(chunks), grid.classes(np.arange(grid.size)))


def test_sample_is_uniform_and_decided_by_the_generator():
    grid = space({"a": 3, "b": 4, "c": 1})
    drawn = grid.sample(60_000, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, grid.sample(60_000, np.random.default_rng(0)))
    assert drawn.dtype == np.int64
    counts = np.bincount(grid.indices(drawn), minlength=12)
    chi2 = ((counts - 5000) ** 2 / 5000).sum()
    assert chi2 < 11 + 6 * np.sqrt(22)


def test_fixed_factors_keep_their_class_and_the_others_stay_uniform():
    grid = space({"a": 3, "b": 4})
    drawn = grid.sample(20_000, np.random.default_rng(0), fixed={"b": 2})
    assert (drawn[:, 1] == 2).all()
    assert np.abs(np.bincount(drawn[:, 0]) / 20_000 - 1 / 3).max() < 0.02
    assert grid.sample(0, np.random.default_rng(0)).shape == (0, 2)


def test_numbers_are_values_where_there_are_and_classes_elsewhere():
    grid = FactorSpace((Factor("scale", 2, values=(0.5, 1.0)), Factor("who", 3, "categorical", ("a", "b", "c"))))
    np.testing.assert_array_equal(grid.numbers([[1, 2], [0, 1]]), [[1.0, 2.0], [0.5, 1.0]])
    assert (grid["scale"].label(0), grid["who"].label(2), Factor("x", 3).label(1)) == ("0.5", "c", "1")


def test_scaled_factors_span_zero_to_one_and_constants_are_zero():
    grid = space({"a": 5, "one": 1})
    np.testing.assert_array_equal(grid.scaled([[0, 0], [1, 0], [4, 0]]), [[0, 0], [0.25, 0], [1, 0]])


def test_subspace_keeps_the_order_asked_for():
    assert DSPRITES.subspace(["x", "shape"]).names == ("x", "shape")
    assert DSPRITES.subspace(["x", "shape"])["shape"].kind == "categorical"


def test_first_classes_keep_their_numbers_and_values():
    angles = FactorSpace((Factor("angle", 4, "circular", (0.0, 90.0, 180.0, 270.0)), Factor("x", 3)))
    half = angles.first("angle", 2)
    assert half["angle"] == Factor("angle", 2, "ordinal", (0.0, 90.0))
    assert half["x"] == angles["x"]
    assert angles.first("angle", 4) is angles
    assert angles.first("angle", 1)["angle"].kind == "constant"
    assert DSPRITES.first("shape", 2)["shape"].kind == "categorical"


def test_one_row_may_be_given_flat_and_whole_floats_are_classes():
    grid = space({"a": 3, "b": 4})
    assert grid.check([1, 2]).tolist() == [[1, 2]]
    checked = grid.check(np.array([[1.0, 2.0]]))
    assert checked.dtype == np.int64
    assert grid.check(np.array([[1, 2]], dtype=np.uint8)).tolist() == [[1, 2]]
    assert grid.check(np.zeros((0, 2), dtype=int)).shape == (0, 2)
    assert grid.check(np.empty((0, 2), dtype=object)).dtype == np.int64


def test_spaces_survive_json_and_pickle_and_hash_alike():
    grid = FactorSpace((Factor("s", 2, "categorical", ("a", "b")), Factor("x", 3, values=(0.1, 0.2, 1 / 3))))
    _ = grid.strides, grid["x"].numbers
    for again in (FactorSpace.from_json(json.loads(json.dumps(grid.as_json()))), pickle.loads(pickle.dumps(grid))):
        assert again == grid
        assert hash(again) == hash(grid)


def test_sizes_from_numpy_are_plain_numbers():
    assert json.dumps(space({"x": np.int64(4)}).as_json()) == json.dumps(space({"x": 4}).as_json())


def test_shared_arrays_are_read_only():
    for array in (DSPRITES.sizes, DSPRITES.strides, DSPRITES["x"].numbers):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_kinds_by_name():
    grid = space({"one": 1, "shape": 3, "angle": 9, "x": 5}, categorical=["shape"], circular=["angle"])
    assert [f.kind for f in grid] == ["constant", "categorical", "circular", "ordinal"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Factor("x", 3, "round"), "unknown kind of factor 'round'"),
        (lambda: Factor("x", 0), "size is 0"),
        (lambda: Factor("x", float("nan")), "size is nan"),
        (lambda: Factor("x", 2.5), "size is 2.5; it is a whole number"),
        (lambda: Factor("x", 1), "exactly the factors with one class"),
        (lambda: Factor("x", 2, "constant"), "kind 'constant'"),
        (lambda: Factor("x", 3, values=(1.0, 2.0)), "has 3 classes but 2 values"),
        (lambda: FactorSpace(()), "at least one factor"),
        (lambda: FactorSpace((Factor("x", 2), Factor("x", 3))), "the name 'x' occurs twice"),
        (lambda: of_sizes([10_000] * 5), "do not fit a 64-bit index"),
        (lambda: space({"x": 3}, circular=["z"]), "unknown factor 'z'"),
        (lambda: DSPRITES["orientatoin"], "did you mean 'orientation'"),
        (lambda: DSPRITES.indices([[0, 0, 0]]), r"shape \(1, 3\); expected \(n, 5\)"),
        (lambda: DSPRITES.indices([[0, 6, 0, 0, 0]]), "row 0 has class 6 for factor 'scale'; it has classes 0..5"),
        (lambda: DSPRITES.indices([[0, 0, 0, 0, 0], [0, 0, -1, 0, 0]]), "row 1 has class -1"),
        (lambda: DSPRITES.indices([[0.5, 0, 0, 0, 0]]), "must be whole numbers"),
        (lambda: DSPRITES.indices([[np.nan, 0, 0, 0, 0]]), "must be whole numbers"),
        (lambda: DSPRITES.indices([[np.inf, 0, 0, 0, 0]]), "must be whole numbers"),
        (lambda: DSPRITES.indices([[1e300, 0, 0, 0, 0]]), "must fit 64 bits"),
        (lambda: DSPRITES.indices([["a", "b", "c", "d", "e"]]), "must be whole numbers; got values of type"),
        (lambda: DSPRITES.classes([737_280]), "index 737280 is outside the grid of 737280 points"),
        (lambda: DSPRITES.classes([-1]), "index -1 is outside"),
        (lambda: DSPRITES.classes([0.5]), "indices must be whole numbers"),
        (lambda: DSPRITES.classes([[0, 1]]), r"indices have shape \(1, 2\)"),
        (lambda: list(DSPRITES.chunks(0)), "chunks of 0 points"),
        (
            lambda: DSPRITES.sample(0, np.random.default_rng(0), fixed={"scale": 6}),
            "cannot fix 'scale' at class 6",
        ),
        (
            lambda: DSPRITES.sample(2, np.random.default_rng(0), fixed={"scale": 1.5}),
            "cannot fix 'scale' at class 1.5",
        ),
        (lambda: DSPRITES.sample(2, np.random.default_rng(0), fixed={"size": 0}), "unknown factor 'size'"),
        (lambda: DSPRITES.first("scale", 7), "cannot keep the first 7 classes of 'scale', which has 6"),
        (lambda: FactorSpace.from_json([{"size": 3}]), "could not read"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(UnknotError, match=message):
        call()
