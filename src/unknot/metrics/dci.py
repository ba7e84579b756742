"""DCI: disentanglement, completeness and informativeness from the importances of a predictor."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.metrics._inputs import Rng, Rows, dead, prepare
from unknot.metrics.score import Facts, Score, facts

Model = Literal["gbt", "gbt_fast", "lightgbm", "forest", "lasso"]
ALPHAS = (1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.4, 0.8, 1.0)  # penalties that the lasso chooses from
TINY = 1e-11  # added to importances before their entropy, so that a dead latent has D_i = 0


class Fitted(NamedTuple):
    """What a model says about all factors."""

    importance: NDArray[np.float64]  # (d, k)
    train: NDArray[np.float64]  # (k,) informativeness on the training rows
    test: NDArray[np.float64]  # (k,) and on the held-out rows
    about: dict[str, Any]  # further parts


@facts(
    Facts(
        title="DCI",
        measures="modularity",
        bounds=(0.0, 1.0),
        chance="near 0; informativeness: the largest class's share",
        reference="Eastwood & Williams 2018, A Framework for the Quantitative Evaluation of Disentangled Representations",
        cost="seconds",
        also={"completeness": "compactness", "informativeness": "explicitness"},
        identity=("model",),
        invariances=frozenset({"latents"}),
    )
)
def dci(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    latents_test: ArrayLike | None = None,
    factors_test: ArrayLike | None = None,
    model: Model = "gbt",
    rng: Rng = 0,
    rounds: int = 100,
    scaling: Literal["standard", "minmax"] = "standard",
) -> Score:
    """Whether each latent serves one factor (D), each factor one latent (C), and how well factors are predicted (I).

    With R_ij >= 0 the importance of latent i for factor j, of d latents and k factors:

    D_i = 1 - H(R_i. / sum_j R_ij) / log k,   D = sum_i rho_i D_i,   rho_i = sum_j R_ij / sum_ij R_ij
    C_j = 1 - H(R_.j / sum_i R_ij) / log d,   C = mean_j C_j
    I   = mean_j accuracy on held-out rows                                        all in [0, 1], 1 is best

    The value is D; `parts` has "completeness", "informativeness", "informativeness_train", the matrix "importance"
    (latents, factors), "per_latent" D_i with "weights" rho_i, and "per_factor" C_j with the accuracies.

    Args:
        latents: (n, d).
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        model: where importances come from; numbers of different models do not compare.
            "gbt": gradient boosted trees as in scikit-learn (100 rounds, depth 3), what the literature reports;
            "gbt_fast": the same with splits between 256 bins; "lightgbm": LightGBM, gain of splits (an extra);
            "forest": ten trees of a random forest; "lasso": |coefficients| of a linear model, for factors whose
            order means something, informativeness is then max(0, 1 - MSE / variance).
        rng: decides between equally good latents (gbt), draws the forest, splits off missing test rows.
        rounds: of boosting; 100 in the literature.
        scaling: of the lasso's latents and factors: "standard", or "minmax" as in the public code of Zaidi et al.

    Edge cases: constant factors are left out; a class that only test rows have counts as an error; a dead latent has
    D_i = 0 and weight 0; one latent leaves C undefined and one factor D (NaN, with a note); without any split
    D = C = 0. With equally important copies of a latent, D stays and C falls.
    Departs from the paper: informativeness is an accuracy, not an error. From public code: C is a plain mean, which for
    normalised importances is the same; the lasso takes all latents into account, where the public loop stops at
    the first one of weight 0, and scales by the variance, where the public 1 - 12 MSE
    ("informativeness_uniform" with scaling="minmax") holds for uniform factors only.

    >>> grid = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2).repeat(10, axis=0)
    >>> score = dci(grid[:, ::-1] * [1.0, -2.0], grid, rounds=5)
    >>> round(score.value, 3), round(score.parts["completeness"], 3), score.parts["informativeness"]
    (1.0, 1.0, 1.0)
    """
    if model not in _MODELS:
        raise unknown("model of dci", model, _MODELS)
    keep: Literal["keep", "bin"] = "keep" if model == "lasso" else "bin"
    rows = prepare("dci", latents, factors, latents_test, factors_test, held_out=True, rng=rng, continuous=keep)
    fitted = _MODELS[model](rows, rng, rounds, scaling)
    importance = fitted.importance
    per_latent, weights = disentanglement(importance)
    per_factor = completeness(importance)
    notes = list(rows.notes)
    if rows.n_factors == 1:
        notes.append("disentanglement is undefined for a single factor.")
    if len(importance) == 1:
        notes.append("completeness is undefined for a single latent.")
    parts = {
        **rows.about(),
        "notes": notes,
        "model": model,
        "completeness": float(per_factor.mean()),
        "informativeness": float(fitted.test.mean()),
        "informativeness_train": float(fitted.train.mean()),
        "importance": rows.spread(importance),
        "per_latent": per_latent,
        "weights": weights,
        "per_factor": rows.spread(per_factor),
        "informativeness_per_factor": rows.spread(fitted.test),
        "dead_latents": np.flatnonzero(dead(rows.latents)).tolist(),
        **fitted.about,
    }
    return Score(float(per_latent @ weights), parts)


def disentanglement(importance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """D_i of every latent and its weight rho_i, from a (d, k) matrix; NaN for k = 1.

    >>> disentanglement(np.array([[0.5, 0.5], [0.0, 1.0], [0.0, 0.0]]))[0].round(6) + 0.0
    array([0., 1., 0.])
    """
    total = importance.sum()
    weights = importance.sum(axis=1) / total if total > 0 else np.full(len(importance), 1 / len(importance))
    return _one_minus_entropy(importance), weights


def completeness(importance: NDArray[np.float64]) -> NDArray[np.float64]:
    """C_j of every factor, from a (d, k) matrix; NaN for d = 1."""
    return _one_minus_entropy(importance.T)


def _one_minus_entropy(importance: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - H(row) / log(columns)."""
    if importance.shape[1] == 1:
        return np.full(len(importance), np.nan)
    share = importance + TINY
    share = share / share.sum(axis=1, keepdims=True)
    return np.clip(1.0 + (share * np.log(share)).sum(axis=1) / np.log(importance.shape[1]), 0.0, 1.0)


