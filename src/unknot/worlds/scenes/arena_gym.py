"""The arena as an environment of Gymnasium, for agents of other libraries: `pip install "unknot[gym]"`.

`gymnasium.make("unknot.worlds.scenes.arena_gym:unknot/Arena-v0", size=64)` imports this file and makes one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import extras
from unknot.worlds.scenes.arena import LENGTH, ArenaEnv

with extras("arena: an environment of Gymnasium"):
    import gymnasium

ID = "unknot/Arena-v0"


class GymArena(gymnasium.Env):  # type: ignore[misc, type-arg]
    """Spriteworld's clustering as a `gymnasium.Env`: see `ArenaEnv`, whose rules and numbers it has.

    Observations are pictures, uint8 (size, size, 3); actions four numbers from 0 to 1, where to click, where to push.
    An episode is terminated when it is solved, and truncated after 50 steps. `info["factors"]` is what is true of the
    sprites.

    Args:
        size: height and width of the pictures, 16 or more.
        render_mode: "rgb_array" or None.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 6}  # noqa: RUF012 - Gymnasium's own

    def __init__(self, size: int = 64, render_mode: str | None = None) -> None:
        self._arena, self.render_mode = ArenaEnv(size), render_mode
        self.observation_space = gymnasium.spaces.Box(0, 255, (size, size, 3), np.uint8)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (4,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin an episode; without a seed, the next one."""
        super().reset(seed=seed)
        return self._arena.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Act once: picture, reward, whether the scene is solved, whether the episode is over, and what is true."""
        return self._arena.step(action)

    def render(self) -> NDArray[np.uint8] | None:
        """The scene, if it is rendered."""
        return self._arena.render() if self.render_mode == "rgb_array" else None


if ID not in gymnasium.registry:
    # The arena counts its 50 steps itself, so that it is the same without the wrappers of `make`.
    gymnasium.register(ID, entry_point=f"{__name__}:GymArena", max_episode_steps=LENGTH)
