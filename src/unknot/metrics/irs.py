"""IRS: how little a latent moves when only factors other than its own change."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rows, prepare
from unknot.metrics.latents import dead, extent
from unknot.metrics.score import Facts, Score


@Facts(
    title="Interventional robustness score",
    measures="robustness",
    bounds=(-1.0, 1.0),
    chance="not 0: about 0.4 for noise at quantile 0.99; at quantile 1 it falls as rows are added",
    reference="Suter et al. 2019, Robustly Disentangled Causal Mechanisms, arXiv:1811.00007",
    identity=("quantile",),
    invariances=frozenset({"rows", "latents", "sign", "shift"}),
    assumes=("informed latents", "unmixed latents"),
    scatters="extremes",
    doubt="right of latents with normal tails (in simulations 4 of 100 equal pairs had p < 0.05), a little too sure "
    "of heavier tails (7), too careful of latents with bounds (2)",
)
def irs(
    latents: Any, factors: Any, *, quantile: float = 0.99, weighted: bool = False, rebin: int | None = None
) -> Score:
    """How little each latent moves, at worst, while the factor it follows best is held fixed.

    IRS_ij = 1 - mean_g q-quantile{ |z_i - mean(z_i | y_j = g)| : y_j = g } / max |z_i - mean z_i|
    IRS_i = max_j IRS_ij,     IRS = average of IRS_i weighted by max |z_i - mean z_i|

    At most 1; not bounded by 0: a skewed group can lie further from its own mean than from the mean of all rows
    (-0.25 for the toy code M1). With quantile 1, groups of few rows look robust, so that the score falls as
    the sample grows; latents of a large range dominate.

    Edge cases: latents without variance are left out of the average (NaN in `parts["per_latent"]`); 0 if there is no
    other; constant factors are left out and listed in `parts["skipped"]`.
    Departs from the public code, which cuts factors into 20 bins of equal width and so merges the values of larger
    ones: `rebin=20` does that. The paper takes quantile 1 and weights values by their frequency (`weighted=True`).

    Args:
        latents: (n, d).
        factors: (n, k) classes; real numbers are cut into bins.
        quantile: q, in (0, 1].
        weighted: average over the values of a factor by how often they occur.
        rebin: cut every factor into this many bins of equal width first.

    Returns:
        Score with `parts["robustness"]` (d, k), `parts["per_latent"]`, `parts["parents"]` (the factor each latent
        follows best, -1 for dead ones) and `parts["weights"]`.

    >>> factors = np.stack(np.meshgrid(range(4), range(5)), axis=-1).reshape(-1, 2)
    >>> irs(factors * 1.0, factors).value
    1.0
    """
    if not 0 < quantile <= 1:
        raise UnknotError(f"irs: quantile is {quantile}; expected a number in (0, 1] (public code uses 0.99).")
    rows = prepare("irs", latents, factors, continuous="bin" if rebin is None else "keep")
    low, high = extent(rows.latents)
    alive = np.flatnonzero(~dead(rows.latents, (low, high)))
    columns = np.ascontiguousarray(rows.latents.T[alive])
    mean = rows.latents.mean(axis=0)
    norm = np.maximum(high - mean, mean - low)  # max |z_i - mean z_i|
    matrix = np.zeros((rows.latents.shape[1], rows.n_factors))
    for j in range(rows.n_factors):
        matrix[alive, j] = 1 - _effect(columns, _codes(rows, j, rebin), quantile, weighted) / norm[alive]
    per_latent = np.full(len(matrix), np.nan)
    per_latent[alive] = matrix[alive].max(axis=1)
    parents = np.full(len(matrix), -1)
    parents[alive] = rows.kept[matrix[alive].argmax(axis=1)]
    if len(alive) < len(matrix):
        rows.notes.append(f"{len(matrix) - len(alive)} latent(s) without variance left out of the average.")
    value = np.average(per_latent[alive], weights=norm[alive]) if len(alive) else 0.0
    weights = np.where(np.isnan(per_latent), 0.0, norm)
    return rows.score(value, {"robustness": matrix}, per_latent=per_latent, parents=parents, weights=weights)


def _codes(rows: Rows, j: int, rebin: int | None) -> Ints:
    if rebin is None:
        return rows.factors[:, j]
    if rebin < 1:
        raise UnknotError(f"irs: rebin is {rebin}; expected at least 1 bin, or None to keep the values.")
    edges = np.histogram_bin_edges(rows.numbers[:, j], rebin)[:-1]
    return np.unique(np.digitize(rows.numbers[:, j], edges), return_inverse=True)[1].astype(np.int64)


def _effect(columns: Floats, codes: Ints, quantile: float, weighted: bool) -> Floats:
    """E_ij of one factor for latents (d, n): mean over its values of the deviation within the value."""
    from unknot.metrics.kernels.deviations import group_deviations

    counts = np.bincount(codes)
    # Small codes sort by counting, in linear time.
    order = np.argsort(codes.astype(np.int16) if len(counts) < 2**15 else codes, kind="stable")
    ends = np.cumsum(counts)
    weights = counts / len(codes) if weighted else np.full(len(counts), 1 / len(counts))
    return np.array([group_deviations(column, order, ends, quantile) @ weights for column in columns])
