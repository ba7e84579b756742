"""In words: which latent carries each factor, how well, and how exclusively.

Read off the mutual information of every latent with every factor (20 equal-width bins, corrected for the bias
of counting), as a share of what there is to know about the factor.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.inputs import UNKNOWN, Rows
from unknot.metrics.kernels.columns import binned_information
from unknot.metrics.kernels.information import factor_entropy
from unknot.metrics.known_information import known_information

BINS = 20
FOUND, PARTLY, CLEARLY = 0.05, 0.3, 0.8  # share of a factor's entropy that its best latent knows
TAIL = 0.005  # of the rows, on either side, by which outliers are told
NOISE = 0.01  # of factors that no latent knows, seem known by chance
SHARED = 0.25  # a second latent that knows this much of what the best one knows shares the factor
ALSO = 0.25  # another factor the latent knows this well, beside the one it knows best, is carried too


@dataclass(frozen=True)
class Verdict:
    """Where one factor is to be found.

    Attributes:
        factor: its name.
        latent: the latent that knows most about it; None if none knows anything.
        share: I(latent; factor) / H(factor), in [0, 1].
        gap: how much of H(factor) the best latent knows beyond the runner-up.
        exclusivity: how much of what the latent knows is about this factor, in [0, 1].
        text: all of this in a few words.
    """

    factor: str
    latent: int | None
    share: float
    gap: float
    exclusivity: float
    text: str


def information_shares(rows: Rows) -> Floats:
    """Mutual information (d, k) as a share of each varying factor's entropy, corrected for bias.

    Where labels are missing, each factor is looked at in the rows that have it.
    """
    there = rows.factors != UNKNOWN
    if rows.latents.shape[1] > WIDE:
        return known_information(rows, BINS, correct=True).mutual / factor_entropy(rows.factors, rows.sizes)
    if there.all():
        return _shares(rows.latents, rows.factors, rows.sizes)
    columns = [
        _shares(rows.latents[there[:, j]], rows.factors[there[:, j], j : j + 1], rows.sizes[j : j + 1])
        for j in range(rows.n_factors)
    ]
    return np.hstack(columns)


def _shares(latents: Floats, factors: Ints, sizes: Ints) -> Floats:
    information = binned_information(_without_outliers(latents), factors, sizes, BINS, correct=True).mutual
    shares: Floats = information / factor_entropy(factors, sizes)
    return shares


def _without_outliers(latents: Floats) -> Floats:
    """Latents with values far outside of where nearly all are moved in, so that one of them does not empty all bins."""
    low, high = np.quantile(latents, (TAIL, 1 - TAIL), axis=0)
    span = high - low
    low, high = np.where(span > 0, low - span, -np.inf), np.where(span > 0, high + span, np.inf)
    outside = (latents < low).any() or (latents > high).any()
    return np.clip(latents, low, high) if outside else latents


def least_shares(rows: Rows, n_latents: int) -> Floats:
    """What the best of so many latents must know of each factor (k,) to be told from noise: one in a hundred fails.

    Twice the number of rows times the information of a latent that knows nothing is chi-squared.
    """
    from scipy.special import chdtri

    n = (rows.factors != UNKNOWN).sum(axis=0)
    freedom = (BINS - 1) * (rows.sizes - 1)
    excess = (chdtri(freedom, NOISE / n_latents) - freedom) / (2 * n)
    entropy = np.array([factor_entropy(y[y != UNKNOWN][:, None], size[None])[0] for y, size in _columns(rows)])
    least: Floats = np.maximum(FOUND, excess / entropy)
    return least


def _columns(rows: Rows) -> Iterator[tuple[Ints, Ints]]:
    return zip(rows.factors.T, rows.sizes, strict=True)


def verdicts(shares: Floats, names: Sequence[str], least: Floats | None = None) -> list[Verdict]:
    """One verdict for each column of `information_shares`; below `least` (k,) a factor is in no single latent."""
    least = np.full(shares.shape[1], FOUND) if least is None else least
    return [_verdict(shares, j, names, float(least[j])) for j in range(shares.shape[1])]


def _verdict(shares: Floats, j: int, names: Sequence[str], least: float) -> Verdict:
    order = np.argsort(-shares[:, j], kind="stable")
    best = int(order[0])
    share = float(shares[best, j])
    second = float(shares[order[1], j]) if len(order) > 1 else 0.0
    exclusivity = share / float(shares[best].sum()) if share > 0 else 0.0
    if share < least:
        return Verdict(names[j], None, share, share - second, exclusivity, "in no single latent")
    how = "clearly" if share >= CLEARLY else "partly" if share >= PARTLY else "weakly"
    sharers = [f"z{i}" for i in order[1:3] if shares[i, j] >= SHARED * share]
    alone = f"shared with {' and '.join(sharers)}" if sharers else "alone"
    others = [names[f] for f in np.argsort(-shares[best]) if f != j and shares[best, f] >= ALSO * share]
    also = f"; z{best} also carries {', '.join(others[:2])}" if others else ""
    return Verdict(names[j], best, share, share - second, exclusivity, f"z{best} {how}, {alone}{also}")
