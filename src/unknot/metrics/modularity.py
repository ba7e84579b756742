"""Modularity: whether each latent knows about one factor only."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.known_information import known_information
from unknot.metrics.mig import How, shared_information
from unknot.metrics.score import Facts, Score


@Facts(
    title="Modularity",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="not 0: estimation noise is compared with its own maximum (0.62 for noise with five factors); "
    "min_mi takes such latents out",
    reference="Ridgeway and Mozer 2018, Learning Deep Disentangled Embeddings with the F-Statistic Loss, "
    "arXiv:1802.05312",
    identity=("bins", "neighbours"),
    instead_of={"neighbours": "bins"},
    continuous={"neighbours": 3},
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    assumes=("informed latents", "unmixed latents"),
)
def modularity(
    latents: Any,
    factors: Any,
    *,
    bins: int | str = 20,
    neighbours: int | None = None,
    min_mi: float = 0.0,
    bias_correction: bool = False,
) -> Score:
    """Whether each latent knows about one factor only.

    modularity = mean_i [ 1 - sum_(j != *) M_ij^2 / ( M_i*^2 (k - 1) ) ],    M_ij = I(z_i; y_j),  * = argmax_j M_ij

    in [0, 1], 1 is best. It does not ask how much a latent knows: squared estimation noise over its own maximum
    scores high, the more so the more factors there are, so pure noise can beat a real model. Read it beside an
    informativeness score, or set `min_mi`.

    Edge cases: a latent that knows nothing scores 0; constant factors would raise the score and are left out, listed
    in `parts["skipped"]`; with one factor the score is undefined: NaN and a note.

    Args:
        latents: (n, d).
        factors: (n, k).
        bins: how many bins of equal width each latent gets, or "zero+10", see `mig`.
        neighbours: information from nearest neighbours instead of bins: latents and measurements stay real numbers,
            `modularity[neighbours=3]`; see `mig`.
        min_mi: latents whose largest bias-corrected M_ij is below this many nats count as knowing nothing.
        bias_correction: subtract the bias (B - 1)(K - 1) / (2 n) from every I, never below 0.

    Returns:
        Score with `parts["per_latent"]` (d,), `parts["mutual_information"]` (d, k) in nats and
        `parts["best_factor"]` (d,), the column of the factor each latent knows best.

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(modularity(np.hstack([factors, factors]) * 1.0, factors).value, 6)
    1.0
    """
    if not min_mi >= 0:
        raise UnknotError(f"modularity: min_mi is {min_mi}; expected nats, at least 0.")
    how = How(bins, neighbours, "factor", bias_correction)
    rows, information, _ = shared_information("modularity", latents, factors, how)
    most = information.max(axis=1)
    alive = most > 0
    if min_mi > 0:
        weak = most < min_mi
        if neighbours is None and not bias_correction:
            weak = known_information(rows, how.bins_of(rows), correct=True).mutual.max(axis=1) < min_mi
        alive &= ~weak
        if weak.any():
            named = ", ".join(map(str, np.flatnonzero(weak)))
            rows.notes.append(f"latent(s) below min_mi = {min_mi} nats count as knowing nothing: {named}.")
    per_latent = np.zeros(len(information))
    if rows.n_factors == 1:
        per_latent[:] = np.nan
        rows.notes.append("one factor only: modularity compares factors and is undefined.")
    else:
        relative = (information[alive] / most[alive, None]) ** 2
        per_latent[alive] = 1.0 - (relative.sum(axis=1) - 1.0) / (rows.n_factors - 1)
    best = rows.kept[information.argmax(axis=1)]
    parts = {"mutual_information": information}
    return rows.score(per_latent.mean(), parts, per_latent=per_latent, best_factor=best, bins=bins)
