"""Arenas of sprites: the rules of Spriteworld's clustering, by hand."""

import numpy as np
import pytest
from sklearn.metrics import davies_bouldin_score

from unknot.errors import UnknotError
from unknot.worlds.scenes.arena import LENGTH, SOLVED, ArenaEnv, Arenas


def arenas(n: int = 3) -> Arenas:
    return Arenas(n, np.random.default_rng(0), size=32)


def test_the_reward_is_that_of_spriteworld():
    some = arenas(20)
    for i in range(20):
        quality = 1 / davies_bouldin_score(some.poses[i, :, :2], some.kinds[i])
        assert some.quality[i] == pytest.approx(quality)
        assert some.reward[i] == pytest.approx((quality - 2.5) * 10 / 2)
    assert not some.solved.any()
    some.poses[0, :, :2] = [[0.2, 0.2], [0.8, 0.8], [0.2, 0.3], [0.8, 0.7]]
    assert some.quality[0] == pytest.approx(np.hypot(0.6, 0.5) / 0.1) and some.solved[0]


def test_a_click_on_a_sprite_pushes_the_one_on_top_and_elsewhere_nothing_happens():
    some = arenas()
    some.poses[:, :, :2] = [[0.2, 0.2], [0.8, 0.8], [0.2, 0.2], [0.5, 0.99]]
    before = some.poses.copy()
    hit = some.step(np.array([[0.21, 0.2, 1.0, 0.5], [0.5, 0.4, 1.0, 1.0], [0.5, 0.97, 0.5, 1.0]]))
    assert hit.tolist() == [2, -1, 3]
    assert some.poses[0, 2, :2].tolist() == [0.2 + 0.125, 0.2]
    assert some.poses[2, 3, :2].tolist() == [0.5, 1.0]  # and stays in the picture
    before[0, 2], before[2, 3] = some.poses[0, 2], some.poses[2, 3]
    np.testing.assert_array_equal(some.poses, before)
    with pytest.raises(UnknotError, match=r"actions of shape \(3, 2\); expected \(3, 4\) numbers from 0 to 1"):
        some.step(np.zeros((3, 2)))
    with pytest.raises(UnknotError, match="actions"):
        some.step(np.full((3, 4), 1.5))


def test_a_sprite_alone_is_where_and_what_its_factors_say():
    some = arenas()
    rows, sprites = np.array([1, 2]), np.array([3, 0])
    pictures, factors = some.alone(rows, sprites), some.factors(rows, sprites)
    assert pictures.shape == (2, 32, 32, 3) and factors.shape == (2, 9)
    for picture, (x, y, *_), kind in zip(pictures, factors, some.kinds[rows, sprites], strict=True):
        weight = picture.sum(2) / picture.sum()
        place = (np.arange(32) + 0.5) / 32
        assert weight.sum(0) @ place == pytest.approx(x, abs=0.04)
        assert weight.sum(1) @ place == pytest.approx(y, abs=0.04)
        assert picture.sum((0, 1)).argmax() == (2, 1)[kind]  # blue, green
    whole = some.picture(1)
    assert (whole > 0).any(2).sum() > (pictures[0] > 0).any(2).sum()


def test_an_environment_has_the_methods_of_gymnasium():
    env = ArenaEnv(size=32)
    first, about = env.reset(seed=3)
    assert first.shape == (32, 32, 3) and about["factors"].shape == (4, 9)
    assert not np.array_equal(env.reset()[0], first) and np.array_equal(env.reset(seed=3)[0], first)
    for _ in range(LENGTH):
        _, reward, terminated, truncated, _ = env.step([0.0, 0.0, 0.5, 0.5])
    assert reward < 0 and not terminated and truncated
    env.arenas.poses[0, :, :2] = [[0.2, 0.2], [0.8, 0.8], [0.2, 0.3], [0.8, 0.7]]
    _, reward, terminated, _, _ = env.step([0.0, 0.0, 0.5, 0.5])
    assert terminated and reward == pytest.approx(5 * (env.arenas.quality[0] - SOLVED))
