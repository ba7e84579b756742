"""The models that DCI and downstream accuracy fit to all factors: importances, and how well they predict.

Every model sees the latents in an order of their own, so that ties and random draws do not depend on how
the caller ordered them.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.errors import check_known, extras
from unknot.metrics._logistic import standardised, unit_range
from unknot.metrics.arrays import WIDE, Floats
from unknot.metrics.inputs import Rng, Rows
from unknot.processes.threads import one_thread, side_by_side

if TYPE_CHECKING:
    from unknot.metrics.boosting import BoostedTrees

ALPHAS = (1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.4, 0.8, 1.0)  # penalties that the lasso chooses from

FORESTS = tuple(
    product((8, 16, 32, 64, 128), (0.2, 0.4, 0.8, 1.0))
)  # depth, share of the latents tried at a split


@dataclass(frozen=True)
class Fitted:
    """What a model says about all factors."""

    importance: Floats  # (d, k)
    train: Floats  # (k,) accuracy, or explained variance, on the training rows
    test: Floats  # (k,) and on the held-out rows
    about: dict[str, Any] = field(default_factory=dict)  # further parts of a score


def canonical_order(latents: Floats) -> list[int]:
    """Columns sorted by their content."""
    return sorted(range(latents.shape[1]), key=lambda i: latents[:, i].tobytes())


def boosted(
    rows: Rows, *, rounds: int = 100, exact: bool = True, above_chance: bool = False, rng: Rng = 0
) -> Fitted:
    """Gradient boosted trees; see `boosting`."""
    from unknot.metrics.boosting import fit_trees, tabulate
    from unknot.metrics.screening import screen

    generator = np.random.default_rng(rng)
    columns = canonical_order(rows.latents)
    table = tabulate(rows.latents[:, columns])
    screened = screen(table, exact)
    latents_test, factors_test = rows.held_out.latents[:, columns], rows.held_out.factors
    importance, train, test = _empty(rows)

    def fit(j: int, draws: np.random.Generator) -> None:
        codes = rows.factors[:, j]
        trees = fit_trees(table, codes, rounds=rounds, exact=exact, screened=screened, rng=draws)
        importance[columns, j] = trees.importances
        if above_chance:
            shuffled = draws.permutation(codes)
            null = fit_trees(table, shuffled, rounds=rounds, exact=exact, screened=screened, rng=draws)
            importance[columns, j] = _above(trees, null)
        train[j] = np.mean(trees.fitted == codes)
        test[j] = np.mean(trees.predict(latents_test) == factors_test[:, j])

    if screened is None:
        for j in range(rows.n_factors):
            fit(j, generator)
    else:
        side_by_side(fit, range(rows.n_factors), generator.spawn(rows.n_factors))
    return Fitted(importance, train, test)


def _above(trees: "BoostedTrees", null: "BoostedTrees") -> Floats:
    """Importances, but 0 where they are no larger than what trees find in shuffled labels.

    A latent has to stand as far above the largest of the null as that stands above their mean: of many latents
    without information one is always the largest.
    """
    chance = null.importances * null.decrease
    decreases = trees.importances * trees.decrease
    decreases[decreases <= 2 * chance.max() - chance.mean()] = 0.0
    return decreases / decreases.sum() if decreases.any() else decreases


def forest(rows: Rows, *, rng: Rng = 0) -> Fitted:
    """Ten fully grown trees of a random forest."""
    from sklearn.ensemble import RandomForestClassifier

    return _classified(rows, rng, lambda seed: RandomForestClassifier(n_estimators=10, random_state=seed))


def forest_regression(rows: Rows, *, rng: Rng = 0) -> Fitted:
    """Ten trees that predict factors as numbers; ten-fold cross-validation chooses their depth and features."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import cross_val_score

    generator = np.random.default_rng(rng)
    columns = canonical_order(rows.latents)
    z, z_test = unit_range(rows.latents[:, columns], rows.held_out.latents[:, columns])
    y, y_test = unit_range(rows.numbers, rows.held_out.numbers)
    importance, train, test = _empty(rows)
    uniform = np.empty(rows.n_factors)

    def trees(depth: int, share: float) -> Any:
        seed = int(generator.integers(2**31))
        return RandomForestRegressor(n_estimators=10, max_depth=depth, max_features=share, random_state=seed)

    options = {"cv": min(10, len(z)), "scoring": "neg_mean_squared_error"}
    for j in range(rows.n_factors):
        fits = [cross_val_score(trees(*choice), z, y[:, j], **options).mean() for choice in FORESTS]
        model = trees(*FORESTS[int(np.argmax(fits))]).fit(z, y[:, j])
        importance[columns, j] = model.feature_importances_
        guesses = model.predict(z), model.predict(z_test)
        train[j], test[j], uniform[j] = _explained(guesses[0], y[:, j], guesses[1], y_test[:, j])
    return Fitted(importance, train, test, {"informativeness_uniform": float(uniform.mean())})


