"""The optimisers of a training run: what a model's players ask for."""

from collections.abc import Sequence

import torch
from torch import nn

from unknot.errors import unknown
from unknot.models.model import Player

OPTIMISERS = ("adam", "sgd", "rmsprop")


def optimiser_of(player: Player, moved: Sequence[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    """The optimiser of a player.

    Args:
        player: asks for a kind, and for its settings.
        moved: the parameters it moves.
        lr: the learning rate before any schedule, unless the player has its own.
    """
    rate = player.lr or lr
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in moved)
    if player.optimiser == "adam":
        return torch.optim.Adam(moved, lr=rate, betas=player.betas, eps=1e-8, fused=fused)
    if player.optimiser == "sgd":
        return torch.optim.SGD(
            moved, lr=rate, momentum=player.momentum, weight_decay=player.weight_decay, fused=fused
        )
    if player.optimiser == "rmsprop":
        return torch.optim.RMSprop(moved, lr=rate)
    raise unknown(f"optimiser of player '{player.name}'", player.optimiser, OPTIMISERS)


def set_rate(optimiser: torch.optim.Optimizer, player: Player, lr: float, step: int, share: float) -> None:
    """Set the learning rate of a step: a share of the player's own, or of the run's, times the player's schedule.

    The rate is a function of the step alone, so that a resumed run goes on as one that was never stopped.
    """
    own = player.schedule(step) if player.schedule is not None else 1.0
    for group in optimiser.param_groups:
        group["lr"] = (player.lr or lr) * share * own
