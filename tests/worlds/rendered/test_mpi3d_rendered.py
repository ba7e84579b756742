import math

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.published.mpi3d import SPACE
from unknot.worlds.raytracer.tracer import masks
from unknot.worlds.rendered.mpi3d_rendered import BACKGROUNDS, COLORS, OBJECTS, mpi3d_rendered, scenes
from unknot.worlds.world import World

WORLD = mpi3d_rendered()
UP = 20  # the middle of the horizontal axis: the arm is upright, within two degrees


def mask(*, color=0, shape=5, size=1, height=0, background=0, horizontal=UP, vertical=0):
    row = [[color, shape, size, height, background, horizontal, vertical]]
    return masks(scenes(np.array(row)), 64, 64)[0] == 1


def image(*, color=0, shape=5, size=1, height=0, background=0, horizontal=UP, vertical=0):
    return WORLD.images([[color, shape, size, height, background, horizontal, vertical]])[0].astype(int)


def middle(**factors):
    """Row and column of the object's middle."""
    return np.argwhere(mask(**factors)).mean(axis=0) + 0.5


def test_it_is_a_world_with_the_published_grid():
    assert isinstance(WORLD, World)
    assert (WORLD.name, WORLD.factors, WORLD.image_shape) == ("MPI3D (rendered)", SPACE, (64, 64, 3))
    assert WORLD.factors.shape == (6, 6, 2, 3, 3, 40, 40)
    assert WORLD.rows is None
    assert not WORLD.stochastic
    assert WORLD.images(np.empty((0, 7), dtype=int)).shape == (0, 64, 64, 3)


def test_colours_shapes_and_backgrounds_are_those_of_the_factors():
    assert tuple(COLORS) == SPACE["color"].values
    assert tuple(OBJECTS) == SPACE["shape"].values
    assert tuple(BACKGROUNDS) == SPACE["background"].values


def test_the_floor_is_dark_grey_and_the_ring_has_the_background_colour():
    for background, paint in enumerate(BACKGROUNDS.values()):
        for height in range(3):
            seen = image(height=height, background=background)
            np.testing.assert_allclose(seen[62, 60], (52, 52, 52), atol=1)
            ring = np.abs(seen - 255 * np.array(paint)).max(axis=2) < 3
            assert ring.sum() > 60


def ring_rows(height):
    """Rows of the ring in the middle column (with the arm out of the way) and at the image's edge."""
    seen = image(height=height, background=2, horizontal=0, vertical=39)
    red = (seen[:, :, 0] > 200) & (seen[:, :, 2] < 150)
    return np.flatnonzero(red[:, 20]).mean(), np.flatnonzero(red[:, 0]).mean()


def test_a_lower_camera_sees_the_ring_flatter_and_nearer_to_the_middle():
    rows, edges = zip(*[ring_rows(height) for height in range(3)], strict=True)
    assert rows[0] < 14
    assert rows[0] < rows[1] < rows[2] < 32
    curved = np.subtract(edges, rows)
    assert curved[0] > curved[1] > curved[2] > 0


@pytest.mark.parametrize("shape", range(6))
def test_large_objects_have_about_twice_the_area_of_small_ones(shape):
    poses = [(height, vertical) for height in range(3) for vertical in (0, 13, 26, 39)]
    area = [
        np.mean([mask(shape=shape, size=size, height=h, vertical=v).sum() for h, v in poses]) for size in (0, 1)
    ]
    assert area[1] / area[0] == pytest.approx(2, abs=0.15)


def test_the_cone_is_as_large_as_in_the_toy_images():
    poses = [(height, vertical) for height in range(3) for vertical in (0, 13, 26, 39)]
    area = [np.mean([mask(shape=0, size=size, height=h, vertical=v).sum() for h, v in poses]) for size in (0, 1)]
    np.testing.assert_allclose(area, (46, 93), rtol=0.1)


def test_with_the_arm_up_the_second_joint_traces_a_small_half_ellipse():
    points = np.array([middle(size=0, vertical=v) for v in range(40)])
    high, wide = np.ptp(points, axis=0)
    assert wide == pytest.approx(11, abs=1)
    assert high == pytest.approx(4, abs=1)


