"""The arena as an environment of Gymnasium, for agents of other libraries: `pip install "unknot[gym]"`.

`gymnasium.make("unknot.worlds.scenes.arena_gym:unknot/Arena-v0", size=64)` imports this file and makes one.
"""

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import extras
from unknot.worlds.scenes.arena import ArenaEnv

if TYPE_CHECKING:
    import gymnasium

ID = "unknot/Arena-v0"


def gym_arena(size: int = 64, render_mode: str | None = None) -> "gymnasium.Env[Any, Any]":
    """Spriteworld's clustering as a `gymnasium.Env`: see `ArenaEnv`, whose rules and numbers it has.

    Observations are pictures, uint8 (size, size, 3); actions four numbers from 0 to 1: where to click, and to push. An
    episode is terminated when it is solved, and truncated after 50 steps. `info["factors"]` is what is true of the
    sprites.

    Args:
        size: height and width of the pictures.
        render_mode: "rgb_array" or None.
    """
    return _kind()(size, render_mode)


@cache
def _kind() -> Any:
    """The class of environments, which cannot be written down where Gymnasium is not installed."""
    with extras("arena: an environment of Gymnasium"):
        import gymnasium

    class GymArena(gymnasium.Env):  # type: ignore[misc, type-arg]
        metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 6}  # noqa: RUF012 - Gymnasium's own

        def __init__(self, size: int, render_mode: str | None) -> None:
            self._arena, self.render_mode = ArenaEnv(size), render_mode
            self.observation_space = gymnasium.spaces.Box(0, 255, (size, size, 3), np.uint8)
            self.action_space = gymnasium.spaces.Box(0.0, 1.0, (4,), np.float32)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
            super().reset(seed=seed)
            return self._arena.reset(seed=seed, options=options)

        def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
            return self._arena.step(action)

        def render(self) -> NDArray[np.uint8] | None:
            return self._arena.render() if self.render_mode == "rgb_array" else None

    return GymArena


def _register() -> None:
    import gymnasium

    if ID not in gymnasium.registry:
        gymnasium.register(ID, entry_point=f"{__name__}:gym_arena")


if find_spec("gymnasium") is not None:
    _register()
