"""MIG-sup: how much more each latent knows about its best factor than about the next."""

from typing import Any

import numpy as np

from unknot.metrics.latents import dead_latents
from unknot.metrics.mig import How, Normaliser, shared_information
from unknot.metrics.score import Facts, Score


@Facts(
    title="Mutual information gap per latent (MIG-sup)",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="near 0, above it by the spread of the counting bias over factors (0.0005 for noise at 10,000 rows)",
    reference="Li et al. 2020, Progressive Learning and Disentanglement of Hierarchical Representations, "
    "arXiv:2002.10549",
    identity=("bins", "neighbours", "corrected"),
    instead_of={"neighbours": "bins"},
    continuous={"neighbours": 3},
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    assumes=(
        "independent factors",
        "evenly spread latents",
        "informed latents",
        "one latent for each factor",
        "many rows",
    ),
)
def mig_sup(
    latents: Any,
    factors: Any,
    *,
    bins: int | str = 20,
    neighbours: int | None = None,
    normaliser: Normaliser = "factor",
    bias_correction: bool = False,
    corrected: bool = False,
) -> Score:
    """How much more each latent knows about its best factor than about the next: MIG turned by ninety degrees.

    MIG-sup = mean_i [ S_i(1) - S_i(2) ],    S_ij = I(z_i; y_j) / H(y_j)        in [0, 1], 1 is best

    Where MIG punishes a factor spread over latents, MIG-sup punishes a latent shared by factors; a code that
    repeats every latent keeps its score.

    Edge cases: latents without variance are left out of the mean (the authors average over active units), and
    `parts["notes"]` names them; if all are dead the score is 0. With one factor there is no gap: NaN and a note.

    Args:
        latents: (n, d).
        factors: (n, k).
        bins: how many bins of equal width each latent gets, "auto" or "zero+10", see `mig`.
        neighbours: information from nearest neighbours instead of bins: latents and measurements stay real numbers,
            `mig_sup[neighbours=3]`; see `mig`.
        normaliser: "factor" divides by H(y_j), as the authors; "code" by the entropy of the binned latent, as the
            code of Zaidi et al. 2022 does.
        bias_correction: subtract the bias (B - 1)(K - 1) / (2 n) from every I, never below 0.
        corrected: for few rows: what a latent knows of a factor is (I - E) / (H(y_j) - E), never below 0, where E is
            what I would be, on average, with labels of other rows (Vinh et al. 2010): 0 for noise and 1 for all that
            is to be known, at any number of rows.

    Returns:
        Score with `parts["per_latent"]` (d,), NaN where left out, `parts["mutual_information"]` (d, k) in nats and
        `parts["best_factor"]` (d,), the column of the factor each latent knows best.

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(mig_sup(np.hstack([factors, factors]) * 1.0, factors).value, 6)
    1.0
    """
    how = How(bins, neighbours, normaliser, bias_correction, corrected)
    rows, information, shares = shared_information("mig_sup", latents, factors, how)
    gone, per_latent = np.zeros(len(shares), dtype=np.bool_), np.full(len(shares), np.nan)
    gone[dead_latents(rows.latents)] = True
    if rows.n_factors == 1:
        value = float("nan")
        rows.notes.append("one factor only: a latent cannot know another one, and the gap is undefined.")
    else:
        ranked = np.sort(shares, axis=1)
        per_latent[~gone] = (ranked[:, -1] - ranked[:, -2])[~gone]
        value = 0.0 if gone.all() else float(per_latent[~gone].mean())
    if gone.any():
        rows.notes.append(f"left out latent(s) without variance: {', '.join(map(str, np.flatnonzero(gone)))}.")
    return rows.score(
        value,
        {"mutual_information": information},
        per_latent=per_latent,
        best_factor=rows.kept[shares.argmax(axis=1)],
        bins=bins,
        normaliser=normaliser,
    )
