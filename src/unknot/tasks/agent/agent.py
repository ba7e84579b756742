"""The agent: it explores without rewards, then learns what scenes are worth while it acts by its model of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.tasks.agent.networks import ACTION, BLUR, Touch, Worth, fit
from unknot.worlds.scenes.arena import ANY_HUE, LENGTH, SPRITES, Arenas

Floats = NDArray[np.float64]
Encode = Callable[[Arenas, NDArray[np.int64], NDArray[np.int64]], NDArray[np.floating]]  # arenas, rows, sprites
EXPLORED = 20  # steps of an episode of exploration
CANDIDATES = 32  # actions that exploration chooses from
PUSHES, CLICKS = 24, 0.03  # for each sprite, and how far they are from its middle
RANDOM = 0.1  # of the actions of the task
MOST = 20.0  # rewards are learned up to here either way


@dataclass(frozen=True)
class Round:
    """Episodes under one policy.

    Attributes:
        steps: of the task before it, from which the policy was learned.
        success: share of its episodes that were solved.
        length: mean steps of its episodes.
        film: the pictures (t, h, w, 3) of its first episode that was solved; none otherwise.
    """

    steps: int
    success: float
    length: float
    film: NDArray[np.uint8]


class Scenes:
    """Arenas with the code of every sprite, which is read again only when the sprite was pushed."""

    def __init__(self, arenas: Arenas, encode: Encode) -> None:
        self.arenas, self._encode = arenas, encode
        rows, sprites = np.indices((arenas.n, SPRITES)).reshape(2, -1)
        codes = encode(arenas, rows, sprites)
        self.codes = torch.tensor(codes.reshape(arenas.n, SPRITES, -1), dtype=torch.float32)

    def step(self, actions: Tensor) -> Tensor:
        """Act once in every arena; the codes (n, k, d) before."""
        before, hit = self.codes.clone(), self.arenas.step(actions.double().numpy())
        rows = np.flatnonzero(hit >= 0)
        if len(rows):
            after = self._encode(self.arenas, rows, hit[rows])
            self.codes[rows, hit[rows]] = torch.tensor(after, dtype=torch.float32)
        return before


class Agent:
    """What touching tells of sprites, a model of rewards, and a search over actions one step ahead.

    Args:
        encode: the frozen representation of a sprite alone.
        seed: decides everything.
        size: height and width of pictures.
        steps: of learning after every round.
    """

    def __init__(self, encode: Encode, seed: list[int], *, size: int, steps: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._generator = torch.Generator().manual_seed(int(self._rng.integers(2**62)))
        self._encode, self._size, self._steps = encode, size, steps

    def explore(self, rounds: int, episodes: int) -> Iterator[float]:
        """Learn what actions do, without rewards, and yield the loss after each round.

        Sprites have any colour. The first round acts at random; the others choose, among some actions, the one whose
        outcome is the least certain.
        """
        arenas = Arenas(episodes, self._rng, hues=ANY_HUE, size=self._size)
        every: list[tuple[Tensor, ...]] = []  # codes of sprites, actions, whether they moved them
        touched: list[tuple[Tensor, ...]] = []  # of those that moved: codes, actions, codes then and at the end
        for number in range(rounds):
            arenas.reset()
            scenes, episode = Scenes(arenas, self._encode), []
            if not every:
                self._learn_scale(scenes.codes.flatten(0, 1))
            for _ in range(EXPLORED):
                actions = self._uncertain(scenes.codes) if number else self._draw(episodes, 1)[:, 0]
                before, after = self._scaled(scenes.step(actions)), self._scaled(scenes.codes)
                acts, hit = actions[:, None].expand(-1, SPRITES, -1), (before != after).any(-1)
                every.append((before.flatten(0, 1), acts.flatten(0, 1), hit.flatten().float()))
                episode.append((hit, before[hit], acts[hit], after[hit]))
            last = self._scaled(scenes.codes)
            touched += [(codes, acts, then, last[hit]) for hit, codes, acts, then in episode]
            groups = [[torch.cat(column) for column in zip(*rows, strict=True)] for rows in (touched, every)]
            if len(groups[0][0]):  # else nothing was touched
                yield fit(self.touch, self._touch_loss, groups, self._steps, self._generator)
            else:
                yield float("inf")
        self.touch.settle(groups[1][0])

    def play(self, rounds: int, episodes: int) -> Iterator[Round]:
        """Act in the task, learn its rewards, and yield each round."""
        arenas = Arenas(episodes, self._rng, size=self._size)
        seen, rewards, steps = [], [], 0
        for number in range(rounds):
            arenas.reset()
            scenes = Scenes(arenas, self._encode)
            unsolved, lengths = np.ones(episodes, dtype=bool), np.full(episodes, LENGTH)
            places, sprites = [arenas.poses[..., :2].copy()], self.felt(scenes.codes)
            for step in range(1, LENGTH + 1):
                scenes.step(self._best(sprites, learned=number > 0))
                sprites = self.felt(scenes.codes)
                seen.append(sprites[torch.from_numpy(unsolved)])
                rewards.append(torch.from_numpy(arenas.reward[unsolved].clip(-MOST, MOST)).float())
                places.append(arenas.poses[..., :2].copy())
                now = unsolved & arenas.solved
                lengths[now], unsolved = step, unsolved & ~now
                if not unsolved.any():
                    break
            film = [
                arenas.picture(row, then[row])
                for row in np.flatnonzero(~unsolved)[:1].tolist()
                for then in places[: lengths[row] + 1]
            ]
            pictures = np.array(film, dtype=np.uint8).reshape(-1, self._size, self._size, 3)
            yield Round(steps, float(1 - unsolved.mean()), float(lengths.mean()), pictures)
            steps += int(lengths.sum())
            fit(self.worth, self.worth.loss, [[torch.cat(seen), torch.cat(rewards)]], self._steps, self._generator)

    def _learn_scale(self, codes: Tensor) -> None:
        """Note mean and spread of codes, and make the networks for codes of their size."""
        spread = codes.std(0)
        self._mean, self._spread = codes.mean(0), torch.where(spread > 1e-6, spread, 1.0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self._rng.integers(2**62)))
            self.touch, self.worth = Touch(codes.shape[1]), Worth()

    def _scaled(self, codes: Tensor) -> Tensor:
        return (codes - self._mean) / self._spread

    @torch.no_grad()
    def felt(self, codes: Tensor) -> Tensor:
        """(..., 2 + looks) where sprites are and how they look, by what was learned from touching them."""
        out: Tensor = self.touch(self._scaled(codes))
        return out

    def _touch_loss(self, *columns: Tensor) -> Tensor:
        blur = BLUR * torch.randn(2, *columns[0].shape, generator=self._generator)
        return self.touch.loss(blur, *columns)

    def _draw(self, n: int, candidates: int) -> Tensor:
        return torch.rand(n, candidates, ACTION, generator=self._generator)

    @torch.no_grad()
    def _uncertain(self, codes: Tensor) -> Tensor:
        """(n, 4) for each scene the action, of some, with the largest expected error in any sprite."""
        actions = self._draw(len(codes), CANDIDATES)
        places = self.felt(codes)[:, None, :, :2]
        doubt = self.touch.doubt(places, actions[:, :, None]).amax(-1)
        return actions[torch.arange(len(codes)), doubt.argmax(1)]

    @torch.no_grad()
    def _best(self, sprites: Tensor, *, learned: bool) -> Tensor:
        """(n, 4) for each scene the push of a sprite after which it should be worth most; now and then any.

        Args:
            sprites: places and looks.
            learned: whether rewards were; before, any push will do.
        """
        n = len(sprites)
        actions = self._draw(n, SPRITES * PUSHES)
        places = sprites[..., :2].repeat(1, PUSHES, 1)
        aside = CLICKS * torch.randn(places.shape, generator=self._generator)  # one sprite may lie upon another
        actions[..., :2] = (places + aside).clamp(0, 1)
        chosen = torch.randint(actions.shape[1], (n,), generator=self._generator)
        if learned:
            worth = self.worth(self.touch.pushed(sprites[:, None], actions[:, :, None]))
            sane = torch.rand(n, generator=self._generator) >= RANDOM
            chosen = torch.where(sane, worth.argmax(1), chosen)
        return actions[torch.arange(n), chosen]
