"""MCC: mean correlation of each factor with the latent matched to it."""

from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import check_known
from unknot.metrics.arrays import Floats
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.latents import dead
from unknot.metrics.ranks import average_ranks, correlation
from unknot.metrics.score import Facts, Score

Mode = Literal["pearson", "spearman", "affine"]


@Facts(
    title="Mean correlation coefficient",
    measures="holistic",
    bounds=(0.0, 1.0),
    chance="above 0: the best of d correlations of noise, each about 1 / sqrt(n)",
    reference="Hyvarinen and Morioka 2016, Unsupervised Feature Extraction by Time-Contrastive Learning and "
    "Nonlinear ICA, arXiv:1605.06336; affine: Khemakhem et al. 2020, ICE-BeeM, arXiv:2002.11537",
    cost="instant",
    identity=("mode",),
    invariances=frozenset({"rows", "latents", "sign", "scale", "shift"}),
    assumes=("ordered classes", "as many latents as factors", "unmixed latents", "one latent for each factor"),
    version=2,
)
def mcc(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    mode: Mode = "pearson",
    rng: Rng = 0,
) -> Score:
    """Mean correlation of each factor with the latent matched to it, up to sign.

    MCC = (1/k) max_f sum_j | corr(z_f(j), y_j) |,    f injective: a linear assignment of factors to latents

    in [0, 1], 1 is best. "pearson": every factor is an affine function of its own latent. "spearman": a monotone
    one. "affine": of all latents together; an affine map from latents to factors is fitted by least squares on the
    training rows, and its outputs are matched with the factors on the test rows, so rotations do not matter.
    Meant for ordered factors: the order of a categorical factor's numbers is an accident, and so is its correlation.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; a latent without variance correlates
    with nothing; with fewer latents than factors the factors left over count as 0, and `parts["notes"]` names them.

    Args:
        latents: (n, d).
        factors: (n, k) whole or real numbers.
        latents_test: held-out latents, used by "affine" only; a third of the rows is split off where missing.
        factors_test: held-out factors.
        mode: "pearson", "spearman" or "affine".
        rng: decides the split.

    Returns:
        Score with `parts["per_factor"]` (k,), `parts["matched_latent"]` (k,), -1 where none is left ("affine": the
        output of the map, one per factor), and `parts["correlation"]` (d, k), signed.

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(mcc(-2.0 * factors[:, ::-1], factors).value, 6)
    1.0
    >>> round(mcc(factors @ [[1, 1], [1, -1]], factors, mode="affine").value, 6)
    1.0
    """
    from scipy.optimize import linear_sum_assignment

    check_known("mode of mcc", mode, get_args(Mode))
    affine = mode == "affine"
    of_split = rng if affine else None
    rows = prepare("mcc", latents, factors, latents_test, factors_test, rng=of_split, continuous="keep")
    rows.note_numbers("used as real numbers")
    matrix = _affine(rows) if affine else _correlation(rows, mode)
    latent, factor = linear_sum_assignment(np.abs(matrix), maximize=True)
    matched = np.full(rows.n_factors, -1)
    matched[factor] = latent
    per_factor = np.zeros(rows.n_factors)
    per_factor[factor] = np.abs(matrix[latent, factor])
    if len(factor) < rows.n_factors:
        names = ", ".join(rows.names[rows.kept[j]] for j in np.flatnonzero(matched < 0))
        rows.notes.append(f"{len(matrix)} latent(s) for {rows.n_factors} factors: {names} counted as 0.")
    parts = {"per_factor": per_factor, "matched_latent": matched, "correlation": matrix}
    return rows.score(per_factor.mean(), parts, mode=mode)


def _correlation(rows: Rows, mode: Mode) -> Floats:
    z = rows.latents
    gone = dead(z)
    if mode == "spearman":
        matrix = correlation(average_ranks(z), average_ranks(rows.numbers))
    else:
        matrix = correlation(z, rows.numbers)
    matrix[gone] = 0.0  # rounding noise has ranks, too
    return matrix


def _affine(rows: Rows) -> Floats:
    from unknot.metrics._logistic import standardised

    z, z_test = standardised(rows.latents, rows.held_out.latents)
    weights, *_ = np.linalg.lstsq(z, rows.numbers - rows.numbers.mean(axis=0), rcond=None)
    return correlation(z_test @ weights, rows.held_out.numbers)
