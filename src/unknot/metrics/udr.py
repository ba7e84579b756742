"""UDR: how alike two models are up to the order and sign of their latents; no labels needed.

Two models trained alike that both disentangle must find the same latents, since there is only one way to
disentangle and many to entangle. `udr_pair` scores a pair; ranking many models takes `informative` once per model
and `udr_scores` for all pairs.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, UnknotWarning, check_known
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.latents import check_latents
from unknot.metrics.ranks import average_ranks
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread
from unknot.reading.arrays import as_array

Method = Literal["lasso", "spearman"]
Normaliser = Literal["paper", "public"]
FOLDS = 5  # of the cross-validated penalty
ACTIVE_STD = 0.05  # which latents count as informative where their KL is not known
BLOCK = 1024  # columns whose products are held at once


@dataclass(frozen=True)
class Informative:
    """The informative latents of one model, in the form that pairs are compared in."""

    columns: Floats  # (m, n) a row per latent: mean 0, standard deviation 1; ranks for Spearman
    mask: Bools  # (d,) which latents these are
    method: Method
    notes: list[str] = field(default_factory=list)


def informative(
    latents: Any, kl: Any = None, *, method: Method = "lasso", threshold: float = 0.01, who: str = "udr"
) -> Informative:
    """Standardised informative latents (or their ranks) of one model; what a model needs only once.

    Args:
        latents: (n, d) posterior means on the inputs that all models share.
        kl: (d,) KL of each latent to the prior, averaged over inputs; where it is None, latents whose standard
            deviation exceeds 0.05 count as informative.
        method: "lasso" or "spearman".
        threshold: smallest KL (exclusive) of an informative latent.
        who: what messages call it.
    """
    check_known("method of udr", method, get_args(Method))
    # One latent a row: sums over contiguous memory are several times faster.
    z = np.array(check_latents(who, latents, copy=False).T, order="C")
    mean = z.mean(axis=1, keepdims=True)
    z -= mean
    std = np.sqrt(np.einsum("ij,ij->i", z, z) / z.shape[1])
    notes = []
    if kl is None:
        mask = std > ACTIVE_STD
        notes.append(f"no KL given: latents with a standard deviation above {ACTIVE_STD} count as informative.")
    else:
        divergence = as_array(kl)
        if divergence.shape != std.shape or not np.isfinite(divergence).all():
            raise UnknotError(
                f"{who}: kl has shape {divergence.shape}; expected {len(std)} finite numbers, one per latent."
            )
        mask = divergence > threshold
    constant = std <= 1e-12 * np.maximum(1.0, np.abs(mean[:, 0]))
    if method == "spearman":
        z = np.ascontiguousarray(average_ranks(z.T).T)
        z -= (z.shape[1] + 1) / 2
        std = z.std(axis=1)
    std[constant] = np.inf  # a latent without variance is similar to none
    z /= std[:, None]
    return Informative(z if mask.all() else z[mask], mask, method, notes)


@Facts(
    title="Unsupervised disentanglement ranking, one pair",
    measures="modularity",
    bounds=(0.0, float("inf")),
    chance="below 0.3",
    reference="Duan et al. 2020, Unsupervised Model Selection for Variational Disentangled Representation "
    "Learning, arXiv:1905.12614, eq. 2",
    identity=("method",),
    invariances=frozenset({"latents", "sign", "scale", "shift"}),
    labels=False,
)
def udr_pair(
    latents_a: Any,
    latents_b: Any,
    *,
    kl_a: Any = None,
    kl_b: Any = None,
    method: Method = "lasso",
    alpha: float | Literal["cv"] = 0.1,
    threshold: float = 0.01,
    normaliser: Normaliser = "paper",
) -> Score:
    """How nearly each latent of one model is one latent of the other.

    UDR_ab = [ sum_b max_a R(a,b)^2 / sum_a R(a,b) + sum_a max_b R(a,b)^2 / sum_b R(a,b) ] / (d_a + d_b)

    over informative latents, where R(a, b) is the absolute weight of latent a (model A, the predictor) in a Lasso
    regression of latent b (model B, the target), or their absolute rank correlation. Terms with a zero sum are 0.
    Nominally in [0, 1]; weights above 1 on collinear latents can exceed it. The Lasso shrinks an exact copy to
    1 - alpha, so identical perfect models get 0.9 with the default.

    Edge cases: a model without an informative latent gives NaN, with a warning; a latent without variance is
    similar to none.
    Departs from the paper: the plain Lasso with a fixed penalty that its public code runs, instead of the multi-task
    Lasso with a cross-validated one, which is `alpha="cv"`. `normaliser="public"` averages over each model's
    latents first, as that code does; the two agree if both models have as many.

    Args:
        latents_a: (n, d_a) posterior means of the predictor.
        latents_b: (n, d_b) posterior means of the target on the same inputs in the same order.
        kl_a: (d_a,) KL of each latent to the prior; the standard deviation decides where it is missing.
        kl_b: (d_b,) the same.
        method: "lasso" or "spearman".
        alpha: penalty of the Lasso, or "cv": group penalty chosen from 100 by 5 contiguous folds.
        threshold: smallest KL (exclusive) of an informative latent.
        normaliser: "paper" or "public".

    Returns:
        Score with `parts["similarity"]` (d_a, d_b), zero for uninformative latents, and `parts["alpha"]`.

    >>> z = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(udr_pair(z, z[:, ::-1]).value, 2)
    0.9
    """
    a, b = (
        informative(z, kl, method=method, threshold=threshold, who="udr_pair")
        for z, kl in ((latents_a, kl_a), (latents_b, kl_b))
    )
    _check([a, b], alpha, normaliser, "udr_pair")
    matrix, chosen = similarity(a, b, alpha=alpha)
    full = np.zeros((len(a.mask), len(b.mask)))
    full[np.ix_(a.mask, b.mask)] = matrix
    notes = list(dict.fromkeys(a.notes + b.notes))
    value = float("nan")
    if matrix.size:
        from unknot.metrics.kernels.lasso import pair_score

        value = float(pair_score(matrix, normaliser == "paper"))
    else:
        empty = " and ".join(name for name, m in (("A", a), ("B", b)) if not m.mask.any())
        notes.append(f"model {empty} has no informative latent, so the pair has no score.")
        warnings.warn(f"udr_pair: {notes[-1]}", UnknotWarning, stacklevel=2)
    return Score(
        value,
        {
            "similarity": full,
            "informative_a": a.mask,
            "informative_b": b.mask,
            "alpha": chosen,
            "notes": notes,
            "n_rows": a.columns.shape[1],
        },
    )


def similarity(
    a: Informative, b: Informative, *, alpha: float | Literal["cv"] = 0.1
) -> tuple[Floats, float | None]:
    """Similarity (m_a, m_b) of the informative latents of two models, and the penalty it was found with."""
    from unknot.metrics.kernels.lasso import lasso, multi_task_lasso_cv, part

    n, m = len(a.columns), len(b.columns)
    if n == 0 or m == 0:
        return np.zeros((n, m)), None
    if a.method == "lasso" and alpha == "cv":
        weights, chosen = multi_task_lasso_cv(*_fold_products([a, b]), 0, n, n, n + m)
        return np.abs(weights), float(chosen)
    products = _products([a, b])
    if a.method == "spearman":
        return np.abs(products[:n, n:]), None
    gram, cross = part(products, 0, n, 0, n), part(products, 0, n, n, n + m)
    return np.abs(lasso(gram, cross, float(alpha))), float(alpha)


def udr_scores(
    models: Sequence[Informative],
    pairs: Iterable[tuple[int, int]] | None = None,
    *,
    alpha: float | Literal["cv"] = 0.1,
    normaliser: Normaliser = "paper",
) -> Floats:
    """Pair scores of many (predictor, target) pairs at once: rows are read once per model, not once per pair.

    Args:
        models: what `informative` made of each model, all with the same rows and method.
        pairs: which pairs; all ordered pairs of two different models, predictor by predictor, if left out.
        alpha: as in `udr_pair`.
        normaliser: as in `udr_pair`.

    Returns:
        One score per pair; NaN where a model has no informative latent.

    >>> z = np.random.default_rng(0).normal(size=(500, 3))
    >>> models = [informative(z), informative(-z), informative(z[:, ::-1])]
    >>> udr_scores(models).round(2)
    array([0.9, 0.9, 0.9, 0.9, 0.9, 0.9])
    """
    from unknot.metrics.kernels.lasso import lasso_scores, multi_task_scores

    _check(models, alpha, normaliser, "udr")
    if pairs is None:
        pairs = [(a, b) for a in range(len(models)) for b in range(len(models)) if a != b]
    wanted = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    scores = np.full(len(wanted), np.nan)
    for members, inside in _blocks(models, wanted):
        together = [models[m] for m in members]
        offsets = np.cumsum([0, *(len(m.columns) for m in together)])
        local, by_latent = np.searchsorted(members, wanted[inside]), normaliser == "paper"
        if models[0].method == "spearman":
            scores[inside] = lasso_scores(_products(together), offsets, local, -1.0, by_latent)
        elif alpha == "cv":
            scores[inside] = multi_task_scores(*_fold_products(together), offsets, local, by_latent)
        else:
            scores[inside] = lasso_scores(_products(together), offsets, local, float(alpha), by_latent)
    return scores


def _blocks(models: Sequence[Informative], pairs: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Sets of models whose products fit in memory together, each with the pairs found inside it first."""
    widths = np.cumsum([len(m.columns) for m in models])
    block = widths // BLOCK if widths[-1] > BLOCK else np.zeros(len(models), dtype=np.int64)
    low, high = np.sort(block[pairs], axis=1).T
    for i, j in combinations_with_replacement(np.unique(block), 2):
        inside = np.flatnonzero((low == i) & (high == j))
        if len(inside):
            yield np.unique(pairs[inside]), inside


