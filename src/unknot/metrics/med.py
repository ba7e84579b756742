"""MED: disentanglement and completeness of DCI with mutual information in place of trained importances."""

from dataclasses import replace
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics._importance import completeness, disentanglement
from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.kernels.information import share
from unknot.metrics.known_information import known_information
from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.score import Facts, Score


@Facts(
    title="MED: DCI with mutual information",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="near 0 (0.005 for noise at 10,000 rows); completeness of few uninformed latents can be higher",
    reference="Cao et al. 2022, An Empirical Study on Disentanglement of Negative-free Contrastive Learning, "
    "arXiv:2206.04756",
    cost="seconds",
    also={"completeness": "compactness", "informativeness": "explicitness"},
    identity=("bins",),
    version=2,
    widest=4_200,
    power=2,
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    assumes=("independent factors", "many rows"),
)
def med(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    bins: int | str = 20,
    normalise: bool = True,
    top: int | None = None,
    informativeness: bool = True,
    bias_correction: bool = False,
    rng: Rng = 0,
) -> Score:
    """Disentanglement of DCI with mutual information in place of trained importances.

    R_ij = I(z_i; y_j) / sum_l I(z_l; y_j)                       each factor's column sums to one
    D    = sum_i rho_i ( 1 - H(R_i.) / log k ),  rho_i = sum_j R_ij / sum R        headline: each latent, one factor?
    C    = mean_j ( 1 - H(R_.j) / log d )                         completeness: each factor, one latent?
    I    = mean_j test accuracy of a logistic regression on all latents, standardised   (informativeness)

    All in [0, 1], 1 is best. No importances are trained, so D and C have no randomness.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; a factor nobody knows has a column of
    zeros (no part in D, C_j = 0); D of one factor and C of one latent are undefined: NaN and a note; a class unseen
    in training is an error of the classifier.

    Args:
        latents: (n, d); D and C use these rows only.
        factors: (n, k).
        latents_test: held-out latents for I; without them a third of the rows is held out for I.
        factors_test: held-out factors.
        bins: how many bins of equal width each latent gets, or "zero+10", see `mig`.
        normalise: False keeps R_ij = I(z_i; y_j) as it is and weighs factors in C by their share of all information:
            the "MED" row of Table 1 of Mahon et al.
        top: keep for each factor only the `top` latents that know it best of all factors, those of highest D_i,
            and compute everything on them; for codes of many latents.
        informativeness: False leaves I out, and with it the only training.
        bias_correction: subtract the bias (B - 1)(K - 1) / (2 n) from every I(z_i; y_j), never below 0.
        rng: decides which rows are held out.

    Returns:
        Score of D with `parts["completeness"]`, `parts["informativeness"]`, `parts["per_latent"]` (D_i),
        `parts["per_factor"]` (C_j), `parts["accuracy"]` (k,), `parts["importance"]` (d, k) and
        `parts["mutual_information"]` (d, k) in nats. Latents that `top` dropped have NaN.

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(med(factors * 1.0, factors, informativeness=False).value, 6)
    1.0
    """
    if top is not None and top < 1:
        raise UnknotError(f"med: top is {top}; expected the number of latents per factor, at least 1.")
    rows = prepare("med", latents, factors, latents_test, factors_test)
    information = known_information(rows, bins, correct=bias_correction).mutual
    importance = share(information, information.sum(axis=0)) if normalise else information
    used = np.arange(len(importance)) if top is None else _best(importance, top)
    chosen = importance[used]
    if normalise:
        chosen = share(chosen, chosen.sum(axis=0))
    d_value, per_latent = disentanglement(chosen)
    c_value, per_factor = completeness(chosen, weighted=not normalise)
    if rows.n_factors == 1:
        rows.notes.append("one factor only: disentanglement compares factors and is undefined.")
    if len(used) == 1:
        rows.notes.append("one latent only: completeness compares latents and is undefined.")
    spread_latent = np.full(len(importance), np.nan)
    spread_latent[used] = per_latent
    parts = {"per_factor": per_factor, "importance": importance, "mutual_information": information}
    values = {"disentanglement": d_value, "completeness": c_value}
    if informativeness:
        parts["accuracy"] = _accuracies(rows, used, rng)
        values["informativeness"] = float(parts["accuracy"].mean())
    return rows.score(d_value, parts, **values, per_latent=spread_latent, latents_used=used, bins=bins)


def _best(importance: Floats, top: int) -> Ints:
    """Latents that are among the `top` most disentangled of those that know the same factor best."""
    _, scores = disentanglement(importance)
    factor = importance.argmax(axis=1)
    kept = []
    for j in range(importance.shape[1]):
        members = np.flatnonzero((factor == j) & (importance.sum(axis=1) > 0))
        kept.append(members[np.argsort(-scores[members], kind="stable")[:top]])
    used = np.sort(np.concatenate(kept))
    # Where no latent knows anything there is nothing to choose: keep all, and the score is at its floor.
    return used if len(used) else np.arange(len(importance))


def _accuracies(rows: Rows, used: Ints, rng: Rng) -> Floats:
    from unknot.metrics._logistic import accuracy, fit, hold_out, standardised

    split = hold_out(rows, rng)
    if len(used) < split.latents.shape[1]:
        latents_test = split.held_out.latents[:, used]
        split = replace(split, latents=split.latents[:, used], latents_test=latents_test, shared={})
    z, z_test, y_test = split.latents, split.held_out.latents, split.held_out.factors
    wide = len(used) > WIDE
    if wide:  # the same optimum, sooner
        found = split.once(PenalisedHeads.of).scores_of(split.factors, rows.sizes, penalty=1.0)
    else:
        z, z_test = standardised(z, z_test)
    result = np.empty(rows.n_factors)
    for j in range(rows.n_factors):
        codes = split.factors[:, j]
        if wide:
            scores, _, converged = found[j]
            result[j] = np.mean(scores.argmax(axis=1) == y_test[:, j])
        else:
            model, converged = fit(z, codes, max_iter=1000)
            result[j] = accuracy(model, z_test, y_test[:, j], int(codes[0]))
        if not converged:
            name = rows.names[rows.kept[j]]
            rows.notes.append(f"the logistic regression for '{name}' stopped before it converged.")
    return result
