import math

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.published.shapes3d import SPACE
from unknot.worlds.raytracer.tracer import masks
from unknot.worlds.rendered.shapes3d_rendered import scenes, shapes3d_rendered
from unknot.worlds.world import World

WORLD = shapes3d_rendered()
FLOOR, WALL, OBJECT = 1, 2, 3
FOCAL = 32 / math.tan(math.radians(22.5))
HUES = [
    (255, 0, 0), (255, 153, 0), (204, 255, 0), (51, 255, 0), (0, 255, 102),
    (0, 255, 255), (0, 102, 255), (51, 0, 255), (204, 0, 255), (255, 0, 153),
]  # fmt: skip


def image(floor=0, wall=3, thing=6, size=0, shape=2, azimuth=7):
    return WORLD.images([[floor, wall, thing, size, shape, azimuth]])[0].astype(int)


def mask(size=0, shape=2, azimuth=7):
    return masks(scenes(np.array([[0, 0, 0, size, shape, azimuth]])), 64, 64)[0]


def test_it_is_a_world_with_the_published_grid():
    assert isinstance(WORLD, World)
    assert (WORLD.name, WORLD.factors, WORLD.image_shape) == ("Shapes3D (rendered)", SPACE, (64, 64, 3))
    assert WORLD.rows is None
    assert not WORLD.stochastic
    assert WORLD.images(SPACE.sample(3, np.random.default_rng(0))).dtype == np.uint8
    assert WORLD.images(np.empty((0, 6), dtype=int)).shape == (0, 64, 64, 3)


@pytest.mark.parametrize(("azimuth", "column"), [(0, 44), (14, 20)])
def test_corners_of_the_room_are_at_the_published_columns(azimuth, column):
    row = image(azimuth=azimuth)[22, :, 1]  # along the wall, above the smallest object
    step = np.abs(np.diff(row))
    at = int(step.argmax()) + 1
    assert step.max() > 20
    assert abs(at - column) <= 1


@pytest.mark.parametrize("azimuth", [0, 2, 12, 14])
def test_corner_columns_follow_the_pinhole_formula(azimuth):
    angle = math.radians(SPACE["azimuth"].numbers[azimuth])
    s = 1 if azimuth < 7 else -1
    across, ahead = math.cos(angle) + s * math.sin(angle), math.cos(angle) - s * math.sin(angle)
    column = 32 + s * FOCAL * across / (0.936 + ahead)
    row = image(azimuth=azimuth)[20, :, 1]
    assert abs(int(np.abs(np.diff(row)).argmax()) + 1 - column) <= 1


def test_the_frontal_wall_spans_the_published_rows_and_hides_its_corners():
    wall = mask()[:, 2] == WALL
    assert (wall.argmax(), len(wall) - wall[::-1].argmax() - 1) in [(16, 40), (17, 40), (17, 41)]
    assert np.ptp(image()[30, :20, 1]) < 20  # one wall from the middle to the left edge


@pytest.mark.parametrize("shape", range(4))
def test_objects_stand_on_the_floor_and_grow_upwards(shape):
    # A cube's front and the near rim of a cylinder are nearer than the object's middle, so they end lower.
    rows_seen = [np.flatnonzero((mask(size, shape) == OBJECT).any(axis=1)) for size in range(8)]
    bottoms, tops = [rows[-1] for rows in rows_seen], [rows[0] for rows in rows_seen]
    assert all(50 <= bottom <= 55 for bottom in bottoms)
    assert tops == sorted(tops, reverse=True)
    assert len(set(tops)) == 8 if shape == 3 else len(set(tops)) >= 6


def test_the_capsule_rises_from_row_25_to_row_7():
    tops = [int(np.flatnonzero((mask(size, 3) == OBJECT).any(axis=1))[0]) for size in (0, 7)]
    assert abs(tops[0] - 25) <= 1
    assert abs(tops[1] - 7) <= 1


def test_objects_are_centred_and_as_wide_as_measured():
    for shape, wide in ((1, 2 * 0.1325), (2, 2 * 0.1325), (3, 2 * 0.11)):
        columns = np.flatnonzero((mask(7, shape) == OBJECT).any(axis=0))
        assert columns[0] + columns[-1] == pytest.approx(63, abs=1)
        assert len(columns) == pytest.approx(FOCAL * wide * 1.25 / 0.936, abs=1.6)