def _products(models: Sequence[Informative]) -> Floats:
    """Mean products (D, D) of the columns of all models: their correlations."""
    columns = np.concatenate([m.columns for m in models])
    with one_thread():
        products: Floats = columns @ columns.T
    products /= columns.shape[1]
    return products


def _fold_products(models: Sequence[Informative]) -> tuple[Floats, Floats]:
    """Mean products outside each contiguous fold (and of all rows) about their means, and inside about the same."""
    parts = np.array_split(np.concatenate([m.columns for m in models]), FOLDS, axis=1)
    n = sum(part.shape[1] for part in parts)
    with one_thread():
        inside = [part @ part.T for part in parts]
    sums, all_products = [part.sum(axis=1) for part in parts], np.sum(inside, axis=0)
    total = np.sum(sums, axis=0)
    train, test = [], []
    for part, products, own in zip(parts, inside, sums, strict=True):
        m = part.shape[1]
        mean = (total - own) / (n - m)
        shift = own / m - mean
        train.append((all_products - products) / (n - m) - np.outer(mean, mean))
        test.append(products / m - np.outer(own / m, own / m) + np.outer(shift, shift))
    train.append(all_products / n - np.outer(total / n, total / n))
    return np.stack(train), np.stack(test)


def _check(models: Sequence[Informative], alpha: float | str, normaliser: str, who: str) -> None:
    if not models:
        raise UnknotError(f"{who}: no models given.")
    rows = sorted({m.columns.shape[1] for m in models})
    if len(rows) > 1:
        raise UnknotError(
            f"{who}: models have {' and '.join(map(str, rows))} rows; all need the same inputs in the same order."
        )
    if rows[0] < 2 * FOLDS:
        raise UnknotError(f"{who}: {rows[0]} rows; at least {2 * FOLDS} are needed to compare latents.")
    if len({m.method for m in models}) > 1:
        raise UnknotError(f"{who}: some models were prepared for Lasso and some for Spearman; use one method.")
    check_options(who, models[0].method, alpha, normaliser)


def check_options(who: str, method: str, alpha: float | str, normaliser: str) -> None:
    """Refuse a way to compare models that does not exist."""
    check_known("method of udr", method, get_args(Method))
    check_known("normaliser of udr", normaliser, get_args(Normaliser))
    if alpha != "cv" and not (isinstance(alpha, int | float) and alpha > 0):
        raise UnknotError(f"{who}: alpha is {alpha!r}; expected a positive number, or 'cv'.")
