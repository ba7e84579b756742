"""What latents know of the factors, as their sliders say it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.representation import Representation
from unknot.scoring.scoring import plan, scorecard

TO_SPEAK_OF = 0.1  # of a factor that a latent knows


def known_shares(representation: Representation) -> tuple[Floats, list[str]]:
    """The share (latents, factors that vary) of each factor that each latent knows, and the names of those factors."""
    rows = replace(representation, latents_test=None, factors_test=None, logvars=None, groups=None)
    card = scorecard(plan(rows, metrics=["mig"], null=0), [])
    factors = [verdict.factor for verdict in card.verdicts]
    return np.zeros((rows.latents.shape[1], 0)) if card.shares is None else card.shares, factors


def carried(shares: Floats, factors: Sequence[str], most: int) -> str:
    """The factors that a latent knows to a good part, of its shares of all of them; the best first.

    >>> carried(np.array([0.14, 0.62, 0.01]), ["shape", "x", "y"], 2)
    'x 62%, shape 14%'
    >>> carried(np.array([0.04, 0.01]), ["x", "y"], 2)
    'little of any factor'
    """
    best = np.argsort(-shares, kind="stable")[:most]
    told = [f"{factors[j]} {shares[j]:.0%}" for j in best if shares[j] >= TO_SPEAK_OF]
    return ", ".join(told) or ("little of any factor" if len(factors) else "")