def lightgbm(rows: Rows, *, rounds: int = 100, rng: Rng = 0) -> Fitted:
    """LightGBM with trees of depth 3; the importance of a latent is the gain of its splits."""
    with extras("dci: model 'lightgbm'"):
        from lightgbm import LGBMClassifier

    def make(seed: int) -> Any:
        return LGBMClassifier(
            n_estimators=rounds,
            max_depth=3,
            num_leaves=8,
            importance_type="gain",
            n_jobs=1,
            random_state=seed,
            verbose=-1,
        )

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return _classified(rows, rng, make)


def lasso(rows: Rows, *, scaling: str = "standard") -> Fitted:
    """Absolute coefficients of a linear model with an l1 penalty, which ten-fold cross-validation chooses."""
    scales = {"standard": standardised, "minmax": unit_range}
    check_known("scaling of dci", scaling, scales)
    z, z_test = scales[scaling](rows.latents, rows.held_out.latents)
    y, y_test = scales[scaling](rows.numbers, rows.held_out.numbers)
    fit = _lasso_by_products if z.shape[1] > WIDE else _lasso_by_rows  # the same optimum, sooner
    weights, intercepts, alphas = fit(z, y, min(10, len(z)))
    train, test, uniform = _explained(z @ weights + intercepts, y, z_test @ weights + intercepts, y_test)
    about: dict[str, Any] = {"alpha": rows.spread(alphas)}
    if scaling == "minmax":
        about["informativeness_uniform"] = float(uniform.mean())
    return Fitted(np.abs(weights), train, test, about)


def _lasso_by_products(z: Floats, y: Floats, folds: int) -> tuple[Floats, Floats, Floats]:
    """Coefficients (d, k), intercepts (k,) and penalties (k,)."""
    from unknot.metrics.lasso_cv import lasso_cv

    mean, level = z.mean(axis=0), y.mean(axis=0)
    weights, alphas = lasso_cv(z - mean, y - level, ALPHAS, folds)
    return weights, level - mean @ weights, alphas


def _lasso_by_rows(z: Floats, y: Floats, folds: int) -> tuple[Floats, Floats, Floats]:
    """Coefficients (d, k), intercepts (k,) and penalties (k,)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoCV

    models = []
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in y.T:
            # Cyclic descent draws nothing; without a seed of its own it would move NumPy's global one.
            model = LassoCV(alphas=ALPHAS, cv=folds, tol=1e-8, max_iter=10_000, random_state=0)
            models.append(model.fit(z, column))
    weights, intercepts, alphas = zip(*((m.coef_, m.intercept_, m.alpha_) for m in models), strict=True)
    return np.stack(weights, axis=1), np.array(intercepts), np.array(alphas)


def _classified(rows: Rows, rng: Rng, make: Callable[[int], Any]) -> Fitted:
    """Any classifier with `feature_importances_`; `make` takes a seed."""
    generator = np.random.default_rng(rng)
    columns = canonical_order(rows.latents)
    latents_test, factors_test, _ = rows.held_out
    importance, train, test = _empty(rows)
    for j, codes in enumerate(rows.factors.T):
        model = make(int(generator.integers(2**31))).fit(rows.latents[:, columns], codes)
        weights = np.asarray(model.feature_importances_, dtype=np.float64)
        importance[columns, j] = weights / weights.sum() if weights.sum() > 0 else weights
        train[j] = np.mean(model.predict(rows.latents[:, columns]) == codes)
        test[j] = np.mean(model.predict(latents_test[:, columns]) == factors_test[:, j])
    return Fitted(importance, train, test)


def _explained(fit: Floats, y: Floats, fit_test: Floats, y_test: Floats) -> tuple[Floats, Floats, Floats]:
    """Share of variance explained on training and test rows, and on training rows if the variance were 1/12."""
    errors, errors_test = ((a - b) ** 2 for a, b in ((fit, y), (fit_test, y_test)))
    error, variance = errors.mean(axis=0), y.var(axis=0)
    train, test = (
        np.maximum(0.0, 1.0 - error / variance),
        np.maximum(0.0, 1.0 - errors_test.mean(axis=0) / variance),
    )
    return train, test, np.maximum(0.0, 1.0 - 12.0 * error)  # 1/12 is the variance of a uniform factor


def _empty(rows: Rows) -> tuple[Floats, Floats, Floats]:
    k = rows.n_factors
    return np.zeros((rows.latents.shape[1], k)), np.zeros(k), np.zeros(k)
