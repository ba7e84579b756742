"""DCIMIG: what the factors' own latents know of them exclusively, as a share of all there is to know."""

from typing import Any

import numpy as np

from unknot.metrics.inputs import prepare
from unknot.metrics.known_information import factor_entropies, known_information
from unknot.metrics.score import Facts, Score


@Facts(
    title="DCIMIG (also 3CharM)",
    measures="holistic",
    bounds=(0.0, 1.0),
    chance="near 0, above it by the spread of the counting bias over factors (0.0003 for noise at 10,000 rows)",
    reference="Sepliarskaia et al. 2019, How to Not Measure Disentanglement, arXiv:1910.05587",
    identity=("bins",),
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    assumes=("independent factors", "evenly spread latents", "one latent for each factor", "latents that differ"),
)
def dcimig(latents: Any, factors: Any, *, bins: int | str = 20, bias_correction: bool = False) -> Score:
    """What the factors' own latents know of them exclusively, as a share of all there is to know.

    gap_i  = I(z_i; y_(1)) - I(z_i; y_(2)) over factors,   y_(1) the factor that latent i knows best
    DCIMIG = sum_j max( gap_i : i knows j best ) / sum_j H(y_j)        in [0, 1], 1 is best

    A factor that no latent knows best adds 0. Repeated latents do not lower the score.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; with one factor the next best counts
    as 0 and `parts["notes"]` says so.

    Args:
        latents: (n, d).
        factors: (n, k).
        bins: how many bins of equal width each latent gets, or "zero+10", see `mig`.
        bias_correction: subtract the bias (B - 1)(K - 1) / (2 n) from every I, never below 0.

    Returns:
        Score with `parts["per_factor"]` (k,), each factor's best gap over its entropy, `parts["per_latent"]` (d,)
        gaps and `parts["mutual_information"]` (d, k) in nats, and `parts["best_factor"]` (d,).

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(dcimig(factors * 1.0, factors).value, 6)
    1.0
    """
    rows = prepare("dcimig", latents, factors, as_is=True)
    information = known_information(rows, bins, correct=bias_correction).mutual
    ranked = np.sort(np.hstack([np.zeros((len(information), 1)), information]), axis=1)
    gaps = ranked[:, -1] - ranked[:, -2]
    factor = information.argmax(axis=1)
    best = np.zeros(rows.n_factors)
    np.maximum.at(best, factor, gaps)
    entropies = factor_entropies(rows)
    if rows.n_factors == 1:
        rows.notes.append("one factor only: there is no next best, so it counts as 0.")
    parts = {"per_factor": best / entropies, "mutual_information": information}
    value = best.sum() / entropies.sum()
    return rows.score(value, parts, per_latent=gaps, best_factor=rows.kept[factor], bins=bins)
