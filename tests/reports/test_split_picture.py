import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.reports.split_picture import (
    BOTH_UNSEEN,
    COLORS,
    MOST_FACTORS,
    TEST,
    TRAIN,
    pair_map,
    shown_factors,
    split_picture,
)
from unknot.worlds.published.dsprites import SPACE as DSPRITES
from unknot.worlds.splits.combinations import combination_split
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import Split, split

SMALL = space({"shape": 3, "x": 4, "y": 3}, categorical=["shape"])


def test_extrapolation_map_by_hand():
    made = Split("extrapolation", SMALL, {"x": (3,), "y": (2,)})
    assert shown_factors(made) == [1, 2]
    np.testing.assert_array_equal(
        pair_map(made, 1, 2),
        [[TRAIN, TRAIN, TEST], [TRAIN, TRAIN, TEST], [TRAIN, TRAIN, TEST], [TEST, TEST, BOTH_UNSEEN]],
    )


def test_others_are_held_where_the_pair_decides():
    # Class 0 of y is held out, so the map of x must hold y at another class.
    made = Split("interpolation", SMALL, {"x": (1,), "y": (0,)})
    np.testing.assert_array_equal(pair_map(made, 0, 1), [[TRAIN, TEST, TRAIN, TRAIN]] * 3)


def test_composition_trains_on_the_reserved_rows_and_columns():
    made = Split("composition", SMALL, {"x": (0,), "y": (0,)})
    np.testing.assert_array_equal(pair_map(made, 1, 2), [[TRAIN] * 3] + [[TRAIN, TEST, TEST]] * 3)


def test_combination_is_one_cell():
    codes = pair_map(combination_split(DSPRITES, {"scale": 5, "shape": 2}), 0, 1)
    assert codes.shape == (3, 6)
    assert (codes == TEST).sum() == 1
    assert codes[2, 5] == TEST


def test_random_map_is_a_slice_of_the_mask():
    made = split(SMALL, "random", rule=Rule(0.3))
    np.testing.assert_array_equal(pair_map(made, 1, 2) == TRAIN, made.train.reshape(SMALL.shape)[0])


def test_shown_factors_are_the_split_ones_and_enough_for_a_panel():
    assert shown_factors(Split("extrapolation", SMALL, {"y": (2,)})) == [0, 2]
    assert shown_factors(split(DSPRITES, "interpolation", rule="dsprites")) == [1, 2, 3, 4]
    assert len(shown_factors(split(DSPRITES, "random", rule="dsprites"))) == 4
    many = split(space({f"f{i}": 4 for i in range(12)}), "extrapolation", rule=Rule(0.2))
    assert len(shown_factors(many)) == MOST_FACTORS


def rgb(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


@pytest.mark.parametrize(
    ("made", "colors"),
    [
        (split(DSPRITES, "extrapolation", rule="dsprites"), COLORS),
        (split(DSPRITES, "composition", rule="dsprites"), COLORS[:2]),
        (split(DSPRITES, "random", rule="dsprites"), COLORS[:2]),
        (combination_split(DSPRITES, {"scale": 0, "shape": 0}), COLORS[:2]),
        (split(space({"x": 10}), "interpolation", rule=Rule(0.3)), COLORS[:2]),
        (Split("extrapolation", space({"one": 1, "x": 4, "other": 1}), {"x": (3,)}), COLORS[:2]),
    ],
    ids=["extrapolation", "composition", "random", "combination", "one-factor", "beside-constants"],
)
def test_pictures_show_training_and_test_in_their_colours(made, colors, tmp_path):
    path = split_picture(made, tmp_path / "deep" / "split.png", title="dSprites")
    picture = np.asarray(Image.open(path).convert("RGB"))
    assert min(picture.shape[:2]) > 400
    share = {c: (picture == rgb(c)).all(axis=2).mean() for c in COLORS}
    assert all((share[c] > 0.005) == (c in colors) for c in COLORS)


def test_vector_pictures_are_the_same_every_time(tmp_path):
    made = split(DSPRITES, "interpolation", rule="dsprites")
    one = split_picture(made, tmp_path / "one.svg").read_text()
    two = split_picture(made, tmp_path / "two.svg").read_text()
    strip = [line for line in one.splitlines() if "dc:date" not in line]
    assert strip == [line for line in two.splitlines() if "dc:date" not in line]


def test_unknown_picture_formats_are_named(tmp_path):
    made = Split("extrapolation", SMALL, {"y": (2,)})
    with pytest.raises(UnknotError, match=r"cannot write 'split.bmp2'; end its name in .png, .svg, .pdf"):
        split_picture(made, tmp_path / "split.bmp2")