@pytest.mark.parametrize("hue", range(10))
def test_colours_are_the_pure_hues_times_the_measured_shading(hue):
    floor = image(floor=hue)[61, 5]
    np.testing.assert_allclose(floor, np.minimum(255, 1.3 * np.array(HUES[hue])), atol=3)
    wall = image(wall=hue)[22:36, 3:10].reshape(-1, 3)
    np.testing.assert_allclose(wall.max(axis=0), np.minimum(255, 1.05 * np.array(HUES[hue])), atol=3)
    cube = image(thing=hue, shape=0)[45, 32]
    np.testing.assert_allclose(cube, 0.95 * np.array(HUES[hue]), atol=3)


def test_side_walls_are_darker_than_the_frontal_one():
    left, right = image(azimuth=14)[26, 4, 1], image(azimuth=0)[26, 60, 1]
    assert 0.55 * 255 <= left <= 0.6 * 255
    assert 0.75 * 255 <= right <= 0.82 * 255


def test_the_sky_is_the_published_blue_everywhere():
    for azimuth in (0, 7, 14):
        np.testing.assert_array_equal(image(azimuth=azimuth)[:14], np.tile((153, 226, 249), (14, 64, 1)))


def test_a_soft_shadow_lies_on_the_floor_to_the_lower_right():
    seen, floor = image(size=4), mask(4) == FLOOR
    dark = floor & (seen[:, :, 0] < 250)
    row, column = np.argwhere(dark).mean(axis=0)
    assert column > 34
    assert row > 50
    assert len(np.unique(seen[dark][:, 0])) > 10  # many shades between lit and dark
    assert seen[dark][:, 0].min() < 0.6 * 255
    assert not (seen[floor & ~dark][:, 0] < 250).any()


def test_images_are_the_same_alone_and_in_a_batch():
    classes = SPACE.sample(300, np.random.default_rng(1))  # more than are packed at a time
    together = WORLD.images(classes)
    np.testing.assert_array_equal(together, WORLD.images(classes))
    for k in (0, 7, 255, 256, 299):
        np.testing.assert_array_equal(together[k], WORLD.images(classes[k])[0])


def test_every_factor_changes_the_image():
    rng = np.random.default_rng(2)
    for column, factor in enumerate(SPACE):
        before = SPACE.sample(60, rng)
        after = before.copy()
        after[:, column] = (after[:, column] + rng.integers(1, factor.size, 60)) % factor.size
        changed = (WORLD.images(before) != WORLD.images(after)).any(axis=(1, 2, 3))
        assert changed.all(), factor.name


def test_all_480_views_of_one_colouring_differ():
    grid = np.stack(np.meshgrid(range(8), range(4), range(15), indexing="ij"), axis=-1).reshape(-1, 3)
    images = WORLD.images(np.hstack([np.tile([4, 6, 0], (480, 1)), grid]))
    assert len({picture.tobytes() for picture in images}) == 480


@pytest.mark.parametrize(("column", "label"), [(0, FLOOR), (1, WALL), (2, OBJECT)])
def test_a_hue_touches_only_its_own_surface(column, label):
    rng = np.random.default_rng(3)
    before = SPACE.sample(20, rng)
    after = before.copy()
    after[:, column] = (after[:, column] + 5) % 10
    changed = (WORLD.images(before) != WORLD.images(after)).any(axis=3)
    own = masks(scenes(before), 64, 64) == label
    near = own.copy()  # pixels that an edge runs through belong to both sides
    for axis in (1, 2):
        for step in (-1, 1):
            near |= np.roll(own, step, axis=axis)
    for axis in (1, 2):
        for step in (-1, 1):
            near |= np.roll(near, step, axis=axis)
    assert not (changed & ~near).any()
    assert (changed & own).sum() > 0.95 * own.sum()


@pytest.mark.parametrize("wrong", [[10, 0, 0, 0, 0, 0], [0, 0, 0, 8, 0, 0], [0, 0, 0, 0, 0, -1]])
def test_classes_out_of_range_are_named(wrong):
    with pytest.raises(UnknotError, match=r"Shapes3D \(rendered\): row 0 has class"):
        WORLD.images([wrong])


def test_a_missing_column_is_named():
    with pytest.raises(UnknotError, match=r"expected \(n, 6\)"):
        WORLD.images([[0, 0, 0]])
