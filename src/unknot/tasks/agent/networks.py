"""What the agent learns: how a push changes the code of a sprite, how wrong that is, and what a scene is worth."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

HIDDEN = 96
ACTION = 4
LR = 1e-3
BATCH = 512


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs)
    )


class Transition(nn.Module):
    """The code (..., d) of a sprite after an action (..., 4), sprite by sprite; and how far it expects to be wrong.

    The second is learned beside the first and is what exploration looks for: an agent that seeks the actions it cannot
    foresee clicks on sprites, since elsewhere nothing happens.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.change, self.doubt = mlp(size + ACTION, size), mlp(size + ACTION, 1)

    def forward(self, codes: Tensor, actions: Tensor) -> Tensor:
        """Codes after actions; the shapes before the last are broadcast."""
        out: Tensor = codes + self.change(_joined(codes, actions))
        return out

    def expected_error(self, codes: Tensor, actions: Tensor) -> Tensor:
        """(...,) how far the prediction is expected to be wrong."""
        out: Tensor = self.doubt(_joined(codes, actions)).squeeze(-1)
        return out

    def loss(self, codes: Tensor, actions: Tensor, after: Tensor) -> Tensor:
        """Mean squared errors of the prediction and of what is expected of it."""
        error = (self(codes, actions) - after).pow(2).mean(-1)
        doubt = self.expected_error(codes, actions) - error.detach().sqrt()
        total: Tensor = error.mean() + doubt.pow(2).mean()
        return total


class Worth(nn.Module):
    """The reward of a scene (..., k, d), whatever the order of its sprites: a function of a sum over their pairs."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.pair, self.whole = mlp(2 * size, HIDDEN), mlp(HIDDEN, 1)

    def forward(self, codes: Tensor) -> Tensor:
        """(...,) one number for each scene."""
        k = codes.shape[-2]
        first, second = torch.triu_indices(k, k, offset=1, device=codes.device)
        one, other = codes[..., first, :], codes[..., second, :]
        pairs = self.pair(torch.cat([one + other, (one - other).abs()], dim=-1))
        out: Tensor = self.whole(pairs.mean(-2)).squeeze(-1)
        return out


def fit(
    network: nn.Module,
    loss: Callable[..., Tensor],
    rows: Sequence[Tensor],
    steps: int,
    generator: torch.Generator,
    *,
    often: Tensor | None = None,
) -> float:
    """Adam on batches of rows, with a rate that falls to 0; the mean loss of the last tenth of the steps.

    Args:
        network: what is learned.
        loss: of a batch of each of the columns.
        rows: columns of the same length.
        steps: of Adam.
        generator: decides batches.
        often: numbers of rows that make up half of each batch.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=LR)
    last = []
    for step in range(steps):
        chosen = torch.randint(len(rows[0]), (BATCH,), generator=generator)
        if often is not None and len(often):
            chosen[::2] = often[torch.randint(len(often), (BATCH // 2,), generator=generator)]
        optimiser.param_groups[0]["lr"] = LR * (1 - step / steps)
        optimiser.zero_grad()
        value = loss(*(column[chosen] for column in rows))
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step >= steps - max(1, steps // 10):
            last.append(value.detach())
    return float(torch.stack(last).mean())


def _joined(codes: Tensor, actions: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(codes.shape[:-1], actions.shape[:-1])  # type: ignore[no-untyped-call]
    around_zero = (actions - 0.5) * 12**0.5  # as spread as codes are
    return torch.cat([codes.expand(*shape, -1), around_zero.expand(*shape, -1)], dim=-1)
