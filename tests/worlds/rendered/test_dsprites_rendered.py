"""The renderer against published facts of dSprites and against the geometry written out slowly."""

from hashlib import blake2b

import numpy as np
import pytest
from matplotlib.path import Path as Outline

from unknot.errors import UnknotError
from unknot.worlds.published.dsprites import QUARTER_SPACE, SPACE
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered, render_sprites
from unknot.worlds.world import World, sample

WORLD = DSpritesRendered()
TRUE_WHITE_PIXELS = 128_328_862  # of the published file, from its published mean pixel 0.042494423521889584


def heart_outline(n: int) -> np.ndarray:
    t = np.arange(n) * 2 * np.pi / n
    k = 19.2 / 29
    u = 0.5997 * 16 * np.sin(t) ** 3
    v = -(k * (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) + 1.435)
    return np.stack([u, v], axis=1)


HEART = Outline(heart_outline(20_001), closed=False)


def slow_sprite(shape: int, scale: float, theta: float, x: float, y: float) -> np.ndarray:
    """One image from the formulas, every pixel tested; the heart as a polygon of very many corners."""
    row, col = np.mgrid[:64, :64]
    dx, dy = col + 0.5 - (16 + 32 * x), row + 0.5 - (16 + 32 * y)
    u = (dx * np.cos(theta) - dy * np.sin(theta)) / scale
    v = (dx * np.sin(theta) + dy * np.cos(theta)) / scale
    if shape == 0:
        return (np.abs(u) < 9.6) & (np.abs(v) < 9.6)
    if shape == 1:
        return (u / 12.76) ** 2 + (v / 7.215) ** 2 < 1
    near = np.hypot(u, v) < 12  # only to save time; the farthest point of the heart is at 11.25
    inside = np.zeros((64, 64), dtype=bool)
    inside[near] = HEART.contains_points(np.stack([u[near], v[near]], axis=1))
    return inside


def white(classes: list[int]) -> np.ndarray:
    return WORLD.images([classes])[0, :, :, 0] == 255


def test_it_is_a_world_with_the_published_grid():
    assert isinstance(WORLD, World)
    assert WORLD.factors == SPACE
    assert WORLD.factors.size == 737_280
    assert WORLD.factors.indices([[2, 5, 39, 31, 31], [0, 0, 0, 1, 0]]).tolist() == [737_279, 32]
    assert WORLD.rows is None and not WORLD.stochastic
    images = WORLD.images(sample(WORLD, 7, np.random.default_rng(0)))
    assert images.shape == (7, 64, 64, 1) and images.dtype == np.uint8
    assert set(np.unique(images)) == {0, 255}


def test_it_never_calls_itself_the_published_file():
    assert WORLD.name == "dSprites (rendered)"
    assert DSpritesRendered(quarter=True).name == "dSprites [0,90) (rendered)"


def test_every_image_of_the_grid_together_has_the_published_number_of_white_pixels():
    total, buffer = 0, np.empty((8192, 64, 64, 1), dtype=np.uint8)
    border = np.zeros(buffer.shape[1:], dtype=np.uint8)
    by_shape = []
    for shape in range(3):
        before = total
        for start in range(shape * 245_760, (shape + 1) * 245_760, len(buffer)):
            numbers = SPACE.numbers(SPACE.classes(np.arange(start, start + len(buffer))))
            total += int(np.count_nonzero(render_sprites(*numbers.T, out=buffer)))
            border |= np.bitwise_or.reduce(buffer, axis=0)
        by_shape.append(total - before)
    assert total == pytest.approx(TRUE_WHITE_PIXELS, rel=2e-4)
    assert total == TRUE_WHITE_PIXELS - 10_540  # what the exact curves give; moves only if the geometry does
    rows, cols = np.nonzero(border[:, :, 0])
    assert min(rows.min(), cols.min()) == 2 and max(rows.max(), cols.max()) == 61  # never clipped
    # Mean areas at scale 1 were published as 368.7, 289.2, 224.5; over the six scales s^2 has mean 0.5917.
    areas = np.array(by_shape) / 245_760
    assert areas == pytest.approx(np.array([368.7, 289.2, 224.5]) * 3.55 / 6, rel=2e-3)


