import json
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.worlds.published.celeb_glow import SPACE as CELEB_GLOW
from unknot.worlds.published.dsprites import SPACE as DSPRITES
from unknot.worlds.published.mpi3d import COMPLEX_SPACE
from unknot.worlds.published.mpi3d import SPACE as MPI3D
from unknot.worlds.published.shapes3d import SPACE as SHAPES3D
from unknot.worlds.splits.rules import Rule, exclusive_classes
from unknot.worlds.splits.split import Split, split

PUBLISHED = {"dsprites": DSPRITES, "shapes3d": SHAPES3D, "mpi3d": MPI3D, "celeb_glow": CELEB_GLOW}


def between(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


# Tables 2 and 3 of Schott et al. 2022, and the CelebGlow composition that Table 3 leaves out.
TABLES = {
    ("dsprites", "interpolation"): {
        "scale": (1, 4),
        "orientation": (2, 7, 12, 17, 22, 27, 32, 37),
        "x": (2, 7, 11, 15, 20, 24, 29),
        "y": (2, 7, 11, 15, 20, 24, 29),
    },
    ("dsprites", "extrapolation"): {
        "scale": (4, 5),
        "orientation": between(32, 39),
        "x": between(25, 31),
        "y": between(25, 31),
    },
    ("dsprites", "composition"): {"orientation": between(0, 3), "x": between(0, 2), "y": between(0, 2)},
    ("shapes3d", "interpolation"): {
        "floor_hue": (2, 7),
        "wall_hue": (2, 7),
        "object_hue": (2, 7),
        "size": (2, 5),
        "azimuth": (2, 7, 12),
    },
    ("shapes3d", "extrapolation"): {
        "floor_hue": (8, 9),
        "wall_hue": (8, 9),
        "object_hue": (8, 9),
        "size": (6, 7),
        "azimuth": (12, 13, 14),
    },
    ("shapes3d", "composition"): {"floor_hue": (0,), "wall_hue": (0,), "object_hue": (0,), "azimuth": (0,)},
    ("mpi3d", "interpolation"): {
        "color": (3,),
        "height": (1,),
        "background": (1,),
        "horizontal": (5, 15, 24, 34),
        "vertical": (5, 15, 24, 34),
    },
    ("mpi3d", "extrapolation"): {
        "color": (5,),
        "height": (2,),
        "background": (2,),
        "horizontal": between(36, 39),
        "vertical": between(36, 39),
    },
    ("mpi3d", "composition"): {"horizontal": between(0, 5), "vertical": between(0, 5)},
    ("celeb_glow", "interpolation"): {"smile": (1, 4), "blond": (1, 4), "age": (1, 4)},
    ("celeb_glow", "extrapolation"): {"smile": (4, 5), "blond": (4, 5), "age": (4, 5)},
    ("celeb_glow", "composition"): {"smile": (0,), "blond": (0,), "age": (0,)},
}
COUNTS = {  # (held-out kinds, composition): train, test
    "dsprites": ((240_000, 497_280), (192_312, 544_968)),
    "shapes3d": ((147_456, 332_544), (153_408, 326_592)),
    "mpi3d": ((311_040, 725_760), (287_712, 749_088)),
    "celeb_glow": ((64_000, 152_000), (91_000, 125_000)),
}
ONE_OOD = {
    "dsprites": {"scale": 120_000, "orientation": 60_000, "x": 67_200, "y": 67_200},
    "shapes3d": {
        "floor_hue": 36_864,
        "wall_hue": 36_864,
        "object_hue": 36_864,
        "size": 49_152,
        "azimuth": 36_864,
    },
    "mpi3d": {
        "color": 62_208,
        "height": 155_520,
        "background": 155_520,
        "horizontal": 34_560,
        "vertical": 34_560,
    },
    "celeb_glow": {"smile": 32_000, "blond": 32_000, "age": 32_000},
}
ONE_OOD_TOTALS = {"dsprites": 314_400, "shapes3d": 196_608, "mpi3d": 442_368, "celeb_glow": 96_000}
SMALL = space({"shape": 3, "x": 5, "y": 7, "angle": 4}, categorical=["shape"], circular=["angle"])


def slow_train(parts: Split) -> np.ndarray:
    """Membership of every point, decided one point at a time from the words of the definition."""
    result = []
    for point in product(*map(range, parts.space.shape)):
        classes = dict(zip(parts.space.names, point, strict=True))
        hits = [classes[name] in chosen for name, chosen in parts.exclusive.items()]
        if parts.kind == "composition":
            result.append(any(hits))
        elif parts.kind == "combination":
            result.append(not all(hits))
        else:
            result.append(not any(hits))
    return np.array(result)


@pytest.mark.parametrize(("name", "kind"), TABLES)
def test_published_exclusive_classes_follow_from_the_rule(name, kind):
    assert split(PUBLISHED[name], kind, rule=name).exclusive == TABLES[name, kind]


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
def test_published_counts_come_out_closed_form_and_from_the_mask(name, kind):
    parts = split(PUBLISHED[name], kind, rule=name)
    expected = COUNTS[name][kind == "composition"]
    assert (parts.n_train, parts.n_test) == expected
    assert (np.count_nonzero(parts.train), np.count_nonzero(parts.test)) == expected
    assert parts.train.nbytes == parts.space.size
    assert len(parts.train_indices()) + len(parts.test_indices()) == parts.space.size


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("kind", ["interpolation", "extrapolation"])
def test_published_one_ood_counts_come_out_closed_form_and_from_the_points(name, kind):
    parts = split(PUBLISHED[name], kind, rule=name)
    one_ood = parts.one_ood_factor(parts.space.classes(np.arange(parts.space.size))) >= 0
    assert parts.one_ood_counts == ONE_OOD[name]
    assert sum(parts.one_ood_counts.values()) == np.count_nonzero(one_ood) == ONE_OOD_TOTALS[name]
    assert not (one_ood & parts.train).any()


@pytest.mark.parametrize("kind", ["random", "composition"])
def test_splits_whose_classes_are_all_seen_have_no_one_ood_points(kind):
    parts = split(DSPRITES, kind, rule="dsprites")
    assert parts.one_ood_counts == {}
    assert (parts.one_ood_factor([[0, 5, 39, 31, 31]]) == -1).all()
    assert not parts.ood([[0, 5, 39, 31, 31]]).any()


def test_dsprites_within_a_quarter_turn_keeps_its_fractions():
    quarter = DSPRITES.first("orientation", 10)
    assert quarter.size == 184_320
    parts = {
        k: split(quarter, k, rule="dsprites_quarter") for k in ("interpolation", "extrapolation", "composition")
    }
    assert [m.exclusive["orientation"] for m in parts.values()] == [(2, 7), (8, 9), (0,)]
    assert [m.exclusive["x"] for m in parts.values()] == [
        (2, 7, 11, 15, 20, 24, 29),
        between(25, 31),
        between(0, 2),
    ]
    assert [m.n_train for m in parts.values()] == [60_000, 60_000, 48_078]
    assert not any("orientation" in note for note in parts["extrapolation"].notes)


def test_mpi3d_real_complex_trains_on_27_percent():
    parts = split(COMPLEX_SPACE, "interpolation", rule="mpi3d")
    assert parts.exclusive["color"] == (1,)
    assert parts.exclusive["horizontal"] == (5, 15, 24, 34)
    assert parts.n_train / parts.space.size == pytest.approx(0.27)


@pytest.mark.parametrize("name", PUBLISHED)
def test_composition_shows_every_class_in_training(name):
    parts = split(PUBLISHED[name], "composition", rule=name)
    seen = parts.space.classes(parts.train_indices())
    for column, size in enumerate(parts.space.shape):
        assert len(np.unique(seen[:, column])) == size


@pytest.mark.parametrize(
    "parts",
    [
        Split("extrapolation", SMALL, {"x": (3, 4), "y": (6,)}),
        Split("interpolation", SMALL, {"x": (2,), "angle": (1, 2)}),
        Split("composition", SMALL, {"x": (0,), "y": (0, 1), "angle": (0,)}),
        Split("combination", SMALL, {"shape": (1,), "x": (0, 4)}),
    ],
    ids=lambda parts: parts.kind,
)
def test_masks_predicate_counts_and_samples_agree_with_the_definition(parts):
    expected = slow_train(parts)
    points = parts.space.classes(np.arange(parts.space.size))
    np.testing.assert_array_equal(parts.train, expected)
    np.testing.assert_array_equal(parts.test, ~expected)
    np.testing.assert_array_equal(parts.contains(points), expected)
    np.testing.assert_array_equal(parts.rows(points), expected)
    assert (parts.n_train, parts.n_test) == (expected.sum(), (~expected).sum())
    for part, inside in (("train", expected), ("test", ~expected)):
        drawn = parts.space.indices(parts.sample(20_000, np.random.default_rng(1), part=part))
        counts = np.bincount(drawn, minlength=parts.space.size)
        assert not counts[~inside].any()
        # Chi-square of uniformity: mean = degrees of freedom, standard deviation sqrt(2 df); six of them.
        mean = 20_000 / inside.sum()
        chi2 = ((counts[inside] - mean) ** 2 / mean).sum()
        df = inside.sum() - 1
        assert abs(chi2 - df) < 6 * np.sqrt(2 * df)


def test_ood_flags_by_hand():
    parts = Split("extrapolation", space({"x": 3, "y": 3}), {"x": (2,), "y": (2,)})
    np.testing.assert_array_equal(parts.ood([[0, 0], [2, 1], [1, 2], [2, 2]]).sum(axis=1), [0, 1, 1, 2])
    np.testing.assert_array_equal(parts.one_ood_factor([[0, 0], [2, 1], [1, 2], [2, 2]]), [-1, 0, 1, -1])
    odd = parts.one_ood_factor(parts.space.classes(np.arange(9)))
    np.testing.assert_array_equal(odd.reshape(3, 3), [[-1, -1, 1], [-1, -1, 1], [0, 0, -1]])
    assert parts.one_ood_counts == {"x": 2, "y": 2}


def test_random_split_is_decided_by_its_seed_and_uniform():
    one, same, other = (split(SMALL, "random", rule=Rule(0.3), rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.train, same.train)
    assert (one.train != other.train).any()
    extrapolation = split(SMALL, "extrapolation", rule=Rule(0.3, circular="allow"))
    assert one.n_train == extrapolation.n_train == np.count_nonzero(one.train)
    hits = sum(split(SMALL, "random", rule=Rule(0.3), rng=seed).train.astype(int) for seed in range(300))
    share = one.n_train / SMALL.size
    assert np.abs(hits / 300 - share).max() < 6 * np.sqrt(share * (1 - share) / 300)


def test_random_split_from_a_generator_can_be_written_down():
    parts = split(SMALL, "random", rule=Rule(0.3), rng=np.random.default_rng(5))
    again = Split.from_json(json.loads(json.dumps(parts.as_json())))
    assert again == parts
    np.testing.assert_array_equal(again.train, parts.train)


@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_definition_survives_json_and_pickle(name, kind):
    parts = split(PUBLISHED[name], kind, rule=name)
    again = Split.from_json(json.loads(json.dumps(parts.as_json())))
    assert again == parts
    assert again.notes == parts.notes
    assert hash(again) == hash(parts)
    assert pickle.loads(pickle.dumps(parts)) == parts


def test_counts_predicate_and_samples_need_no_mask_of_a_huge_grid():
    huge = space({name: 1000 for name in "abcdef"})
    parts = split(huge, "extrapolation", rule=Rule(0.1))
    assert parts.n_train == 900**6
    assert sum(parts.one_ood_counts.values()) == 6 * 100 * 900**5
    assert parts.contains([[899] * 6, [900, 0, 0, 0, 0, 0]]).tolist() == [True, False]
    assert parts.sample(50, np.random.default_rng(0)).max() < 900
    assert (parts.sample(50, np.random.default_rng(0), part="test") >= 900).any(axis=1).all()
    with pytest.raises(UnknotError, match=r"would take .* GB; ask for single points"):
        _ = parts.train
    with pytest.raises(UnknotError, match="GB"):
        split(huge, "random", rule=Rule(0.1))


def test_masks_are_read_only_because_they_are_shared():
    parts = split(SMALL, "random", rule=Rule(0.3))
    with pytest.raises(ValueError, match="read-only"):
        parts.train[0] = True


def test_incomplete_worlds_are_split_by_their_rows():
    parts = Split("extrapolation", space({"x": 4, "y": 4}), {"x": (3,)})
    assert parts.rows([[0, 0], [3, 3], [1, 2]]).tolist() == [True, False, True]
    with pytest.raises(UnknotError, match="none of the 1 rows is in the test part"):
        parts.rows([[0, 0]])
    with pytest.raises(UnknotError, match="none of the 1 rows is in the training part"):
        parts.rows([[3, 0]])


def test_user_spaces_keep_categorical_two_valued_and_constant_factors():
    mine = space({"one": 1, "two": 2, "kind": 5, "x": 10}, categorical=["kind"])
    assert exclusive_classes(mine, "extrapolation", Rule(0.2)) == {"x": (8, 9)}
    assert exclusive_classes(mine, "extrapolation", Rule(0.2, keep=["x"])) == {"two": (1,), "kind": (4,)}
    parts = split(mine, "extrapolation", rule=Rule(0.2, keep=()))
    assert any("kind: categorical" in note for note in parts.notes)


def test_ratio_is_not_pushed_up_by_rounding():
    assert 100 * 0.07 > 7  # as floats
    assert exclusive_classes(space({"x": 100}), "extrapolation", Rule(0.07)) == {"x": between(93, 99)}


def test_extrapolation_of_circular_factors_is_refused_unless_asked_for():
    ring = space({"angle": 10, "x": 10}, circular=["angle"])
    with pytest.raises(UnknotError, match=r"circular factor\(s\) angle: beyond"):
        split(ring, "extrapolation", rule=Rule(0.2))
    assert split(ring, "extrapolation", rule=Rule(0.2, keep=["angle"])).exclusive == {"x": (8, 9)}
    allowed = split(ring, "extrapolation", rule=Rule(0.2, circular="allow"))
    assert any("angle: circular" in note for note in allowed.notes)
    assert split(ring, "interpolation", rule=Rule(0.2)).exclusive["angle"] == (2, 7)
    assert any("orientation: circular" in n for n in split(DSPRITES, "extrapolation", rule="dsprites").notes)


def test_notes_say_what_readers_of_the_paper_must_know():
    assert any("swapped heads" in note for note in split(MPI3D, "random", rule="mpi3d").notes)
    assert any("42 %" in note for note in split(CELEB_GLOW, "composition", rule="celeb_glow").notes)
    assert not any("42 %" in note for note in split(CELEB_GLOW, "interpolation", rule="celeb_glow").notes)
    assert any("class 39" in note for note in split(DSPRITES, "extrapolation", rule="dsprites").notes)
    by_hand = split(space({"x": 9}), "extrapolation", exclusive={"x": [4]})
    assert by_hand.notes == ("x: some held-out classes lie between the training classes.",)


def test_only_published_random_splits_say_that_their_draw_is_ours():
    assert any("points drawn are ours" in n for n in split(MPI3D, "random", rule="mpi3d").notes)
    assert not any("points drawn are ours" in n for n in split(MPI3D, "composition", rule="mpi3d").notes)
    assert split(SMALL, "random", rule=Rule(0.3)).notes == ()


def test_exclusive_classes_by_hand_are_sorted_and_in_storage_order():
    parts = split(SMALL, "interpolation", exclusive={"y": [3, 1, 3], "x": np.array([2]), "shape": []})
    assert list(parts.exclusive.items()) == [("x", (2,)), ("y", (1, 3))]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split(SMALL, "extrapolate", rule=Rule(0.2)), "unknown kind of split 'extrapolate'; did you mean"),
        (lambda: split(SMALL, "random", rule="dsprite"), "unknown published split rule 'dsprite'; did you mean"),
        (lambda: split(SMALL, "random"), "got neither"),
        (lambda: split(SMALL, "random", rule=Rule(0.2), exclusive={}), "got both"),
        (lambda: split(SMALL, "combination", rule=Rule(0.2)), "combination_split"),
        (lambda: Rule(0.0), "ratio is 0.0"),
        (lambda: Rule(1.0), "ratio is 1.0"),
        (lambda: Rule(float("nan")), "ratio is nan"),
        (lambda: Rule(0.2, composition_quota=2), "composition_quota is 2"),
        (lambda: Rule(0.2, circular="maybe"), "unknown treatment of circular factors"),
        (lambda: Rule(0.2, keep="shape"), "give a list of factor names"),
        (lambda: split(SMALL, "random", rule=Rule(0.2, keep=["z"])), "unknown factor 'z'"),
        (lambda: split(SMALL, "random", rule=Rule(0.2, keep=SMALL.names)), "no factor of .* is left to split"),
        (lambda: split(space({"x": 2}), "random", rule=Rule(0.2)), "two-valued ones are kept"),
        (lambda: split(space({"x": 3}), "extrapolation", rule=Rule(0.9)), "holds back all 3 classes of 'x'"),
        (lambda: split(space({"x": 3}), "interpolation", rule=Rule(0.5)), "needs both end classes of 'x'"),
        (lambda: split(space({"x": 3, "y": 3}), "composition", rule=Rule(0.3)), "raise the rule's ratio"),
        (lambda: Split("composition", SMALL, {"x": (0,)}), "composition needs two factors"),
        (lambda: Split("combination", SMALL, {"x": (0,), "shape": (0, 1, 2)}), "combination needs two factors"),
        (lambda: Split("extrapolation", SMALL, {}), "no exclusive class leaves training or test empty"),
        (lambda: Split("extrapolation", SMALL, {"shape": (0, 1, 2)}), "training would be empty"),
        (lambda: Split("composition", SMALL, {"shape": (0, 1, 2)}), "test would be empty"),
        (lambda: Split("extrapolation", SMALL, {"x": (5,)}), "'x' has no class 5; its classes are 0..4"),
        (lambda: Split("extrapolation", SMALL, {"z": (5,)}), "unknown factor 'z'"),
        (lambda: Split("extrapolation", space({"x": 5, "one": 1}), {"one": (0,)}), "'one' has one class only"),
        (lambda: Split("extrapolation", SMALL, {"x": (3.5,)}), "expected whole numbers"),
        (
            lambda: split(SMALL, "extrapolation", exclusive={"x": "last"}),
            "expected names, each with a whole number",
        ),
        (lambda: split(SMALL, "extrapolation", exclusive={"x": range(5)}), "training would be empty"),
        (lambda: split(SMALL, "random", exclusive={"x": [4]}), "a random split has no exclusive classes"),
        (lambda: Split("random", SMALL), "needs a train_size between 1 and 419"),
        (lambda: Split("random", SMALL, train_size=420), "needs a train_size"),
        (lambda: Split("random", SMALL, {"x": (0,)}, train_size=4), "has no exclusive classes"),
        (lambda: Split("random", SMALL, train_size=4, seed=-1), "the seed is -1"),
        (lambda: Split("extrapolation", SMALL, {"x": (4,)}, train_size=4), "train_size belongs to random"),
        (lambda: Split.from_json({"kind": "random"}), "could not read it"),
        (
            lambda: Split("extrapolation", SMALL, {"x": (4,)}).sample(3, np.random.default_rng(0), part="all"),
            "unknown part of a split 'all'",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(UnknotError, match=message):
        call()


@st.composite
def spaces(draw) -> FactorSpace:
    sizes = draw(st.lists(st.integers(3, 7), min_size=2, max_size=4))
    return space({f"f{i}": n for i, n in enumerate(sizes)})


@settings(deadline=None, max_examples=60)
@given(spaces(), st.floats(0.05, 0.6), st.sampled_from(["composition", "interpolation", "extrapolation"]))
def test_any_rule_gives_a_split_that_means_its_name_or_an_error(grid, ratio, kind):
    try:
        parts = split(grid, kind, rule=Rule(ratio))
    except UnknotError:
        return
    np.testing.assert_array_equal(parts.train, slow_train(parts))
    assert 0 < parts.n_train < grid.size
    train = grid.classes(parts.train_indices())
    for column, factor in enumerate(grid):
        seen = np.unique(train[:, column])
        if kind == "composition":
            assert len(seen) == factor.size
        elif kind == "extrapolation":
            np.testing.assert_array_equal(seen, np.arange(len(seen)))
        else:
            assert seen[0] == 0
            assert seen[-1] == factor.size - 1
