"""Arenas of sprites that are pushed about until those of a colour are together: Spriteworld's task of clustering.

The rules and numbers are those of the published environment (Watters et al. 2019, COBRA, arXiv:1905.09275); the shapes
are those of dSprites. The package itself asks for `enum34`, which takes the place of a module of Python's own.
"""

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError

SPRITES = 4  # two of each colour
HUES = ((0.55, 0.65), (0.27, 0.37))  # blue and green
ANY_HUE = ((0.0, 1.0), (0.0, 1.0))
SATURATIONS, VALUES = (0.3, 1.0), (0.9, 1.0)
SCALE = 0.433  # squares are as wide as Spriteworld's, 0.13 of the picture
REACH = 0.25  # the longest push is half of it in each direction
SOLVED = 2.5
LENGTH = 50  # steps of an episode
SLOPE = 5.0  # of the reward

Floats = NDArray[np.float64]


class Arenas:
    """Several arenas at once, which go on side by side.

    An action (x, y, right, down) in [0, 1] clicks at a place and pushes the sprite on top there by
    0.25 (right - 0.5, down - 0.5); sprites stay in the picture. The quality of a scene is the inverse of the
    Davies-Bouldin index of the two colours: the distance between their centres over the sum of mean distances from
    these. The reward is 5 (quality - 2.5), and a scene is solved from 2.5 on. No episode begins solved.

    Args:
        n: how many.
        rng: decides every scene.
        hues: ranges of the two colours.
        size: height and width of pictures.
    """

    def __init__(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        hues: tuple[tuple[float, float], tuple[float, float]] = HUES,
        size: int = 64,
    ) -> None:
        self.n, self.size, self._rng, self._hues = n, size, rng, np.array(hues)
        self.reset()

    def reset(self) -> None:
        """Begin all episodes anew."""
        shape = (self.n, SPRITES)
        self.kinds = np.tile(np.arange(SPRITES) % 2, (self.n, 1))  # the two colours, one above the other in turn
        self.shapes = self._rng.integers(0, 3, shape)
        low, high = self._hues[self.kinds].transpose(2, 0, 1)
        self.hsv = np.stack(
            [
                self._rng.uniform(low, high),
                self._rng.uniform(*SATURATIONS, shape),
                self._rng.uniform(*VALUES, shape),
            ],
            axis=2,
        )
        rgb = [colorsys.hsv_to_rgb(*hsv) for hsv in self.hsv.reshape(-1, 3).tolist()]
        self.colors = np.array(rgb).reshape(*shape, 3)
        self.poses = np.zeros((*shape, 4))
        self.poses[..., 2] = SCALE
        unsolved = np.ones(self.n, dtype=bool)
        while unsolved.any():
            self.poses[unsolved, :, :2] = self._rng.uniform(0.1, 0.9, (int(unsolved.sum()), SPRITES, 2))
            unsolved = self.solved

    @property
    def quality(self) -> Floats:
        """(n,) the inverse of the Davies-Bouldin index."""
        places = self.poses[..., :2]
        groups = np.stack([places[:, colour::2] for colour in range(2)], axis=1)  # (n, 2, 2, 2)
        centres = groups.mean(axis=2)
        spread = np.linalg.norm(groups - centres[:, :, None], axis=3).mean(axis=2).sum(axis=1)
        apart = np.linalg.norm(centres[:, 0] - centres[:, 1], axis=1)
        return np.asarray(apart / np.maximum(spread, 1e-9))

    @property
    def reward(self) -> Floats:
        """(n,) of the scenes as they are."""
        return SLOPE * (self.quality - SOLVED)

    @property
    def solved(self) -> NDArray[np.bool_]:
        """(n,) whether sprites of a colour are together."""
        return np.asarray(self.quality >= SOLVED)

    def step(self, actions: Floats) -> NDArray[np.int64]:
        """Act (n, 4) once in every arena, and return which sprite was pushed, -1 for none."""
        from unknot.worlds.scenes._paint import topmost

        places = np.asarray(actions, dtype=np.float64)
        if places.shape != (self.n, 4) or not ((places >= 0) & (places <= 1)).all():
            raise UnknotError(
                f"arena: actions of shape {places.shape}; expected ({self.n}, 4) numbers from 0 to 1: where to click, "
                "and where to push, with 0.5 for not at all."
            )
        hit = np.array([topmost(self.shapes[i], self.poses[i], *places[i, :2]) for i in range(self.n)])
        rows = np.flatnonzero(hit >= 0)
        moved = self.poses[rows, hit[rows], :2] + REACH * (places[rows, 2:] - 0.5)
        self.poses[rows, hit[rows], :2] = moved.clip(0, 1)
        return hit

    def factors(self, rows: NDArray[np.int64], sprites: NDArray[np.int64]) -> Floats:
        """(m, 9) what is true of sprites: place, hue on a circle, saturation, value, and the shape one-hot."""
        hue = 2 * np.pi * self.hsv[rows, sprites, 0]
        parts = [
            self.poses[rows, sprites, :2],
            np.stack([np.cos(hue), np.sin(hue)], axis=1),
            self.hsv[rows, sprites, 1:],
            np.eye(3)[self.shapes[rows, sprites]],
        ]
        return np.concatenate(parts, axis=1)

    def alone(self, rows: NDArray[np.int64], sprites: NDArray[np.int64]) -> NDArray[np.uint8]:
        """(m, size, size, 3) pictures of one sprite each, on black."""
        from unknot.worlds.scenes._paint import paint_alone

        drawn = np.zeros((len(rows), self.size, self.size, 3), dtype=np.uint8)
        paint_alone(self.shapes[rows, sprites], self.poses[rows, sprites], self.colors[rows, sprites], drawn)
        return drawn

    def picture(self, row: int, places: Floats | None = None) -> NDArray[np.uint8]:
        """(size, size, 3) a whole scene, or as it was when its sprites were at other places (k, 2)."""
        from unknot.worlds.scenes._paint import paint

        image, mask = np.zeros((self.size, self.size, 3)), np.zeros((self.size, self.size), np.uint8)
        poses = self.poses[row].copy()
        if places is not None:
            poses[:, :2] = places
        paint(self.shapes[row], poses, self.colors[row], image, mask)
        return np.rint(255 * image).astype(np.uint8)


