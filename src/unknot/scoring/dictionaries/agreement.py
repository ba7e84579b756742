"""Whether other dictionaries, trained from other seeds, find the same directions and the same codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.latents import check_latents
from unknot.metrics.matching import match_directions
from unknot.metrics.udr import informative, udr_scores
from unknot.progress import Progress, silent, within
from unknot.scoring.dictionaries.latents import firing, rates

WIDEST = 1_024  # latents of which a Lasso for each still takes seconds
ROWS = 5_000  # enough to compare codes on


@dataclass(frozen=True)
class Agreement:
    """How alike two dictionaries are.

    Attributes:
        first: a dictionary.
        second: another one.
        mcc: mean size of the cosines of their directions, matched one to one as well as possible.
        bound: no matching has a larger mean.
        exact: whether `mcc` reaches it, up to single precision.
        udr: how nearly each latent of one is one of the other by their codes of the same rows, both ways; None where
            codes are missing, or too wide.
    """

    first: str
    second: str
    mcc: float
    bound: float
    exact: bool
    udr: float | None = None


def agreements(
    directions: dict[str, NDArray[np.float32]], codes: Sequence[Any] = (), progress: Progress = silent
) -> tuple[list[Agreement], list[str]]:
    """Compare every two dictionaries; also says what was left out.

    Args:
        directions: name -> (d, w) of length 1.
        codes: of the same rows by each of them (n, d), or none.
        progress: told how many directions were compared.
    """
    scores, notes = _udr(codes)
    result = []
    for (i, first), (j, second) in combinations(enumerate(directions), 2):
        found = match_directions(
            directions[first], directions[second], progress=within(progress, f"{first} and {second}")
        )
        both = None if scores is None else float((scores[i, j] + scores[j, i]) / 2)
        result.append(Agreement(first, second, found.mean, found.bound, found.exact, both))
    return result, notes


def _udr(codes: Sequence[Any]) -> tuple[NDArray[np.float64] | None, list[str]]:
    """UDR of every ordered pair of codes; None, with the reason, where it would take too long."""
    if not codes:
        return None, []
    alive = [np.flatnonzero(rates(firing(z))) for z in codes]
    widest = max(map(len, alive))
    if widest > WIDEST:
        return None, [f"UDR was left out: {widest} latents fire, and it compares up to {WIDEST}."]
    models = []
    for z, latents in zip(codes, alive, strict=True):
        rows = check_latents("dictionary_card", z[:ROWS][:, latents])
        spread = rows.std(axis=0)
        models.append(informative(rows / np.where(spread > 0, spread, 1.0)))  # rare latents count like any other
    scores, n = np.full((len(codes), len(codes)), np.nan), len(codes)
    scores[~np.eye(n, dtype=np.bool_)] = udr_scores(models)
    return scores, []
