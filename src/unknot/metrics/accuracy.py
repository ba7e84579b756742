"""Accuracy on held-out rows: what guessing gets, and values adjusted for it (SNC paper, eq. 3 and 4)."""

from typing import Literal, get_args

import numpy as np

from unknot.errors import check_known
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import UNSEEN

Chance = Literal["proportional", "majority"]


def chance_level(codes: Ints, chance: str = "proportional") -> float:
    """Accuracy of guessing codes (n,) by their frequencies p: sum p^2 ("proportional") or max p ("majority").

    >>> chance_level(np.array([0, 0, 0, 1])), chance_level(np.array([0, 0, 0, 1]), "majority")
    (0.625, 0.75)
    """
    check_chance(chance)
    counts = np.bincount(codes - UNSEEN)
    shares = counts[counts > 0] / len(codes)
    return float(np.sum(shares**2) if chance == "proportional" else shares.max())


def chance_levels(factors: Ints, fallback: Ints, chance: str = "proportional") -> Floats:
    """Chance level of each column of factors (n, k), of `fallback` where a column is constant."""
    levels = [chance_level(column, chance) for column in factors.T]
    return np.array([r if r < 1 else chance_level(fallback[:, j], chance) for j, r in enumerate(levels)])


def adjusted(accuracy: Floats, level: Floats) -> Floats:
    """Accuracy above chance, max(0, (a - r) / (1 - r)): 0 at chance, 1 when all is right."""
    return np.maximum(0.0, (accuracy - level) / (1 - level))


def check_chance(chance: str) -> None:
    """Complain about a chance level that is not one."""
    check_known("chance", chance, get_args(Chance))