@pytest.mark.parametrize(
    ("shape", "counts"),
    [
        (0, [100, 144, 196, 256, 324, 400]),
        (1, [76, 104, 144, 184, 228, 288]),
        (2, [58, 84, 108, 140, 180, 222]),  # the file has 182 at scale 0.9: two pixels fall 0.008 px outside ours
    ],
)
def test_white_pixels_at_each_scale_are_those_of_the_published_images_but_for_one_heart(shape, counts):
    assert [int(white([shape, scale, 0, 0, 0]).sum()) for scale in range(6)] == counts


@pytest.mark.parametrize(
    ("shape", "rows", "cols"), [(0, (6, 25), (6, 25)), (1, (9, 22), (3, 28)), (2, (7, 23), (6, 25))]
)
def test_bounding_boxes_at_full_scale_are_those_of_the_published_images(shape, rows, cols):
    r, c = np.nonzero(white([shape, 5, 0, 0, 0]))
    assert ((r.min(), r.max()), (c.min(), c.max())) == (rows, cols)


def test_images_equal_a_slow_renderer_that_tests_every_pixel():
    classes = SPACE.sample(400, np.random.default_rng(1))
    images = WORLD.images(classes)[..., 0] == 255
    for image, numbers in zip(images, SPACE.numbers(classes), strict=True):
        np.testing.assert_array_equal(image, slow_sprite(int(numbers[0]), *numbers[1:]))


def test_poses_between_and_beyond_the_grid_equal_the_slow_renderer():
    rng = np.random.default_rng(2)
    n = 300
    shape = rng.integers(0, 3, n)
    # Some sprites are cut by the border, some are wholly outside, some are larger than dSprites has them.
    pose = rng.uniform([0.1, -9, -1.2, -1.2], [2.5, 9, 2.2, 2.2], size=(n, 4))
    images = render_sprites(shape, *pose.T)[..., 0] == 255
    assert not images.any(axis=(1, 2)).all()
    for i in range(n):
        np.testing.assert_array_equal(images[i], slow_sprite(shape[i], *pose[i]))


def test_hearts_agree_with_the_slow_renderer_close_to_the_notch_and_the_tip():
    # The heart's outline has cusps on its axis; place pixel centres very near it.
    offsets = np.concatenate([[0.0], np.logspace(-7, -1, 25)])
    for offset in offsets:
        image = render_sprites(2, 1.0, 0.0, (0.5 + offset) / 32, 0.37)[0, :, :, 0] == 255
        np.testing.assert_array_equal(image, slow_sprite(2, 1.0, 0.0, (0.5 + offset) / 32, 0.37))


def test_x_grows_to_the_right_and_y_grows_downward():
    def centre(x: int, y: int) -> tuple[float, float]:
        rows, cols = np.nonzero(white([0, 5, 0, x, y]))
        return rows.mean() + 0.5, cols.mean() + 0.5

    assert centre(0, 0) == (16, 16)
    assert centre(31, 0) == (16, 48)
    assert centre(0, 31) == (48, 16)


def test_orientation_turns_counter_clockwise_on_the_screen():
    # An ellipse lies flat at 0; a little later its right half is higher (smaller rows) than its left half.
    rows, cols = np.nonzero(white([1, 5, 3, 15, 15]))
    assert rows[cols > cols.mean()].mean() < rows[cols < cols.mean()].mean() - 3


def test_hearts_stand_with_lobes_up_and_turn_about_a_point_below_their_centroid():
    heart = white([2, 5, 0, 0, 0])
    rows, _ = np.nonzero(heart)
    assert rows.mean() + 0.5 == pytest.approx(16 - 1.93, abs=0.1)
    first, last = heart[rows.min()], heart[rows.max()]
    assert first.sum() > last.sum()
    assert not first[15:17].any()  # the notch


