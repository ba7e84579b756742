"""JEMMIG: the information gap, less what the best latent says beyond the factor."""

from typing import Any

import numpy as np

from unknot.metrics.inputs import prepare
from unknot.metrics.kernels.columns import Binning
from unknot.metrics.known_information import factor_entropies, known_information
from unknot.metrics.score import Facts, Score

TIED = 1e-12  # of what latents know, counted in another order


@Facts(
    title="Joint entropy minus mutual information gap (JEMMIG), normalised",
    measures="holistic",
    bounds=(0.0, 1.0),
    chance="above 0 for latents that fill their bins unevenly (0.13 for Gaussian noise): "
    "1 - (H(z) + H(y)) / (log bins + H(y))",
    reference="Do and Tran 2020, Theory and Evaluation Metrics for Learning Disentangled Representations, "
    "arXiv:1908.09961",
    per_factor=True,
    identity=("bins",),
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    version=2,
    assumes=("one latent for each factor", "latents that differ"),
)
def jemmig(latents: Any, factors: Any, *, bins: int | str = 20) -> Score:
    """The information gap, less what the best latent says beyond the factor.

    JEMMIG = mean_j [ 1 - ( H(z_(1), y_j) - I(z_(1); y_j) + I(z_(2); y_j) ) / ( H(y_j) + log B ) ]

    in [0, 1], 1 is best: the best latent determines its factor, is determined by it, and no other latent knows
    anything of it. Unlike MIG it falls when the best latent carries something else as well. B is `bins`; the
    denominator is the largest joint entropy possible, so that the score rises with quality (the authors' raw
    value falls).

    Edge cases: constant factors are left out of the mean and listed in `parts["skipped"]`; with one latent the
    runner-up counts as 0 and `parts["notes"]` says so; if all latents are dead H(z) = 0, and the floor is
    1 - H(y) / (H(y) + log B), not 0.

    Args:
        latents: (n, d).
        factors: (n, k).
        bins: how many bins of equal width each latent gets, or "zero+10", see `mig`.

    Returns:
        Score with `parts["per_factor"]` (k,), `parts["mutual_information"]` (d, k) and `parts["joint_entropy"]`
        (d, k) in nats, and `parts["best_latent"]` (k,).

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(jemmig(factors * 1.0, factors).value, 6)
    1.0
    """
    rows = prepare("jemmig", latents, factors, as_is=True, gaps=True)
    known = known_information(rows, bins)
    entropies = factor_entropies(rows)
    information, joint = known.mutual, known.entropy + entropies - known.mutual
    largest = information.max(axis=0)
    tied = information >= largest - TIED * (1 + largest)
    best = np.where(tied, joint, np.inf).argmin(axis=0)  # of equals the one that says least else
    ranked = np.sort(np.vstack([np.zeros(rows.n_factors), information]), axis=0)
    raw = joint[best, np.arange(rows.n_factors)] - ranked[-1] + ranked[-2]
    most = entropies + np.log(Binning.of(bins).total)
    per_factor = 1.0 - raw / most
    if len(information) == 1:
        rows.notes.append("one latent only: there is no runner-up, so it counts as knowing nothing.")
    parts = {
        "per_factor": per_factor,
        "mutual_information": information,
        "joint_entropy": joint,
        "best_latent": best,
    }
    return rows.score(per_factor.mean(), parts, bins=bins)
