"""Colour, noise and painting: what is random, what is not, and that only the generator decides."""

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.rendered.dsprites_variants import (
    color_dsprites,
    noisy_dsprites,
    painted_swirls,
    read_painting,
    scream_dsprites,
    scream_stand_in_dsprites,
)
from unknot.worlds.world import World

SPRITES = DSpritesRendered()
CLASSES = SPRITES.factors.sample(40, np.random.default_rng(0))
MASKS = SPRITES.images(CLASSES)[..., 0] > 0
VARIANTS = {
    "color": color_dsprites(SPRITES),
    "noisy": noisy_dsprites(SPRITES),
    "scream": scream_stand_in_dsprites(SPRITES),
}


class Dots:
    """A world as a file might give it: images of another size, some combinations missing, pixels 0 and 1."""

    name = "Dots"
    factors = space({"x": 4, "y": 4})
    image_shape = (8, 6, 1)
    stochastic = False
    rows = np.array([[0, 0], [3, 1], [2, 2]])

    def images(self, classes, *, rng=None):
        images = np.zeros((len(classes), 8, 6, 1), dtype=np.uint8)
        images[np.arange(len(classes)), classes[:, 1], classes[:, 0]] = 1
        return images


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_a_stochastic_world_of_three_channels_with_the_factors_of_its_sprites(name, rng):
    world = VARIANTS[name]
    assert isinstance(world, World)
    assert world.factors == SPRITES.factors and world.rows is None and world.stochastic
    images = world.images(CLASSES, rng=rng)
    assert images.dtype == np.uint8
    assert images.shape == (40, 64, 64, 3) == (40, *world.image_shape)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_generator_alone_decides_the_random_parts(name):
    world = VARIANTS[name]
    first = world.images(CLASSES, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(first, world.images(CLASSES, rng=np.random.default_rng(1)))
    assert (first != world.images(CLASSES, rng=np.random.default_rng(2))).any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize("name", VARIANTS)
def test_batches_give_the_images_that_one_call_gives(name):
    classes = SPRITES.factors.sample(300, np.random.default_rng(3))
    whole = VARIANTS[name].images(classes, rng=np.random.default_rng(4))
    generator = np.random.default_rng(4)
    parts = [VARIANTS[name].images(part, rng=generator) for part in np.split(classes, [7, 130])]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_missing_generator_is_asked_for(name):
    with pytest.raises(UnknotError, match=r"pass rng=np\.random\.default_rng"):
        VARIANTS[name].images(CLASSES)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_class_out_of_range_is_named(name, rng):
    with pytest.raises(UnknotError, match="class 32 for factor 'x'"):
        VARIANTS[name].images([[0, 0, 0, 32, 0]], rng=rng)


def test_names_say_where_the_sprites_come_from():
    assert [world.name for world in VARIANTS.values()] == [
        "Color-dSprites (rendered)",
        "Noisy-dSprites (rendered)",
        "Scream-dSprites (rendered), procedural painting",
    ]


def test_any_world_of_one_channel_can_be_painted(rng):
    world = color_dsprites(Dots())
    assert world.image_shape == (8, 6, 3) and len(world.rows) == 3
    image = world.images([[3, 1]], rng=rng)[0]
    assert (image[1, 3] >= 128).all() and np.count_nonzero(image) == 3


def test_a_world_in_colour_cannot_be_painted_again():
    with pytest.raises(UnknotError, match=r"'Color-dSprites \(rendered\)' has 3 channels"):
        noisy_dsprites(VARIANTS["color"])


def test_color_gives_each_sprite_one_bright_colour_on_black(rng):
    classes = SPRITES.factors.sample(2000, rng)
    masks = SPRITES.images(classes)[..., 0] > 0
    images = VARIANTS["color"].images(classes, rng=rng)
    assert not images[~masks].any()
    colors = images.max(axis=(1, 2))
    np.testing.assert_array_equal(images, masks[..., None] * colors[:, None, None, :])
    assert colors.min() >= 128
    assert colors.mean() / 255 == pytest.approx(0.75, abs=0.01)  # U(0.5, 1)
    assert colors.std() / 255 == pytest.approx(0.5 / np.sqrt(12), abs=0.005)
    assert np.abs(np.corrcoef(colors.T) - np.eye(3)).max() < 0.1


def test_noise_surrounds_the_sprite_and_never_touches_it(rng):
    images = VARIANTS["noisy"].images(CLASSES, rng=rng)
    assert (images[MASKS] == 255).all()
    noise = images[~MASKS] / 255
    assert noise.mean() == pytest.approx(0.5, abs=0.005)
    assert noise.std() == pytest.approx(1 / np.sqrt(12), abs=0.005)
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.02  # each channel has its own


def painting_file(tmp_path, pixels):
    path = tmp_path / "painting.png"
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path


def test_scream_mixes_half_a_patch_with_half_a_tint_and_inverts_it_inside_the_sprite(tmp_path, rng):
    plain = np.full((100, 80, 3), (200, 100, 0))
    world = scream_dsprites(SPRITES, painting_file(tmp_path, plain))
    assert world.name == "Scream-dSprites (rendered)"
    images = world.images(CLASSES, rng=rng).astype(int)
    for image, mask in zip(images, MASKS, strict=True):
        outside = np.unique(image[~mask], axis=0)
        assert len(outside) == 1  # one tint for the whole image
        np.testing.assert_allclose(image[mask], np.broadcast_to(255 - outside[0], image[mask].shape), atol=1)
        tint = outside[0] * 2 - np.array([200, 100, 0])
        assert (tint >= -1).all() and (tint <= 256).all()
    assert images[:, 0, 0].mean(axis=0) == pytest.approx((np.array([200, 100, 0]) + 127.5) / 2, abs=20)


def test_scream_patches_are_whole_pieces_of_the_painting(tmp_path, rng):
    row, col = np.mgrid[:120, :100]
    world = scream_dsprites(SPRITES, painting_file(tmp_path, np.stack([2 * row, 2 * col, 0 * row], axis=2)))
    images = world.images(CLASSES, rng=rng).astype(int)
    corners = set()
    for image, mask in zip(images, MASKS, strict=True):
        # Half of 2 * row + tint: red grows by one a row, green by one a column, from wherever the corner is.
        expected = image[0, 0] + np.stack([row[:64, :64], col[:64, :64], 0 * row[:64, :64]], axis=2)
        assert np.abs(image - expected)[~mask].max() <= 1
        corners.add(tuple(image[0, 0, :2]))
    assert len(corners) > 30


def test_scream_never_shows_the_last_row_and_column_as_in_the_published_variant(tmp_path):
    pixels = np.zeros((67, 66, 3))
    pixels[-1], pixels[:, -1] = 255, 255
    pixels[-2], pixels[:, -2] = 100, 100
    images = scream_dsprites(SPRITES, painting_file(tmp_path, pixels)).images(
        np.repeat([[0, 0, 0, 15, 15]], 200, axis=0), rng=np.random.default_rng(0)
    )
    steps = (
        np.abs(np.diff(images.astype(int), axis=1))[:, :, 0].max(axis=(1, 2)),
        np.abs(np.diff(images.astype(int), axis=2))[:, 0].max(axis=(1, 2)),
    )
    assert {int(s > 10) for s in steps[0]} == {0, 1}  # row 65 is shown in some images
    assert max(steps[0].max(), steps[1].max()) <= 51  # half of 100, never half of 255 - 100


def test_the_painting_is_shrunk_to_fit_350_by_274_and_never_enlarged(tmp_path):
    large = painting_file(tmp_path, np.zeros((1000, 800, 3)))
    assert read_painting(large).shape == (274, 219, 3)
    wide = painting_file(tmp_path, np.full((300, 1400, 3), 255))
    assert read_painting(wide).shape == (75, 350, 3)
    assert read_painting(wide).max() == 1
    small = painting_file(tmp_path, np.zeros((70, 80, 3)))
    assert read_painting(small).shape == (70, 80, 3)


def test_grey_paintings_are_read_as_colour(tmp_path):
    assert read_painting(painting_file(tmp_path, np.zeros((80, 90)))).shape == (80, 90, 3)


def test_a_missing_painting_says_where_to_get_it(tmp_path):
    with pytest.raises(UnknotError, match=r"no painting at '.*none\.jpg'.*wikimedia.*procedural painting"):
        scream_dsprites(SPRITES, tmp_path / "none.jpg")


def test_a_file_that_is_no_picture_is_refused(tmp_path):
    path = tmp_path / "page.jpg"
    path.write_text("<html>not found</html>")
    with pytest.raises(UnknotError, match="cannot be read as a picture"):
        scream_dsprites(SPRITES, path)


def test_a_painting_without_room_for_patches_is_refused(tmp_path):
    with pytest.raises(UnknotError, match="is 200 x 64 pixels"):
        scream_dsprites(SPRITES, painting_file(tmp_path, np.zeros((64, 200, 3))))


def test_the_procedural_painting_has_the_size_of_the_real_one_and_warm_sky_above_cold_water():
    painting = painted_swirls()
    assert painting.shape == (274, 221, 3)
    assert painting.min() >= 0 and painting.max() <= 1
    sky, water = painting[:60].mean(axis=(0, 1)), painting[150:, 190:].mean(axis=(0, 1))
    assert sky[0] > sky[2] + 0.3 and water[2] > water[0]