def test_the_first_joint_swings_the_tip_over_the_top():
    points = np.array([middle(size=0, height=2, horizontal=h, vertical=20) for h in range(40)])
    assert np.all(np.diff(points[:, 1]) > -0.3)  # from left to right, up to the grain of the mask
    assert points[-1, 1] - points[0, 1] > 25
    assert 17 <= points[:, 0].argmin() <= 22  # highest half way
    np.testing.assert_allclose(points[:, 0], points[::-1, 0], atol=1)


def test_the_object_tilts_with_the_arm():
    upright, lying = mask(shape=2, height=2, vertical=20), mask(shape=2, height=2, horizontal=0, vertical=20)

    def taller_than_wide(m):
        rows, columns = np.argwhere(m).T
        return np.ptp(rows) - np.ptp(columns)

    assert taller_than_wide(upright) > 0 > taller_than_wide(lying)


def test_objects_have_their_colour():
    for color, paint in enumerate(COLORS.values()):
        inner = image(color=color)[mask(color=color)]
        share = inner.sum(axis=0) / inner.sum()
        np.testing.assert_allclose(share, np.array(paint) / sum(paint), atol=0.04)


def test_the_object_is_always_in_the_picture_and_never_cut():
    objects = masks(scenes(SPACE.sample(1500, np.random.default_rng(0))), 64, 64) == 1
    assert objects.sum(axis=(1, 2)).min() >= 15
    assert not objects[:, [0, -1]].any()
    assert not objects[:, :, [0, -1]].any()


def test_all_poses_of_a_small_sphere_differ():
    poses = np.stack(np.meshgrid(range(40), range(40), indexing="ij"), axis=-1).reshape(-1, 2)
    images = WORLD.images(np.hstack([np.tile([0, 5, 0, 1, 0], (1600, 1)), poses]))
    assert len({picture.tobytes() for picture in images}) == 1600


def test_every_factor_changes_the_image():
    rng = np.random.default_rng(2)
    for column, factor in enumerate(SPACE):
        before = SPACE.sample(60, rng)
        after = before.copy()
        after[:, column] = (after[:, column] + rng.integers(1, factor.size, 60)) % factor.size
        changed = (WORLD.images(before) != WORLD.images(after)).any(axis=(1, 2, 3))
        assert changed.all(), factor.name


def test_the_objects_colour_touches_only_the_object():
    rng = np.random.default_rng(3)
    before = SPACE.sample(30, rng)
    after = before.copy()
    after[:, 0] = (after[:, 0] + 1) % 6
    changed = (WORLD.images(before) != WORLD.images(after)).any(axis=3)
    own = masks(scenes(before), 64, 64) == 1
    assert changed[own].mean() > 0.9
    assert changed[~own].mean() < 0.02


def test_the_background_touches_neither_floor_nor_object():
    before = SPACE.sample(30, np.random.default_rng(4))
    after = before.copy()
    after[:, 4] = (after[:, 4] + 1) % 3
    changed = (WORLD.images(before) != WORLD.images(after)).any(axis=3)
    assert not changed[:, 40:].any()
    assert 0.02 < changed.mean() < 0.15


def test_images_are_the_same_alone_and_in_a_batch():
    classes = SPACE.sample(300, np.random.default_rng(1))  # more than are packed at a time
    together = WORLD.images(classes)
    np.testing.assert_array_equal(together, WORLD.images(classes))
    for k in (0, 7, 255, 256, 299):
        np.testing.assert_array_equal(together[k], WORLD.images(classes[k])[0])


@pytest.mark.parametrize("wrong", [[6, 0, 0, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 40]])
def test_classes_out_of_range_are_named(wrong):
    with pytest.raises(UnknotError, match=r"MPI3D \(rendered\): row 0 has class"):
        WORLD.images([wrong])


def test_halves_of_a_turn_are_told_apart_by_the_bracket():
    left, right = middle(size=0, horizontal=3, vertical=0), middle(size=0, horizontal=36, vertical=39)
    assert math.dist(left, right) > 8
