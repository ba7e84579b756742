import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.scenes.multi_sprites import SHAPES, MultiSprites
from unknot.worlds.world import World


def test_pictures_are_a_world_with_masks():
    world = MultiSprites(n=40, size=32)
    assert isinstance(world, World)
    images, masks = world.images(np.arange(40)[:, None]), world.masks(np.arange(40)[:, None])
    assert images.shape == (40, 32, 32, 3) and masks.shape == (40, 32, 32)
    assert {mask.max() for mask in masks} == {2, 3, 4}
    for i in range(40):
        record = world.picture(i)[2]
        inner = masks[i] == masks[i].max()  # the topmost sprite is covered by none
        top = record["objects"][-1]
        pixels = images[i][inner & _surrounded(inner)]
        np.testing.assert_allclose(pixels, np.rint(255 * np.array(top["color"])) + 0 * pixels, atol=1)
        ground = images[i][(masks[i] == 0) & _surrounded(masks[i] == 0)]
        off = np.abs(ground - 255 * record["background"]).max(axis=1) > 1
        assert off.mean() < 0.01  # the tip of a heart may cover less than half of any pixel


def _surrounded(mask):
    around = mask.copy()
    for axis in (0, 1):
        for step in (1, -1):
            around &= np.roll(mask, step, axis)
            around &= np.roll(np.roll(mask, step, axis), 1, 1 - axis) & np.roll(
                np.roll(mask, step, axis), -1, 1 - axis
            )
    around[[0, -1]], around[:, [0, -1]] = False, False
    return around


def test_every_sprite_shows_enough():
    world = MultiSprites(n=30, size=64, objects=(4, 4))
    for i in range(30):
        _, mask, record = world.picture(i)
        assert np.bincount(mask.ravel(), minlength=5)[1:].min() > 20
        assert {thing["shape"] for thing in record["objects"]} <= set(SHAPES)


@pytest.mark.parametrize("shape", [0, 1, 2])
def test_a_lone_sprite_is_that_of_dsprites(shape):
    from unknot.worlds.scenes._paint import paint

    original = DSpritesRendered().images([[shape, 5, 7, 16, 16]])[0, :, :, 0] > 0
    space = DSpritesRendered().factors
    values = [float(f.numbers[c]) for f, c in zip(space, (shape, 5, 7, 16, 16), strict=True)]
    pose = np.array([[(16 + 32 * values[3]) / 64, (16 + 32 * values[4]) / 64, values[1], values[2]]])
    mask = np.zeros((64, 64), np.uint8)
    paint(np.array([shape]), pose, np.ones((1, 3)), np.zeros((64, 64, 3)), mask)
    assert (mask.astype(bool) != original).sum() <= 0.12 * original.sum()  # edges only: ours counts half pixels


def test_the_same_number_is_the_same_picture_at_any_time():
    world = MultiSprites(n=9, size=32, seed=1)
    np.testing.assert_array_equal(world.images([[7], [2]])[0], MultiSprites(n=9, size=32, seed=1).images([[7]])[0])
    assert (world.images([[7]]) != MultiSprites(n=9, size=32, seed=2).images([[7]])).any()


@pytest.mark.parametrize("wrong", [{"n": 0}, {"size": 4}, {"objects": (3, 2)}, {"seed": -1}])
def test_impossible_wishes_are_named(wrong):
    with pytest.raises(UnknotError, match="multi_sprites"):
        MultiSprites(**wrong)


def test_a_number_that_does_not_exist_is_an_error():
    with pytest.raises(UnknotError):
        MultiSprites(n=3).images([[3]])
