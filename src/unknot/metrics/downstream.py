"""Downstream accuracy: how well factors are predicted from n labelled rows, by boosted trees or linearly."""

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from unknot.errors import UnknotError, UnknotWarning, check_known
from unknot.metrics import _predictors
from unknot.metrics.accuracy import Chance, adjusted, chance_levels, check_chance
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread

STRENGTHS = np.logspace(-4, 4, 10)  # inverse penalties that logistic regression chooses from
FOLDS = 5
REFERENCE = "Locatello et al. 2019, Challenging Common Assumptions, arXiv:1811.12359"


_GBT_FACTS = Facts(
    title="downstream accuracy, boosted trees",
    measures="explicitness",
    bounds=(0.0, 1.0),
    chance="the share of the largest class",
    assumes=("balanced classes",),
    reference=REFERENCE,
    cost="seconds",
    asked=True,
    per_factor=True,
    also={"adjusted": "explicitness"},
    identity=("n",),
    invariances=frozenset({"latents"}),
    version=6,
)


@_GBT_FACTS
def gbt_accuracy(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    n: int = 10_000,
    rounds: int = 100,
    chance: Chance = "proportional",
    rng: Rng = 0,
) -> Score:
    """How well boosted trees predict the factors after training on n rows ("GBT10000" for n = 10,000).

    value = mean over factors of the accuracy on held-out rows, in [0, 1]

    `parts` has "per_factor", "min" (the worst factor), "train", "adjusted" (mean of (a - r) / (1 - r), clipped
    at 0, where r is what guessing gets) and "adjusted_per_factor". With all rows in training this is the same
    computation as the informativeness of `dci`: whoever has that score need not run this one.

    Args:
        latents: (n, d).
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        n: training rows; the literature uses 10, 100, 1,000 and 10,000. All there are, with a note, if fewer.
        rounds: of boosting.
        chance: r = sum p^2 ("proportional") or max p ("majority"), of the held-out rows.
        rng: draws the n rows, decides between equally good latents, splits off missing test rows.

    Edge cases: a factor with one class among the n rows is predicted by that class; a class that is missing there
    counts as an error; constant factors are left out.

    >>> grid = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2).repeat(10, axis=0)
    >>> gbt_accuracy(grid * 1.0, grid, rounds=5).value
    1.0
    """
    rows = _prepared("gbt_accuracy", latents, factors, latents_test, factors_test, n, chance, rng)
    fitted = _predictors.boosted(rows, rounds=rounds, rng=rng)
    return _score(rows, fitted.train, fitted.test, chance)


@replace(_GBT_FACTS, title="downstream accuracy, logistic regression", cost="minutes", units=True, version=3)
def lr_accuracy(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    n: int = 10_000,
    folds: Literal["shuffled", "ordered"] = "shuffled",
    chance: Chance = "proportional",
    rng: Rng = 0,
) -> Score:
    """How well a linear classifier predicts the factors after training on n rows ("LR10000" for n = 10,000).

    value = mean over factors of the accuracy on held-out rows, in [0, 1]

    Multinomial logistic regression on the latents as they are, with one of ten l2 penalties from 1e-4 to 1e4 that
    five-fold cross-validation chooses by accuracy, lbfgs stopped after 100 steps (scikit-learn's
    LogisticRegressionCV). `parts` as of `gbt_accuracy`, and the "strength" chosen for each factor.

    Args:
        latents: (n, d).
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        n: training rows; all there are, with a note, if fewer.
        folds: "ordered" cuts folds out of the rows as they stand, as public code does; in a sorted table that
            leaves classes out of folds. Latents stay in their order too, which rounding lets matter: the regression
            stops before it converges.
        chance: r = sum p^2 ("proportional") or max p ("majority"), of the held-out rows.
        rng: draws the n rows and the folds, splits off missing test rows.

    Edge cases: as of `gbt_accuracy`.
    """
    from sklearn.exceptions import ConvergenceWarning

    check_known("kind of folds", folds, ("shuffled", "ordered"))
    rows = _prepared("lr_accuracy", latents, factors, latents_test, factors_test, n, chance, rng)
    generator = np.random.default_rng(rng)
    ordered = folds == "ordered"
    columns = list(range(rows.latents.shape[1])) if ordered else _predictors.canonical_order(rows.latents)
    z, z_test = rows.latents[:, columns], rows.held_out.latents[:, columns]
    order = np.arange(len(z)) if ordered else generator.permutation(len(z))
    train, test, strengths = np.empty((3, rows.n_factors))
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is part of the definition
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn announces other defaults and attributes
        for j, codes in enumerate(rows.factors.T):
            model, strengths[j] = _logistic(z, codes, np.array_split(order, min(FOLDS, len(z))))
            train[j] = np.mean(_predict(model, z) == codes)
            test[j] = np.mean(_predict(model, z_test) == rows.held_out.factors[:, j])
    return _score(rows, train, test, chance, strength=strengths)