def _boosted(exact: bool) -> "Callable[[Rows, Rng, int, str], Fitted]":
    def fit(rows: Rows, rng: Rng, rounds: int, scaling: str) -> Fitted:
        from unknot.metrics.boosting import fit_trees, tabulate

        generator = np.random.default_rng(rng)
        columns = _in_canonical_order(rows.latents)
        table = tabulate(rows.latents[:, columns])
        importance, train, test = _empty(rows)
        for j, codes in enumerate(rows.factors.T):
            trees = fit_trees(table, codes, rounds=rounds, exact=exact, rng=generator)
            importance[columns, j] = trees.importances
            train[j] = np.mean(trees.fitted == codes)
            test[j] = np.mean(trees.predict(_test(rows)[:, columns]) == rows.factors_test[:, j])  # type: ignore[index]
        return Fitted(importance, train, test, {})

    return fit


def _from_sklearn(make: Callable[[int, int], Any]) -> "Callable[[Rows, Rng, int, str], Fitted]":
    """Any classifier with `feature_importances_`; `make` takes the number of rounds and a seed."""

    def fit(rows: Rows, rng: Rng, rounds: int, scaling: str) -> Fitted:
        generator = np.random.default_rng(rng)
        columns = _in_canonical_order(rows.latents)
        importance, train, test = _empty(rows)
        for j, codes in enumerate(rows.factors.T):
            classifier = make(rounds, int(generator.integers(2**31)))
            classifier.fit(rows.latents[:, columns], codes)
            found = np.asarray(classifier.feature_importances_, dtype=np.float64)
            importance[columns, j] = found / found.sum() if found.sum() > 0 else found
            train[j] = np.mean(classifier.predict(rows.latents[:, columns]) == codes)
            test[j] = np.mean(classifier.predict(_test(rows)[:, columns]) == rows.factors_test[:, j])  # type: ignore[index]
        return Fitted(importance, train, test, {})

    return fit


def _forest(rounds: int, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=10, random_state=seed)


def _lightgbm(rounds: int, seed: int) -> Any:
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        raise UnknotError("dci: model 'lightgbm' needs LightGBM; pip install unknot[lightgbm].") from None
    return LGBMClassifier(
        n_estimators=rounds, max_depth=3, num_leaves=8, importance_type="gain", n_jobs=1, random_state=seed, verbose=-1
    )


def _lasso(rows: Rows, rng: Rng, rounds: int, scaling: str) -> Fitted:
    """|Coefficients| of a linear model with an l1 penalty, chosen by ten-fold cross-validation."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoCV
    from threadpoolctl import threadpool_limits

    scale = {"standard": _standard, "minmax": _minmax}.get(scaling)
    if scale is None:
        raise unknown("scaling of dci", scaling, ("standard", "minmax"))
    z, z_test = scale(rows.latents, _test(rows))
    y, y_test = scale(rows.numbers, rows.numbers_test)  # type: ignore[arg-type]
    importance, train, test = _empty(rows)
    alphas, uniform = np.empty(rows.n_factors), np.empty(rows.n_factors)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        for j in range(rows.n_factors):
            lasso = LassoCV(alphas=ALPHAS, cv=min(10, len(z))).fit(z, y[:, j])
            error = np.mean((lasso.predict(z) - y[:, j]) ** 2)
            error_test = np.mean((lasso.predict(z_test) - y_test[:, j]) ** 2)
            importance[:, j], alphas[j] = np.abs(lasso.coef_), lasso.alpha_
            train[j], test[j] = np.maximum(0.0, 1.0 - np.array([error, error_test]) / y[:, j].var())
            uniform[j] = max(0.0, 1.0 - 12.0 * error)
    about: dict[str, Any] = {"alpha": rows.spread(alphas)}
    if scaling == "minmax":
        about["informativeness_uniform"] = float(uniform.mean())
    return Fitted(importance, train, test, about)


_MODELS: dict[str, Callable[[Rows, Rng, int, str], Fitted]] = {
    "gbt": _boosted(exact=True),
    "gbt_fast": _boosted(exact=False),
    "lightgbm": _from_sklearn(_lightgbm),
    "forest": _from_sklearn(_forest),
    "lasso": _lasso,
}


def _in_canonical_order(latents: NDArray[np.float64]) -> list[int]:
    """Columns sorted by content, so that ties and random draws do not depend on the order of latents."""
    return sorted(range(latents.shape[1]), key=lambda i: latents[:, i].tobytes())


def _empty(rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    k = rows.n_factors
    return np.zeros((rows.latents.shape[1], k)), np.zeros(k), np.zeros(k)


def _test(rows: Rows) -> NDArray[np.float64]:
    return rows.latents if rows.latents_test is None else rows.latents_test


def _standard(train: NDArray[np.float64], test: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    spread = np.where(dead(train), np.inf, train.std(axis=0))  # a dead latent becomes 0
    return (train - train.mean(axis=0)) / spread, (test - train.mean(axis=0)) / spread


def _minmax(train: NDArray[np.float64], test: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    low, high = train.min(axis=0), train.max(axis=0)
    spread = np.where(high > low, high - low, np.inf)
    return (train - low) / spread, (test - low) / spread
