"""What the agent learns: where a sprite is and what it looks like, by touching it; and what a scene is worth."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = 96
ACTION = 4
LOOKS = 8  # numbers for what pushes do not change
NEAR = 0.1  # sprites about as far apart as this must be told apart by their looks
BLUR = 0.3  # of codes, whose spread is 1
LR = 3e-3
BATCH = 256


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs)
    )


class Touch(nn.Module):
    """Where a sprite (..., d) is, in the numbers of clicks, and how it looks: what an agent can know by touching it.

    A sprite is where clicks move it, and a push moves it by so much, so places are learned without labels. Its looks
    are what pushes leave alone: they tell it, before and after, from others that are at the same place.
    """

    spread: Tensor
    middle: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.place, self.look = mlp(size, 2), mlp(size, LOOKS)
        # How sure a click on the middle is, and how it falls away from there.
        self.edge = nn.Parameter(torch.tensor([1.3, 260.0]).log())
        self.reach = nn.Parameter(torch.tensor(0.1))  # of a push
        self.register_buffer("middle", torch.zeros(LOOKS))
        self.register_buffer("spread", torch.ones(LOOKS))

    def forward(self, codes: Tensor) -> Tensor:
        """(..., 2 + LOOKS) places and looks, which are as spread as codes are once `settle` was called."""
        looks = (self.look(codes) - self.middle) / self.spread
        return torch.cat([self.places(codes), looks], dim=-1)

    def places(self, codes: Tensor) -> Tensor:
        """(..., 2) where to click."""
        out: Tensor = 0.5 + self.place(codes)
        return out

    def sure(self, places: Tensor, clicks: Tensor) -> Tensor:
        """(...,) the log odds that a click moves a sprite."""
        middle, fall = self.edge.exp()
        out: Tensor = middle - fall * (places - clicks).pow(2).sum(-1)
        return out

    def pushed(self, sprites: Tensor, actions: Tensor) -> Tensor:
        """Places and looks after actions (..., 4), which move sprites as far as they are sure to hit them."""
        places = sprites[..., :2]
        chance = self.sure(places, actions[..., :2]).sigmoid()[..., None]
        moved = (places + chance * self.reach * (actions[..., 2:] - 0.5)).clamp(0, 1)  # no further than clicks go
        return torch.cat([moved, sprites[..., 2:].expand(*moved.shape[:-1], -1)], dim=-1)

    def doubt(self, places: Tensor, actions: Tensor) -> Tensor:
        """(...,) the expected squared error of where sprites will be, but for a factor."""
        chance = self.sure(places, actions[..., :2]).sigmoid()
        return chance * (1 - chance) * (actions[..., 2:] - 0.5).pow(2).sum(-1)

    def loss(
        self,
        blur: Tensor,
        codes: Tensor,
        actions: Tensor,
        after: Tensor,
        later: Tensor,
        every: Tensor,
        acts: Tensor,
        hit: Tensor,
    ) -> Tensor:
        """What is wrong with places, hits and looks.

        Args:
            blur: (2, rows, d) what is added to codes when looks are told apart, or exact ones allow any function.
            codes: of sprites that were pushed.
            actions: that pushed them.
            after: their codes then.
            later: their codes at the end of the episode.
            every: codes of sprites whatever happened.
            acts: the actions there.
            hit: 1 where they moved.
        """
        before, then = self.places(codes), self.places(after)
        clicked = (before - actions[:, :2]).pow(2).sum(-1).mean()
        push = functional.smooth_l1_loss(then - before, self.reach * (actions[:, 2:] - 0.5), beta=0.02)
        hits = functional.binary_cross_entropy_with_logits(self.sure(self.places(every), acts[:, :2]), hit)
        there = self.places(later).detach()
        looks, others = (self.look(blurred) for blurred in (codes + blur[0], later + blur[1]))
        size = others.std(0) + 1e-6  # so that looks cannot be told apart by making all of them larger
        alike = -torch.cdist(looks / size, others / size).pow(2)
        told = functional.cross_entropy(
            alike - torch.cdist(there, there).pow(2) / (2 * NEAR**2), torch.arange(len(codes), device=codes.device)
        )
        total: Tensor = 10 * (clicked + push) + hits + 0.3 * told
        return total

    @torch.no_grad()
    def settle(self, codes: Tensor) -> None:
        """Note middle and spread of the looks of sprites."""
        looks = self.look(codes)
        self.middle, self.spread = looks.mean(0), looks.std(0).clamp_min(1e-6)


class Worth(nn.Module):
    """What a scene (..., k, 2 + looks) is worth: a function of a sum over pairs of sprites, in whatever order.

    Of a pair it takes the distance of the places, and distances in what it makes of the looks.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sight, self.pair, self.whole = mlp(LOOKS, LOOKS), mlp(1 + LOOKS, HIDDEN), mlp(HIDDEN, 1)

    def forward(self, sprites: Tensor) -> Tensor:
        """(...,) one number for each scene."""
        k = sprites.shape[-2]
        first, second = torch.triu_indices(k, k, offset=1, device=sprites.device)
        places, looks = 4 * sprites[..., :2], self.sight(sprites[..., 2:])
        apart = (places[..., first, :] - places[..., second, :]).pow(2).sum(-1, keepdim=True).add(1e-8).sqrt()
        unlike = (looks[..., first, :] - looks[..., second, :]).abs()
        pairs = self.pair(torch.cat([apart, unlike], dim=-1))
        out: Tensor = self.whole(pairs.mean(-2)).squeeze(-1)
        return out

    def loss(self, sprites: Tensor, rewards: Tensor) -> Tensor:
        """Mean squared error of rewards on a scale that is a logarithm either side of 0."""
        total: Tensor = (self(sprites) - rewards.sign() * rewards.abs().log1p()).pow(2).mean()
        return total


def fit(
    network: nn.Module,
    loss: Callable[..., Tensor],
    groups: Sequence[Sequence[Tensor]],
    steps: int,
    generator: torch.Generator,
) -> float:
    """Adam on batches of rows, with a rate that falls to 0; the mean loss of the last tenth of the steps.

    Args:
        network: what is learned.
        loss: of a batch of each of the columns of every group.
        groups: columns of the same length each; every group has batches of its own.
        steps: of Adam.
        generator: decides batches.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=LR)
    last = []
    for step in range(steps):
        batch: list[Tensor] = []
        for columns in groups:
            chosen = torch.randint(len(columns[0]), (BATCH,), generator=generator)
            batch += [column[chosen] for column in columns]
        optimiser.param_groups[0]["lr"] = LR * (1 - step / steps)
        optimiser.zero_grad()
        value = loss(*batch)
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step >= steps - max(1, steps // 10):
            last.append(value.detach())
    return float(torch.stack(last).mean())
