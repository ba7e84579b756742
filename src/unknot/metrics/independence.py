"""How far latents are from independent of one another; no labels needed, and nothing said about factors.

A rotated code of Gaussian latents is as good here as the code itself.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from unknot.metrics.arrays import WIDE, Floats
from unknot.metrics.covariance import covariance as covariance_of
from unknot.metrics.kernels.columns import width_edges, width_steps
from unknot.metrics.kernels.information import Codes, check_bins, contingency, equal_width, table_information
from unknot.metrics.latents import check_latents, dead, enough_rows
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread, side_by_side

REFERENCE = (
    "Locatello et al. 2019, Challenging Common Assumptions in the Unsupervised Learning of Disentangled "
    "Representations, arXiv:1811.12359"
)
BLOCK = 16  # latents counted against all others at once


_FACTS = Facts(
    title="Gaussian Wasserstein correlation",
    measures="independence",
    bounds=(0.0, float("inf")),
    chance="no labels; independent latents have 0",
    reference=REFERENCE,
    higher_is_better=False,
    invariances=frozenset({"rows", "latents", "sign", "shift"}),
    labels=False,
    scatters="squares",
    widest=6_000,
    power=3,
)


@replace(
    _FACTS,
    title="Gaussian total correlation",
    chance="no labels; independent latents have 0 (about d^2 / (4 n) by estimation noise)",
    invariances=_FACTS.invariances | {"scale"},
)
def gaussian_total_correlation(latents: Any, factors: Any = None) -> Score:
    """Total correlation of a Gaussian with the covariance of the latents, in nats.

    TC = ( sum_i log S_ii - log det S ) / 2        in [0, inf], 0 is best

    Edge cases: latents without variance are left out and named in `parts["notes"]`; a latent that is a linear
    function of others gives inf, which is the right value; fewer than two latents give 0.

    Args:
        latents: (n, d).
        factors: not used.

    Returns:
        Score with `parts["covariance"]` (d, d) of the latents that vary.

    >>> gaussian_total_correlation([[-1, -1], [-1, 1], [1, -1], [1, 1]]).value
    0.0
    """
    covariance, notes = _covariance("gaussian_total_correlation", latents)
    value = 0.0
    if len(covariance) > 1:
        scale = np.sqrt(np.diag(covariance))
        eigenvalues = _eigenvalues(covariance / np.outer(scale, scale))
        if eigenvalues[0] <= len(eigenvalues) * np.finfo(np.float64).eps * eigenvalues[-1]:
            value = float("inf")
            notes.append("the covariance is singular: a latent is a linear function of others.")
        else:
            value = max(0.0, float(-0.5 * np.log(eigenvalues).sum()))
    return Score(value, _parts(latents, covariance, notes))


@replace(_FACTS, units=True)
def gaussian_wasserstein_correlation(latents: Any, factors: Any = None) -> Score:
    """Squared Wasserstein distance from a Gaussian with the latents' covariance to one without correlations.

    W = 2 tr S - 2 tr( (D^(1/2) S D^(1/2))^(1/2) ),  D = diag S        in [0, 2 tr S), 0 is best

    It grows with the variance of the latents; `gaussian_wasserstein_correlation_norm` divides that out.

    Edge cases: latents without variance add nothing, are left out and named in `parts["notes"]`; fewer than two
    latents give 0.

    Args:
        latents: (n, d).
        factors: not used.

    Returns:
        Score with `parts["covariance"]` (d, d) of the latents that vary.

    >>> round(gaussian_wasserstein_correlation([[-1, -1], [1, 1]]).value, 6)
    2.343146
    """
    covariance, notes = _covariance("gaussian_wasserstein_correlation", latents)
    return Score(_wasserstein(covariance), _parts(latents, covariance, notes))


@replace(_FACTS, title="Gaussian Wasserstein correlation over total variance", bounds=(0.0, 2.0))
def gaussian_wasserstein_correlation_norm(latents: Any, factors: Any = None) -> Score:
    """`gaussian_wasserstein_correlation` divided by the total variance tr S.

    In [0, 2), 0 is best. Scaling all latents alike leaves it alone, scaling one of them does not.

    Edge cases: as `gaussian_wasserstein_correlation`; 0 if no latent varies.

    Args:
        latents: (n, d).
        factors: not used.

    Returns:
        Score with `parts["covariance"]` (d, d) of the latents that vary.

    >>> round(gaussian_wasserstein_correlation_norm([[-1, -1], [1, 1]]).value, 6)
    0.585786
    """
    covariance, notes = _covariance("gaussian_wasserstein_correlation_norm", latents)
    total = float(np.trace(covariance))
    value = _wasserstein(covariance) / total if total > 0 else 0.0
    return Score(value, _parts(latents, covariance, notes))


@replace(
    _FACTS,
    title="Mean mutual information of pairs of latents",
    chance="no labels; independent latents have 0 plus the counting bias (bins - 1)^2 / (2 n)",
    identity=("bins",),
    scatters="shares",
    doubt="right of some hundred rows (in simulations 2 to 7 of 100 equal pairs had p < 0.05), too sure of fewer than "
    "300 (12 of 150 rows)",
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    widest=2_500,
    power=2,
)
def mutual_info_score(
    latents: Any, factors: Any = None, *, bins: int = 20, bias_correction: bool = False
) -> Score:
    """Mean over pairs of latents of the mutual information of their equal-width bins, in nats.

    MIS = mean_(i != l) I(z_i; z_l)        in [0, log bins], 0 is best

    Edge cases: a latent without variance shares nothing with any other; one latent gives 0.

    Args:
        latents: (n, d).
        factors: not used.
        bins: how many bins of equal width each latent gets.
        bias_correction: subtract the bias (B - 1)(B' - 1) / (2 n) from every I, never below 0.

    Returns:
        Score with `parts["mutual_information"]` (d, d) in nats; its diagonal holds entropies (uncorrected).

    >>> round(mutual_info_score([[0, 0], [0, 0], [1, 1], [1, 1]]).value, 6)
    0.693147
    """
    check_bins(bins)
    z = enough_rows("mutual_info_score", check_latents("mutual_info_score", latents))
    if z.shape[1] > WIDE and bins <= 32:
        information = _wide_pairs(z, bins, bias_correction)
    else:
        information = _pairs(equal_width(z, bins), bins, bias_correction)
    between = information[~np.eye(len(information), dtype=bool)]
    parts = {"mutual_information": information, "bins": bins, "n_rows": len(z), "notes": []}
    return Score(float(between.mean()) if len(between) else 0.0, parts)


def _pairs(codes: Codes, bins: int, correct: bool) -> Floats:
    d = codes.shape[1]
    information = np.zeros((d, d))
    for start in range(0, d, BLOCK):
        block = codes[:, start : start + BLOCK].astype(np.int64)
        sizes = np.full(block.shape[1], bins, dtype=np.int64)
        tables = contingency(np.ascontiguousarray(codes[:, start:]), bins, block, sizes)
        part = table_information(tables, correct=correct)
        information[start:, start : start + BLOCK] = part
        information[start : start + BLOCK, start:] = part.T
    return information


def _wide_pairs(z: Floats, bins: int, correct: bool) -> Floats:
    """The same of latents (n, d), four of them counted at once, in the cache."""
    from unknot.metrics.kernels.pairs import cut_in_twos, entropy_terms, pair_information

    (n, d), twos = z.shape, -(-z.shape[1] // 2)
    codes, filled = np.empty((twos, n), dtype=np.uint16), np.empty((twos, bins**2), dtype=np.bool_)
    information, logs = np.empty((2 * twos, 2 * twos)), entropy_terms(n)

    def cut(start: int) -> None:
        columns, own = np.ascontiguousarray(z[:, start : start + BLOCK].T), slice(start // 2, (start + BLOCK) // 2)
        ends = columns.min(axis=1), columns.max(axis=1)
        edges, steps = width_edges(*ends, dead(columns.T, ends), bins), width_steps(*ends, bins)
        cut_in_twos(columns, edges, steps, codes[own], filled[own])

    def count(i: int) -> None:
        counts = np.zeros((bins**2, bins**2), dtype=np.uint16 if n < 2**16 else np.uint32)
        part = np.empty((2, 2 * (twos - i)))
        pair_information(codes[i:], filled[i:], bins, logs, correct, counts, part)
        information[2 * i : 2 * i + 2, 2 * i :] = part
        information[2 * i :, 2 * i : 2 * i + 2] = part.T

    side_by_side(cut, range(0, d, BLOCK))
    side_by_side(count, range(twos))
    return information[:d, :d]


def _eigenvalues(matrix: Floats) -> Floats:
    """Those of a symmetric matrix, by one thread: several wait for each other in vain where cores are shared."""
    with one_thread():
        return np.asarray(np.linalg.eigvalsh(matrix))


def _wasserstein(covariance: Floats) -> float:
    if len(covariance) < 2:
        return 0.0
    unit = 4.0 ** (
        np.frexp(covariance.max())[1] // 2
    )  # variances from 1e154 have no square; a power of 4 rounds nothing
    covariance = covariance / unit
    scale = np.sqrt(np.diag(covariance))
    eigenvalues = _eigenvalues(covariance * np.outer(scale, scale))
    roots = np.sqrt(np.maximum(eigenvalues, 0.0)).sum()
    return max(0.0, 2.0 * float(unit * (np.trace(covariance) - roots)))


def _covariance(who: str, latents: Any) -> tuple[Floats, list[str]]:
    """Covariance (ddof 1) of the latents that vary, and a note on those that do not."""
    z = enough_rows(who, check_latents(who, latents))
    covariance, _, gone = covariance_of(latents, z)
    notes = []
    if gone.any():
        notes.append(f"left out latent(s) without variance: {', '.join(map(str, np.flatnonzero(gone)))}.")
    if 1 < len(covariance) >= len(z):
        notes.append(f"{len(z)} rows for {len(covariance)} latents: the covariance cannot have full rank.")
    return covariance, notes


def _parts(latents: Any, covariance: Floats, notes: list[str]) -> dict[str, Any]:
    return {"covariance": covariance, "n_rows": len(latents), "notes": notes}
