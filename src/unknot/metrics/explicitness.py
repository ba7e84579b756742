"""Explicitness: how well a linear classifier on all latents tells each class from the rest."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics._logistic import log_softmax, standardised, unit_range
from unknot.metrics.arrays import WIDE, Bools, Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.linear_head import fit_linear
from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread

ITERATIONS = 100  # of Newton's method, at most
MOST_GIGABYTES = 8  # of products of latents


@Facts(
    title="Explicitness",
    measures="explicitness",
    bounds=(0.0, 1.0),
    chance=0.5,
    reference="Ridgeway & Mozer 2018, Learning Deep Disentangled Embeddings with the F-Statistic Loss, "
    "arXiv:1802.05312",
    cost="seconds",
    per_factor=True,
    version=2,
    identity=("one_vs_rest", "renormalised", "scaled"),
    widest=4_200,
    power=2,
    invariances=frozenset(),  # to shift, scale and order up to where the solver stops
)
def explicitness(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rng: Rng = 0,
    one_vs_rest: bool = False,
    renormalised: bool = False,
    scaled: bool = False,
) -> Score:
    """How well a linear classifier on all latents ranks each class above the rest.

    E = mean_j mean_c AUC( score of class c, rows of class c against all others )        chance 0.5, 1 is best

    Scores are the softmax probabilities of a multinomial logistic regression on standardised latents (C = 1).

    Args:
        latents: (n, d) numbers to train on.
        factors: (n, k) whole numbers.
        latents_test: held-out rows, which areas are computed on; a third of the rows if left out.
        factors_test: their factors.
        rng: decides the split.
        one_vs_rest: one binary regression per class with both sides weighing the same, as the paper describes; latents
            are standardised, where the public code scales them to [0, 1] (0.02 apart; `renormalised` does so too).
            A middle level of an ordinal code is no half-space, so that a perfect code no longer scores 1.
        renormalised: with `one_vs_rest`, divide the probabilities of a row's classes by their sum before they are
            ranked, on latents scaled to [0, 1], as one of the two public versions does.
        scaled: 2 E - 1, which has chance level 0; then the value can be as low as -1 for a classifier that is
            wrong on purpose, and in practice is 0 or a little below.

    Edge cases: constant factors are left out. Classes that have no test row, or all of them, are left out of a
    factor's mean; a factor without any class left is NaN, with a note. Test rows of a value unseen in training
    belong to the rest of every class. Dead latents are 0.

    Departs from the paper by default: multinomial regression, as in most published code; held-out rows.

    Reference: Ridgeway & Mozer 2018, arXiv:1802.05312, section 2.

    >>> import numpy as np
    >>> y = np.random.default_rng(0).integers(0, 3, size=(300, 2))
    >>> round(explicitness(y * 1.0, y).value, 6)
    1.0
    """
    if renormalised and not one_vs_rest:
        raise UnknotError("explicitness: renormalised is a way of one_vs_rest; set that too.")
    rows = prepare("explicitness", latents, factors, latents_test, factors_test, rng=rng)
    if one_vs_rest:
        ranked = _rest_scores(rows, renormalised)
    else:
        ranked = [log_softmax(logits) for logits in _logits(rows)]
    if renormalised:
        ranked = [_log_shares(logits) for logits in ranked]
    per_class = [
        class_areas(ranked[j], rows.held_out.factors[:, j], int(size)) for j, size in enumerate(rows.sizes)
    ]
    present = [areas[np.isfinite(areas)] for areas in per_class]
    per_factor = np.array([areas.mean() if len(areas) else np.nan for areas in present])
    for column in rows.kept[np.isnan(per_factor)]:
        rows.notes.append(f"factor '{rows.names[column]}' has no class to rank in the test rows: left out.")
    if np.isnan(per_factor).all():
        raise UnknotError("explicitness: no factor varies in the test rows; pass more of them.")
    if scaled:
        per_factor = 2 * per_factor - 1
    areas_of = {rows.names[c]: areas for c, areas in zip(rows.kept, per_class, strict=True)}
    return rows.score(float(np.nanmean(per_factor)), {"per_factor": per_factor}, per_class=areas_of)


def class_areas(scores: Floats, classes: Ints, size: int) -> Floats:
    """ROC area (size,) of scores (n, size), class c against the rest; NaN where c has no row or every row.

    The area is the probability that a row of the class scores above a row of the rest, ties counting a half; it
    follows from the sum of the ranks of the class's rows.

    >>> class_areas(np.array([[0.1], [0.4], [0.4], [0.9]]), np.array([1, 1, 0, 0]), 1)
    array([0.875])
    """
    areas = np.full(size, np.nan)
    n = len(classes)
    for c in range(size):
        own = classes == c
        n_own = int(own.sum())
        if 0 < n_own < n:
            _, inverse, counts = np.unique(scores[:, c], return_inverse=True, return_counts=True)
            mean_rank = np.cumsum(counts) - (counts - 1) / 2  # from 1, equal scores share theirs
            ranks = mean_rank[inverse[own]].sum()
            areas[c] = (ranks - n_own * (n_own + 1) / 2) / (n_own * (n - n_own))
    return areas


def _logits(rows: Rows) -> Iterator[Floats]:
    """Scores (n_test, classes) of a softmax head for each factor."""
    z, z_test = rows.latents, rows.held_out.latents
    wide = z.shape[1] > WIDE
    if wide:  # the same optimum, sooner
        found = rows.once(PenalisedHeads.of).scores_of(rows.factors, rows.sizes, penalty=1.0)
    else:
        z, z_test = standardised(z, z_test)
    for j, (y, size) in enumerate(zip(rows.factors.T, map(int, rows.sizes), strict=True)):
        if wide:
            logits, _, converged = found[j]
        else:
            with one_thread():
                head, converged = fit_linear(z, y, size, penalty=1.0)
                logits = head.logits(z_test).astype(np.float64)
        if not converged:
            name = rows.names[rows.kept[j]]
            rows.notes.append(f"the logistic regression for '{name}' stopped before it converged.")
        yield logits


def _rest_scores(rows: Rows, renormalised: bool) -> list[Floats]:
    """Scores (n_test, classes) of one regression per class for each factor."""
    n, d = rows.latents.shape
    if (gigabytes := 4e-9 * n * d**2) > MOST_GIGABYTES:
        raise UnknotError(
            f"explicitness: one_vs_rest on {d} latents holds {gigabytes:.0f} GB of their products; leave it out, which "
            "takes one multinomial regression of any width, or score fewer latents."
        )
    z, z_test = (unit_range if renormalised else standardised)(rows.latents, rows.held_out.latents)
    with one_thread():
        weights = [
            balanced_regressions(z, y, int(size)) for y, size in zip(rows.factors.T, rows.sizes, strict=True)
        ]
        return [z_test @ w[:-1] + w[-1] for w in weights]


def _log_shares(logits: Floats) -> Floats:
    """Logarithms of sigmoid probabilities (n, classes) divided by their sum over classes."""
    log_p = -np.logaddexp(0, -logits)
    shares: Floats = log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    return shares


def balanced_regressions(z: Floats, y: Ints, size: int) -> Floats:
    """Weights (d + 1, size) of one logistic regression per class against the rest, bias last, by Newton's method.

    Minimises sum_i s_i log(1 + exp(-t_i f(z_i))) + |w|^2 / 2, rows of the class and rows of the rest having the
    same summed weight s; all classes at once, because they share the products of the latents.
    """
    n, d = z.shape
    x = np.hstack([z, np.ones((n, 1))])
    a, b = np.triu_indices(d + 1)
    products = x[:, a] * x[:, b]  # (n, pairs): the Hessian of every class is a weighting of these rows
    ridge = np.append(np.ones(d), 1e-10)  # the bias is free; a little keeps the matrix regular
    own = y[:, None] == np.arange(size)
    count = own.sum(axis=0)
    weight = np.where(own, n / (2 * count), n / (2 * (n - count)))
    w = np.zeros((d + 1, size))
    loss = _rest_loss(x, own, weight, w, ridge)
    for _ in range(ITERATIONS):
        p = _sigmoid(x @ w)
        gradient = x.T @ (weight * (p - own)) + ridge[:, None] * w
        upper = products.T @ (weight * p * (1 - p))
        hessian = np.empty((size, d + 1, d + 1))
        hessian[:, a, b] = hessian[:, b, a] = upper.T
        hessian += np.diag(ridge)
        move = np.linalg.solve(hessian, gradient.T[:, :, None])[:, :, 0].T
        step = np.ones(size)
        for _ in range(30):  # halve what does not descend, each class for itself
            tried = _rest_loss(x, own, weight, w - step * move, ridge)
            worse = tried > loss + 1e-12 * np.abs(loss)
            if not worse.any():
                break
            step[worse] /= 2
        w, loss = w - step * move, tried
        if np.abs(step * move).max() <= 1e-8 * max(1.0, float(np.abs(w).max())):
            break
    return w


def _sigmoid(x: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _rest_loss(x: Floats, own: Bools, weight: Floats, w: Floats, ridge: Floats) -> Floats:
    margins = x @ w
    losses = np.logaddexp(0, np.where(own, -margins, margins))
    result: Floats = (weight * losses).sum(axis=0) + 0.5 * (ridge[:, None] * w**2).sum(axis=0)
    return result
