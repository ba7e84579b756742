"""Hyper-parameters of a reasoner, and the spaces they are drawn from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from unknot.errors import UnknotError

Optimiser = Literal["muon", "adam"]
Search = Literal["cpu", "paper"]


@dataclass(frozen=True)
class WReNSetting:
    """Hyper-parameters of WReN and its training; the defaults are a small one that a CPU can teach the whole rule.

    The published network has `norm` False and `optimiser` "adam". On puzzles with hard answers it learns shortcuts for
    as long as we had patience: six answers differ by little in sums of 81, so f soon no longer bends, and a sum of
    pairs cannot say "if". With normalised sums it finds the rule of the third row, and with Muon, which gives weak
    directions of a gradient the same length as strong ones, that of all three.

    Attributes:
        lr: learning rate.
        g_width: units of each layer of g.
        g_depth: layers of g, two at least.
        f_width: units of each hidden layer of f.
        f_depth: hidden layers of f.
        dropout: share of the last hidden layer that is dropped in training.
        norm: whether the sum over pairs is normalised before f (a layer norm).
        optimiser: "muon" for the matrices of g and f, Adam for the rest; or "adam" for all.
    """

    lr: float = 0.01
    g_width: int = 128
    g_depth: int = 2
    f_width: int = 256
    f_depth: int = 2
    dropout: float = 0.0
    norm: bool = True
    optimiser: Optimiser = "muon"


PUBLISHED: Mapping[str, Any] = {"norm": False, "optimiser": "adam"}
# 288 settings, van Steenkiste et al. 2019, appendix C; and the 48 of them that are cheap enough for a CPU.
PAPER: Mapping[str, Sequence[float]] = {
    "lr": (0.01, 0.001, 0.0001),
    "g_width": (256, 512),
    "g_depth": (2, 3, 4),
    "f_width": (128, 256),
    "f_depth": (1, 2),
    "dropout": (0.0, 0.25, 0.5, 0.75),
}
SEARCH: Mapping[Search, Mapping[str, Sequence[float]]] = {
    "paper": PAPER,
    "cpu": {**PAPER, "g_width": (256,), "g_depth": (2,)},
}


def draw_settings(n: int, seed: int, search: Search = "paper") -> list[WReNSetting]:
    """Some different settings of a search space, each equally likely; the same for every representation.

    >>> draw_settings(1, 0)
    [WReNSetting(lr=0.01, g_width=256, g_depth=4, f_width=128, f_depth=2, dropout=0.75, norm=False, optimiser='adam')]
    """
    space = SEARCH[search]
    combinations: list[dict[str, Any]] = [
        dict(zip(space, values, strict=True)) for values in product(*space.values())
    ]
    if not 1 <= n <= len(combinations):
        raise UnknotError(
            f"reasoning: {n} draws; the search space '{search}' has {len(combinations)} settings.", field="draws"
        )
    chosen = np.random.default_rng([seed, 288]).permutation(len(combinations))[:n]
    return [WReNSetting(**combinations[i], **PUBLISHED) for i in chosen]
