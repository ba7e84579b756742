"""The arena behind Gymnasium's interface, and what is said where Gymnasium is not installed."""

import sys

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.scenes.arena_gym import _kind, gym_arena

NAME = "unknot.worlds.scenes.arena_gym"


def test_an_environment_package_that_is_not_installed_is_named_with_what_to_do(monkeypatch):
    _kind.cache_clear()
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(UnknotError, match=r'needs gymnasium, which is not installed; pip install "unknot\[gym\]"'):
        gym_arena()


def test_gymnasium_accepts_the_environment_and_an_episode_is_that_of_the_arena():
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    from unknot.worlds.scenes.arena import LENGTH, ArenaEnv

    env = gymnasium.make(f"{NAME}:unknot/Arena-v0", size=32, render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)
    plain = ArenaEnv(32)
    np.testing.assert_array_equal(env.reset(seed=5)[0], plain.reset(seed=5)[0])
    for _ in range(LENGTH):
        action = env.action_space.sample()
        (seen, reward, done, over, _), (pixels, value, *_) = env.step(action), plain.step(action)
        assert reward == value and np.array_equal(seen, pixels) and np.array_equal(env.render(), pixels)
        if done or over:
            break
    assert done or over
