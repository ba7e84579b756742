"""Unfairness: how much predictions of one factor move when another one is changed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics._predictors import canonical_order
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.boosting import BoostedTrees, fit_trees, tabulate
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.interventions import InterventionSource, TableSource
from unknot.metrics.score import Facts, Score
from unknot.metrics.screening import screen
from unknot.processes.threads import side_by_side

Predict = Callable[[int, Floats], Ints]
REFERENCE = "Locatello et al. 2019, On the Fairness of Disentangled Representations, arXiv:1905.13662"


_FACTS = Facts(
    title="unfairness",
    measures="fairness",
    bounds=(0.0, 1.0),
    chance="above 0: predictions at random differ a little between any two groups",
    higher_is_better=False,
    reference=REFERENCE,
    cost="seconds",
    also={"max": "fairness"},
    invariances=frozenset({"latents"}),
    widest=400,
    version=6,
)


@_FACTS
def unfairness(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    source: InterventionSource | None = None,
    points: int = 100,
    rounds: int = 100,
    rng: Rng = 0,
) -> Score:
    """How much the prediction of a target factor moves when a sensitive factor is set to each of its values.

    Boosted trees predict target j. The same random points are taken with sensitive factor s set to each value c:

    TV_c = 1/2 sum_y | share of prediction y at c - share of prediction y over all c |
    unfairness(j, s) = mean_c TV_c,   value = mean over j of the mean over s != j           in [0, 1), 0 is fair

    `parts` has the matrices (target, sensitive) "mean_tv" and "max_tv", the latter with max_c in place of mean_c; their
    mean over targets of the mean or the maximum over sensitive factors, "mean_mean" (the value), "mean_max",
    "max_mean" (also "max") and "max_max", the second word for the sensitive factors; and "per_factor", the mean
    over sensitive factors for each target. Public code calls the value mean_fairness:mean_pred:mean_sens.
    "accuracy" of the classifiers on held-out rows belongs beside them: who cannot predict a target at all is fair for
    a poor reason. "shuffled_tv" is mean_tv after the predictions were dealt to the values of s at random, and
    "shuffled" its mean: what chance makes of `points` predictions each.

    Args:
        latents: (n, d), the training rows of the classifiers.
        factors: (n, k) classes.
        latents_test: held-out latents, among which interventions are looked up; a third of the rows is split off
            where they are missing.
        factors_test: held-out factors.
        source: where to get latents with factors set at will, such as `WorldSource(world, encode)`; its factors are
            the columns of `factors`, in that order.
        points: how many random points are intervened on; the finite number lifts the floor above 0.
        rounds: of boosting.
        rng: draws the points, decides between equally good latents.

    Edge cases: without a source, held-out rows must show every combination of the factors, or else all rows (with a
    note); what setting one factor would do is not known otherwise: an error says so, and `conditional_unfairness`
    is what can be had. Constant factors are neither targets nor sensitive; a single factor is an error.

    >>> grid = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2).repeat(5, axis=0)
    >>> unfairness(grid * 1.0, grid, rounds=5).value
    0.0
    """
    rows = prepare("unfairness", latents, factors, latents_test, factors_test, rng=rng)
    rows.need_two_factors("unfairness")
    if points < 1:
        raise UnknotError(f"unfairness: points is {points}; at least one is needed.")
    generator = np.random.default_rng(rng)
    settable, columns = _settable(rows, source)
    predict = _classifiers(rows, rounds, generator)
    k = rows.n_factors
    mean_tv, max_tv, shuffled_tv = (np.full((k, k), np.nan) for _ in range(3))
    dealer = np.random.default_rng(0)
    for s in range(k):
        changed = settable.counterfactuals(int(columns[s]), points, generator)
        for j in range(k):
            if j != s:
                predicted = predict(j, changed.reshape(-1, changed.shape[-1]))
                apart = total_variation(predicted.reshape(changed.shape[:2]), predicted)
                mean_tv[j, s], max_tv[j, s] = apart.mean(), apart.max()
                dealt = dealer.permutation(predicted)
                shuffled_tv[j, s] = total_variation(dealt.reshape(changed.shape[:2]), dealt).mean()
    shuffled = float(np.nanmean(shuffled_tv, axis=1).mean())
    more = {"points": points, "accuracy": _accuracy(rows, predict), "shuffled": shuffled}
    return _score(rows, {"mean_tv": mean_tv, "max_tv": max_tv, "shuffled_tv": shuffled_tv}, **more)


@replace(_FACTS, title="conditional unfairness")
def conditional_unfairness(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rounds: int = 100,
    rng: Rng = 0,
) -> Score:
    """How much the prediction of a target factor differs between rows that have different sensitive factors.

    As `unfairness`, with the held-out rows that happen to have value c in place of an intervention:

    TV_c = 1/2 sum_y | P(prediction y | s = c) - P(prediction y) |

    Where factors are correlated a fair prediction of the target differs between groups too: this is no
    intervention, and the two numbers do not compare.

    Args:
        latents: (n, d), the training rows of the classifiers.
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        rounds: of boosting.
        rng: splits off missing test rows, decides between equally good latents.

    Edge cases: values of which there is no held-out row are left out; constant factors are neither targets nor
    sensitive; a single factor is an error. Groups of few rows lift the floor.
    """
    rows = prepare("conditional_unfairness", latents, factors, latents_test, factors_test, rng=rng)
    rows.need_two_factors("conditional_unfairness")
    latents_seen, factors_seen, _ = rows.held_out
    predict = _classifiers(rows, rounds, np.random.default_rng(rng))
    k = rows.n_factors
    mean_tv, max_tv = np.full((k, k), np.nan), np.full((k, k), np.nan)
    for j in range(k):
        predicted = predict(j, latents_seen)
        for s in range(k):
            if s != j:
                groups = [predicted[factors_seen[:, s] == value] for value in np.unique(factors_seen[:, s])]
                apart = total_variation(groups, predicted)
                mean_tv[j, s], max_tv[j, s] = apart.mean(), apart.max()
    return _score(rows, {"mean_tv": mean_tv, "max_tv": max_tv}, accuracy=_accuracy(rows, predict))


def _classifiers(rows: Rows, rounds: int, rng: np.random.Generator) -> Predict:
    """One classifier per factor, as a function of its number and of latents."""
    columns = canonical_order(rows.latents)
    table = tabulate(rows.latents[:, columns])
    screened = screen(table)

    def fit(codes: Ints, draws: np.random.Generator) -> BoostedTrees:
        return fit_trees(table, codes, rounds=rounds, screened=screened, rng=draws)

    if screened is None:
        trees = [fit(codes, rng) for codes in rows.factors.T]
    else:
        trees = side_by_side(fit, rows.factors.T, rng.spawn(rows.n_factors))
    return lambda j, latents: trees[j].predict(latents[:, columns])


def _accuracy(rows: Rows, predict: Predict) -> Floats:
    """Of each classifier on held-out rows."""
    latents, factors, _ = rows.held_out
    return rows.spread([np.mean(predict(j, latents) == factors[:, j]) for j in range(rows.n_factors)])


def _settable(rows: Rows, source: InterventionSource | None) -> tuple[InterventionSource, Ints]:
    """What to intervene on, and its numbers of the factors that vary."""
    if source is not None:
        sizes = np.array(source.sizes)
        if len(sizes) != len(rows.names) or np.any(sizes[rows.kept] < 2):
            raise UnknotError(
                f"unfairness: the source has factors of sizes {tuple(source.sizes)}, the rows have {len(rows.names)}, "
                f"of which {rows.n_factors} vary; expected the same factors in the same order."
            )
        return source, rows.kept
    latents, factors, _ = rows.held_out
    if not _complete(factors):
        latents, factors = np.concatenate([rows.latents, latents]), np.concatenate([rows.factors, factors])
        if not _complete(factors):
            raise UnknotError(
                f"unfairness: the {len(factors)} rows do not hold every combination of the factors, so what setting "
                "one of them would do is not known. Pass source=WorldSource(world, encode) or a table of the "
                "whole grid, or use conditional_unfairness, which intervenes on nothing."
            )
        rows.notes.append(
            "interventions were looked up among all rows, as the held-out ones lack some combinations of factors; "
            "on rows they were trained on, classifiers look fairer than they are."
        )
    return TableSource(latents, factors), np.arange(rows.n_factors)


def _complete(factors: Ints) -> bool:
    cells = np.prod([float(len(np.unique(column))) for column in factors.T])
    return bool(cells <= len(factors) and len(np.unique(factors, axis=0)) == cells)


def total_variation(groups: Iterable[Ints], everyone: Ints) -> Floats:
    """Half the l1 distance between each group's histogram and everyone's.

    >>> total_variation([np.array([0, 0]), np.array([1, 0])], np.array([0, 0, 1, 0]))
    array([0.25, 0.25])
    """
    classes, overall = np.unique(everyone, return_counts=True)
    shares = np.array([[np.mean(group == c) for c in classes] for group in groups])
    result: Floats = 0.5 * np.abs(shares - overall / overall.sum()).sum(axis=1)
    return result


def _score(rows: Rows, tv: Mapping[str, Floats], **more: Any) -> Score:
    combinations = {
        f"{over_values}_{over_sensitive}": float(gather(tv[f"{over_values}_tv"], axis=1).mean())
        for over_values in ("mean", "max")
        for over_sensitive, gather in (("mean", np.nanmean), ("max", np.nanmax))
    }
    matrices = {name: rows.spread(rows.spread(matrix).T).T for name, matrix in tv.items()}
    per_factor = {"per_factor": np.nanmean(tv["mean_tv"], axis=1)}
    more |= matrices | combinations | {"max": combinations["max_mean"]}
    return rows.score(combinations["mean_mean"], per_factor, **more)