def test_orientation_39_is_orientation_0():
    classes = SPACE.sample(5000, np.random.default_rng(3))
    first, last = classes.copy(), classes.copy()
    first[:, 2], last[:, 2] = 0, 39
    np.testing.assert_array_equal(WORLD.images(first), WORLD.images(last))


def distinct(space, n_chunk: int = 8192) -> int:
    """How many different images a grid has, by fingerprints of the packed pixels."""
    buffer = np.empty((n_chunk, 64, 64, 1), dtype=np.uint8)
    seen = set()
    for classes in space.chunks(n_chunk):
        images = render_sprites(*space.numbers(classes).T, out=buffer[: len(classes)])
        packed = np.packbits(images.reshape(len(images), -1), axis=1)
        seen.update(blake2b(row, digest_size=16).digest() for row in packed)
    return len(seen)


def test_the_grid_has_fewer_different_images_than_points():
    # 18,432 repeats because orientation 39 is orientation 0, and 3,116 almost symmetric squares and ellipses.
    assert distinct(SPACE) == 737_280 - 18_432 - 3_116


def test_the_quarter_turn_has_ten_orientations_and_no_two_equal_images():
    assert QUARTER_SPACE.shape == (3, 6, 10, 32, 32)
    assert QUARTER_SPACE["orientation"].kind == "ordinal"
    assert np.degrees(QUARTER_SPACE["orientation"].numbers[-1]) == pytest.approx(83.08, abs=0.01)
    assert distinct(QUARTER_SPACE) == 184_320


def test_the_quarter_turn_shows_the_same_images_as_the_whole():
    classes = QUARTER_SPACE.sample(100, np.random.default_rng(4))
    np.testing.assert_array_equal(DSpritesRendered(quarter=True).images(classes), WORLD.images(classes))
    with pytest.raises(UnknotError, match=r"class 10 for factor 'orientation'; it has classes 0\.\.9"):
        DSpritesRendered(quarter=True).images([[0, 0, 10, 0, 0]])


def test_a_class_out_of_range_is_named():
    with pytest.raises(UnknotError, match=r"dSprites \(rendered\): row 1 has class 6 for factor 'scale'"):
        WORLD.images([[0, 0, 0, 0, 0], [0, 6, 0, 0, 0]])
    with pytest.raises(UnknotError, match="shape, scale, orientation, x, y"):
        WORLD.images([[0, 0, 0]])


def test_no_classes_give_no_images():
    assert WORLD.images(np.empty((0, 5), dtype=int)).shape == (0, 64, 64, 1)


def test_drawing_into_an_array_erases_what_was_there():
    out = np.full((2, 64, 64, 1), 7, dtype=np.uint8)
    assert render_sprites([0, 1], 0.5, 0.0, 0.0, 1.0, out=out) is out
    np.testing.assert_array_equal(out, render_sprites([0, 1], 0.5, 0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 1.0, 0.0, 0.5, 0.5), "shape 3 does not exist"),
        ((0, 0.0, 0.0, 0.5, 0.5), "scale 0 is too small"),
        ((0, -1.0, 0.0, 0.5, 0.5), "scale -1 is too small"),
        ((0, 1.0, np.nan, 0.5, 0.5), "orientation has a value that is not a number"),
        ((0, 1.0, 0.0, np.inf, 0.5), "x has a value that is not a number"),
        ((0, 1.0, 0.0, np.zeros((2, 2)), 0.5), r"shape \(2, 2\)"),
    ],
)
def test_impossible_poses_are_refused(arguments, message):
    with pytest.raises(UnknotError, match=message):
        render_sprites(*arguments)


def test_an_array_of_the_wrong_form_to_draw_into_is_refused():
    with pytest.raises(UnknotError, match=r"out has shape \(1, 64, 64\)"):
        render_sprites(0, 1.0, 0.0, 0.5, 0.5, out=np.zeros((1, 64, 64), dtype=np.uint8))
