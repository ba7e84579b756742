"""Conditional MIG: the gap of MIG in what a latent says of a factor beyond all the others."""

from typing import Any

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.inputs import Rows, prepare
from unknot.metrics.latents import dead
from unknot.metrics.score import Facts, Score

EXACT = 1e-10  # share of a latent's variance that is rounding


@Facts(
    title="Conditional mutual information gap",
    measures="compactness",
    bounds=(0.0, 1.0),
    chance="about 0; what is added by chance is taken off",
    reference="ours, after MIG (Chen et al. 2018, arXiv:1802.04942) and the tests of Yao et al. 2025, The Third Pillar "
    "of Causal Analysis?, arXiv:2505.17708",
    invariances=frozenset({"rows", "latents", "sign", "scale", "shift"}),
    asked=True,
)
def conditional_mig(latents: Any, factors: Any) -> Score:
    """How much more the best latent says about each factor, given all the others, than the runner-up.

    A_ij = 1 - [ RSS(z_i | y) / (n - p) ] / [ RSS(z_i | y without j) / (n - p_j) ]        never below 0
    score = mean_j [ A_(1)j - A_(2)j ]                                                    in [0, 1], 1 is best

    RSS is what an additive model of the factors' classes leaves of a latent, p how many numbers it has; A_ij is the
    share of what the other factors leave of the latent that factor j explains: 1 - exp(-2 I(z_i; y_j | the others)),
    if what is left were normal. Where factors depend on each other, MIG, MCC and DCI give a latent credit for
    factors that it knows through others, which favours mixtures; here a latent that is a function of one factor says
    nothing about any other, however much they depend on each other.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; a latent without variance says
    nothing; a factor that the others determine says nothing beyond them, and is 0.

    Args:
        latents: (n, d).
        factors: (n, k) classes; real numbers are cut into bins.

    Returns:
        Score with `parts["per_factor"]` (k,), `parts["given_others"]` A (d, k) and `parts["best_latent"]` (k,).

    >>> rng = np.random.default_rng(0)
    >>> colour = rng.integers(0, 4, 500)
    >>> shape = np.where(rng.random(500) < 0.9, colour, rng.integers(0, 4, 500))  # depends on the colour
    >>> factors = np.column_stack([colour, shape])
    >>> round(conditional_mig(factors * 1.0, factors).value, 6)
    1.0
    """
    rows = prepare("conditional_mig", latents, factors)
    shares = given_others(rows)
    ranked = np.sort(np.vstack([np.zeros(rows.n_factors), shares]), axis=0)
    per_factor = ranked[-1] - ranked[-2]
    if len(shares) == 1:
        rows.notes.append("one latent only: there is no runner-up, so the gap is all that the latent says.")
    parts = {"per_factor": per_factor, "given_others": shares, "best_latent": shares.argmax(axis=0)}
    return rows.score(per_factor.mean(), parts)


def given_others(rows: Rows) -> Floats:
    """The share A (d, k) of what other factors leave of a latent that each factor explains; see `conditional_mig`."""
    n, gone = len(rows.latents), dead(rows.latents)
    z = rows.latents - rows.latents.mean(axis=0)
    z /= np.where(gone, 1.0, np.sqrt((z**2).sum(axis=0)))
    columns = [np.eye(size)[rows.factors[:, j]][:, 1:] for j, size in enumerate(rows.sizes)]
    left, rank = _left(z, columns, n)
    shares = np.zeros((z.shape[1], rows.n_factors))
    for j in range(rows.n_factors):
        without, rank_without = _left(z, columns[:j] + columns[j + 1 :], n)
        if rank > rank_without and n > rank:
            now, before = left / (n - rank), without / (n - rank_without)
            shares[:, j] = np.divide(before - now, before, out=np.zeros(len(now)), where=without > EXACT)
    shares[gone] = 0.0
    return np.clip(shares, 0.0, 1.0)


def _left(z: Floats, columns: list[Floats], n: int) -> tuple[Floats, int]:
    """What an additive model leaves of each latent (d,), and how many numbers it has."""
    design = np.hstack([np.ones((n, 1)), *columns])
    gram = design.T @ design
    values, axes = np.linalg.eigh(gram)
    kept = values > 1e-10 * values[-1]
    scores = (axes[:, kept] / np.sqrt(values[kept])).T @ (design.T @ z)
    return np.maximum((z**2).sum(axis=0) - (scores**2).sum(axis=0), 0.0), int(kept.sum())
