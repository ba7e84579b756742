"""OMES: which latents move when one factor alone changes, and do they move for that one only?"""

from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.score import Facts, Score

Pooling = Literal["average", "max"]
FEWEST = 10  # pairs that a correlation needs to say anything


@Facts(
    title="Overlap and multiple encoding score (OMES)",
    measures="holistic",
    bounds=(0.0, 1.0),
    chance="not 0: (1 / factors + 1 / latents) / 2 for noise, which moves with every factor",
    reference="Dapueto et al. 2024, Transferring Disentangled Representations: Bridging the Gap between Synthetic and "
    "Real Images, arXiv:2409.18017",
    identity=("pooling",),
    invariances=frozenset({"latents", "sign", "shift"}),
    units=True,
    asked=True,
)
def omes(
    latents: Any,
    factors: Any,
    *,
    alpha: float = 0.5,
    pooling: Pooling = "average",
    pairs: int = 100_000,
    threshold: float = 0.05,
    rng: Rng = 0,
) -> Score:
    """How well latents that move with a factor are kept from the others (overlap), and it from other latents.

    S_ij   = 1 - | corr(z_i, z'_i) |                    over pairs of rows that differ in factor j alone
    OS_ij  = 1 - mean_l | [l = j] - S_il |              overlap: does latent i move for factor j only?
    MES_ij = 1 - mean_m | [m = i] - S_mj |              multiple encoding: does factor j move latent i only?
    OMES   = mean_j sum_i w_ij S_ij ( alpha OS_ij + (1 - alpha) MES_ij ),    w_ij = S_ij / sum_m S_mj

    In [0, 1], 1 is best. With pooling "max" the best latent of each factor counts instead of the average.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; a latent whose standard deviation is
    below `threshold` takes no part; 0 for a factor that moves no latent; fewer than ten pairs of a factor are an error.
    Two rows that differ in a factor never share its value, so that even a perfect latent has the correlation
    -1 / (K - 1) among its pairs and S = 1 - 1 / (K - 1): 0 for a factor of two values, as in the public code, and a
    note says so.

    Args:
        latents: (n, d).
        factors: (n, k) classes; real numbers are cut into bins.
        alpha: weight of the overlap score.
        pooling: over latents, "average" or "max".
        pairs: drawn for each factor, if there are more.
        threshold: smallest standard deviation of an active latent.
        rng: draws the pairs.

    Returns:
        Score with `parts["association"]` S (d, k), NaN for inactive latents, `parts["overlap"]` and
        `parts["multiple_encoding"]` (k,), and `parts["per_factor"]`.

    >>> factors = np.stack(np.meshgrid(range(3), range(3)), axis=-1).reshape(-1, 2)
    >>> round(omes(factors * 1.0, factors).value, 6)
    0.375
    """
    check_known("pooling of omes", pooling, get_args(Pooling))
    if not 0 <= alpha <= 1 or pairs < FEWEST or threshold < 0:
        raise UnknotError(
            f"omes: alpha is {alpha}, pairs {pairs}, threshold {threshold}; expected a share in [0, 1], at least "
            f"{FEWEST} and 0 or more."
        )
    rows = prepare("omes", latents, factors)
    active = rows.latents.std(axis=0, ddof=1) >= max(threshold, 1e-12)
    generator = np.random.default_rng(rng)
    association = np.stack(
        [_association(rows, j, active, pairs, generator) for j in range(rows.n_factors)], axis=1
    )
    overlap, encoding = _overlap(association), _overlap(association.T).T
    of_factor = [_pooled(part, association, pooling) for part in (overlap, encoding)]
    per_factor = alpha * of_factor[0] + (1 - alpha) * of_factor[1]
    two = [rows.names[j] for j, size in zip(rows.kept, rows.sizes, strict=True) if size == 2]
    if two:
        rows.notes.append(f"factor(s) of two values count as not encoded: {', '.join(two)}.")
    whole = np.full((len(active), rows.n_factors), np.nan)
    whole[active] = association
    parts = {"association": whole, "overlap": of_factor[0], "multiple_encoding": of_factor[1]}
    return rows.score(per_factor.mean(), {**parts, "per_factor": per_factor}, active=active)


def _association(rows: Rows, factor: int, active: Bools, most: int, rng: np.random.Generator) -> Floats:
    """S (active latents,) of one factor."""
    first, second = _pairs(rows, factor, most, rng)
    if len(first) < FEWEST:
        name = rows.names[rows.kept[factor]]
        raise UnknotError(
            f"omes: {len(first)} pair(s) of rows differ in factor '{name}' alone; at least {FEWEST} are needed. Give "
            "more rows, or fewer factors."
        )
    left, right = (rows.latents[at][:, active] for at in (first, second))
    left, right = (_in_range(side - side.mean(axis=0)) for side in (left, right))
    scale = np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    correlation = np.divide((left * right).sum(axis=0), scale, out=np.ones(left.shape[1]), where=scale > 0)
    result: Floats = np.clip(1 - np.abs(correlation), 0.0, 1.0)
    return result


def _in_range(columns: Floats) -> Floats:
    """Columns divided by powers of two, which changes no digit and keeps products of their squares from overflow."""
    exponents = np.frexp(np.abs(columns).max(axis=0))[1]
    result: Floats = np.ldexp(columns, -exponents)
    return result


def _pairs(rows: Rows, factor: int, most: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs of rows that differ in one factor alone: all, or as many drawn as may be."""
    _, codes = np.unique(np.delete(rows.factors, factor, axis=1), axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
    ends, starts = np.cumsum(sizes**2), np.cumsum(sizes) - sizes
    total = int(ends[-1])
    which = np.arange(total) if total <= most else rng.integers(0, total, most)
    group = np.searchsorted(ends, which, side="right")
    a, b = np.divmod(which - (ends - sizes**2)[group], sizes[group])
    first, second = order[starts[group] + a], order[starts[group] + b]
    differ = rows.factors[first, factor] != rows.factors[second, factor]
    return first[differ], second[differ]


def _overlap(association: Floats) -> Floats:
    """1 - mean_l | [l = j] - S_il | of each latent i and factor j."""
    k = association.shape[1]
    others = association.sum(axis=1, keepdims=True) - association
    result: Floats = 1 - (1 - association + others) / k
    return result


def _pooled(scores: Floats, association: Floats, pooling: Pooling) -> Floats:
    """One number (k,) for each factor of the scores (d, k) of its latents."""
    if pooling == "max":
        result: Floats = (scores * association).max(axis=0, initial=0.0)
        return result
    total = association.sum(axis=0)
    sums = (scores * association**2).sum(axis=0)
    averages: Floats = np.divide(sums, total, out=np.zeros(len(total)), where=total > 0)
    return averages
