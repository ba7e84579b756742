"""Abstract-dSprites: its grid, its colours by formula, and the orientation that is no factor."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.rendered.abstract_dsprites import COLORS, AbstractDSprites
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.rendered.dsprites_variants import color_dsprites
from unknot.worlds.world import World

WORLD = AbstractDSprites()


def husl(hue: float, saturation: float, lightness: float) -> np.ndarray:
    """RGB of a HUSL (HSLuv) colour, from the definition: the largest chroma in gamut, scaled by saturation."""
    to_rgb = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])
    white = np.array([0.95047, 1.0, 1.08883])
    u_white, v_white = np.array([4, 9]) * white[:2] / (white @ [1, 15, 3])
    angle = np.radians(hue)

    def linear_rgb(chroma: float) -> np.ndarray:
        u = chroma * np.cos(angle) / (13 * lightness) + u_white
        v = chroma * np.sin(angle) / (13 * lightness) + v_white
        y = ((lightness + 16) / 116) ** 3
        return to_rgb @ [9 * u * y / (4 * v), y, y * (12 - 3 * u - 20 * v) / (4 * v)]

    low, high = 0.0, 300.0
    for _ in range(60):  # bisect for the chroma at which the first channel leaves [0, 1]
        middle = (low + high) / 2
        inside = (linear_rgb(middle) >= 0).all() and (linear_rgb(middle) <= 1).all()
        low, high = (middle, high) if inside else (low, middle)
    rgb = linear_rgb(low * saturation / 100)
    return np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055)


def test_the_colours_are_six_even_hues_of_husl():
    for k, color in enumerate(COLORS):
        hue = 359 * ((k / 6 + 0.1) % 1)
        assert husl(hue, 69.3, 69.3) == pytest.approx(color, abs=1e-4)


def test_it_is_a_stochastic_world_with_the_grid_of_the_paper():
    assert isinstance(WORLD, World)
    assert WORLD.factors.names == ("background", "object_color", "shape", "scale", "x", "y")
    assert WORLD.factors.shape == (5, 6, 3, 6, 32, 32)
    assert WORLD.factors.size == 552_960
    assert WORLD.stochastic and WORLD.rows is None and WORLD.image_shape == (64, 64, 3)
    assert WORLD.name == "Abstract-dSprites (rendered)"


def test_images_are_the_sprite_in_its_colour_on_its_grey():
    classes = WORLD.factors.sample(200, np.random.default_rng(0))
    images = WORLD.images(classes, rng=np.random.default_rng(1))
    assert images.dtype == np.uint8 and images.shape == (200, 64, 64, 3)
    greys = [0, 64, 128, 191, 255]
    colors = np.round(np.array(COLORS) * 255).astype(int)
    for image, (background, color, *_) in zip(images, classes, strict=True):
        seen, counts = np.unique(image.reshape(-1, 3), axis=0, return_counts=True)
        by_count = seen[np.argsort(counts)].tolist()
        assert by_count == [colors[color].tolist(), [greys[background]] * 3]  # the sprite is the smaller part


def test_sprites_have_the_shape_scale_and_place_that_was_asked_for_at_some_orientation():
    sprites = DSpritesRendered()
    classes = WORLD.factors.sample(60, np.random.default_rng(2), fixed={"background": 0})
    masks = WORLD.images(classes, rng=np.random.default_rng(3)).any(axis=3)
    for mask, (_, _, shape, scale, x, y) in zip(masks, classes, strict=True):
        poses = sprites.images([[shape, scale, turn, x, y] for turn in range(40)])[..., 0] > 0
        assert (poses == mask).all(axis=(1, 2)).any()


def test_every_orientation_occurs_equally_often():
    sprites = DSpritesRendered().images([[2, 5, turn, 8, 8] for turn in range(39)])[..., 0] > 0
    images = WORLD.images(np.repeat([[0, 0, 2, 5, 8, 8]], 4000, axis=0), rng=np.random.default_rng(4)).any(axis=3)
    which = np.array([np.flatnonzero((sprites == image).all(axis=(1, 2)))[0] for image in images])
    counts = np.bincount(which, minlength=39)
    assert counts[0] == pytest.approx(200, abs=45)  # classes 0 and 39 are one pose
    assert counts[1:] == pytest.approx(np.full(38, 100), abs=40)


def test_the_generator_alone_decides_the_orientations():
    classes = WORLD.factors.sample(50, np.random.default_rng(5))
    first = WORLD.images(classes, rng=np.random.default_rng(6))
    np.testing.assert_array_equal(first, WORLD.images(classes, rng=np.random.default_rng(6)))
    assert (first != WORLD.images(classes, rng=np.random.default_rng(7))).any()
    generator = np.random.default_rng(6)
    parts = [WORLD.images(part, rng=generator) for part in np.split(classes, [13])]
    np.testing.assert_array_equal(first, np.concatenate(parts))


def test_mistakes_are_named():
    with pytest.raises(UnknotError, match=r"pass rng=np\.random\.default_rng"):
        WORLD.images([[0, 0, 0, 0, 0, 0]])
    with pytest.raises(UnknotError, match="class 5 for factor 'background'"):
        WORLD.images([[5, 0, 0, 0, 0, 0]], rng=np.random.default_rng(0))
    with pytest.raises(UnknotError, match="has 3 channels"):
        AbstractDSprites(color_dsprites(DSpritesRendered()))
    with pytest.raises(UnknotError, match="a factor 'orientation'"):
        AbstractDSprites(WORLD)