@Facts(
    title="data efficiency",
    measures="explicitness",
    bounds=(0.0, float("inf")),
    chance="1: nothing is learned from either",
    reference=REFERENCE,
    cost="seconds",
    asked=True,
    also={"accuracy_few": "explicitness", "accuracy_many": "explicitness"},
    identity=("model", "few", "many"),
    invariances=frozenset({"latents"}),
    units_if={"lr": True},
    version=6,
)
def data_efficiency(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    model: Literal["gbt", "lr"] = "gbt",
    few: int = 100,
    many: int = 10_000,
    rng: Rng = 0,
) -> Score:
    """Which share of the accuracy from many labelled rows is reached with few.

    value = accuracy(few rows) / accuracy(many rows), both means over factors; about 1 at best

    Args:
        latents: (n, d).
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        model: boosted trees ("gbt") or logistic regression ("lr").
        few: 100 in the literature.
        many: 10,000 in the literature; all rows, with a note, if there are fewer.
        rng: draws the rows.

    Edge cases: a code that says nothing has 1, as neither accuracy exceeds chance: `parts` has both. An accuracy of
    0 with many rows gives NaN, with a note.
    """
    check_known("model of data_efficiency", model, ("gbt", "lr"))
    if not 0 < few < many:
        raise UnknotError(f"data_efficiency: few is {few} and many {many}; expected 0 < few < many.")
    metric = gbt_accuracy if model == "gbt" else lr_accuracy
    test = {"latents_test": latents_test, "factors_test": factors_test}
    most = metric(latents, factors, n=many, rng=rng, **test)
    least = _quietly(metric, latents, factors, n=few, rng=rng, **test)
    parts = {
        **most.parts,
        "accuracy_few": least.value,
        "accuracy_many": most.value,
        "per_factor_few": least.parts["per_factor"],
    }
    if most.value == 0:
        parts["notes"].append("nothing is predicted right even with many rows: the ratio is undefined.")
    return Score(least.value / most.value if most.value > 0 else float("nan"), parts)


def _prepared(
    who: str, latents: Any, factors: Any, latents_test: Any, factors_test: Any, n: int, chance: str, rng: Rng
) -> Rows:
    """The rows with n of them for training."""
    check_chance(chance)
    if n < 1:
        raise UnknotError(f"{who}: n is {n}; at least one training row is needed.")
    rows = prepare(who, latents, factors, latents_test, factors_test, rng=rng)
    available = len(rows.latents)
    if n < available:
        chosen = np.random.default_rng(rng).permutation(available)[:n]
        return replace(rows, latents=rows.latents[chosen], factors=rows.factors[chosen], given=rows.given[chosen])
    if n > available:
        rows.notes.append(f"{available} training rows where {n} were asked for; all were used.")
    return rows


def _score(rows: Rows, train: Floats, test: Floats, chance: str, **more: Any) -> Score:
    level = chance_levels(rows.held_out.factors, rows.factors, chance)
    above = np.where(level < 1, adjusted(test, np.minimum(level, 1 - 1e-12)), test)
    parts = {"per_factor": test, "adjusted_per_factor": above, **more}
    means = {"min": float(test.min()), "train": float(train.mean()), "adjusted": float(above.mean())}
    return rows.score(test.mean(), parts, **means)


def _logistic(z: Floats, codes: Ints, folds: list[Ints]) -> tuple[Any, float]:
    """Logistic regression with the penalty that predicts held-out folds best, or the only class there is."""
    from sklearn.linear_model import LogisticRegressionCV

    if np.all(codes == codes[0]):
        return codes[0], float(STRENGTHS[0])
    splits = [(np.setdiff1d(np.arange(len(z)), fold), fold) for fold in folds]
    # Where its last fit starts (at the mean of the folds') is part of the number, as that does not converge.
    model = LogisticRegressionCV(Cs=STRENGTHS, cv=splits, scoring="accuracy")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model.fit(z, codes)
    return model, float(np.ravel(model.C_)[0])


def _predict(model: Any, z: Floats) -> Any:
    return model if isinstance(model, np.integer) else model.predict(z)


def _quietly(metric: Any, *args: Any, **options: Any) -> Score:
    """A score whose warnings the caller has already seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknotWarning)
        score: Score = metric(*args, **options)
    return score