class ArenaEnv:
    """One arena with the methods of a `gymnasium.Env`, for agents of other libraries; Gymnasium itself is not needed.

    Args:
        size: height and width of the pictures that are observed.

    >>> env = ArenaEnv(size=32)
    >>> picture, about = env.reset(seed=0)
    >>> picture, reward, terminated, truncated, about = env.step([0.5, 0.5, 1.0, 0.5])
    >>> picture.shape, bool(reward < 0), terminated, truncated
    ((32, 32, 3), True, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - the name and type of Gymnasium
    render_mode = "rgb_array"

    def __init__(self, size: int = 64) -> None:
        self.arenas, self._size, self._steps = Arenas(1, np.random.default_rng(0), size=size), size, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin an episode; without a seed, the next one."""
        if seed is None:
            self.arenas.reset()
        else:
            self.arenas = Arenas(1, np.random.default_rng(seed), size=self._size)
        self._steps = 0
        return self.render(), self._about()

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Act once: picture, reward, whether the scene is solved, whether 50 steps are over, and what is true."""
        self.arenas.step(np.asarray(action, dtype=np.float64)[None])
        self._steps += 1
        solved = bool(self.arenas.solved[0])
        return self.render(), float(self.arenas.reward[0]), solved, self._steps >= LENGTH, self._about()

    def render(self) -> NDArray[np.uint8]:
        """The scene."""
        return self.arenas.picture(0)

    def _about(self) -> dict[str, Any]:
        sprites = np.arange(SPRITES)
        return {"factors": self.arenas.factors(np.zeros(SPRITES, dtype=np.int64), sprites)}
