"""DCI: disentanglement, completeness and informativeness, from the importances of a predictor."""

from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics import _predictors
from unknot.metrics._importance import completeness, disentanglement
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.score import Facts, Score

Model = Literal["gbt", "gbt_fast", "lightgbm", "forest", "forest_regression", "lasso"]
BOOSTED = ("gbt", "gbt_fast")
REGRESSIONS = ("forest_regression", "lasso")
TINY = 1e-11  # added to importances, so that what rounding leaves of a dead latent has D_i = 0


@Facts(
    title="DCI",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="near 0 (0.003 for noise at 10,000 rows); informativeness: the share of the largest class",
    reference="Eastwood & Williams 2018, A Framework for the Quantitative Evaluation of Disentangled "
    "Representations, ICLR",
    cost="seconds",
    also={"completeness": "compactness", "informativeness": "explicitness"},
    identity=("model", "above_chance"),
    invariances=frozenset({"latents"}),
    units_if={"forest": True},
    widest=400,
    assumes_if={"lasso": ("ordered classes", "many rows")},
    version=6,
)
def dci(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    model: Model = "gbt",
    above_chance: bool = False,
    rounds: int = 100,
    scaling: Literal["standard", "minmax"] = "standard",
    rng: Rng = 0,
) -> Score:
    """Whether each latent serves one factor (D), each factor needs one latent (C), and both suffice (I).

    With R_ij >= 0 the importance of latent i for factor j, of d latents and k factors:

    D = sum_i rho_i D_i,   D_i = 1 - H(R_i. / sum_j R_ij) / log k,   rho_i = sum_j R_ij / sum_ij R_ij
    C = mean_j C_j,        C_j = 1 - H(R_.j / sum_i R_ij) / log d
    I = mean_j accuracy on held-out rows                                        all in [0, 1], 1 is best

    The value is D. `parts` has "completeness", "informativeness" and "informativeness_train", the matrix
    "importance" (latents, factors), "per_latent" D_i with "weights" rho_i, "per_factor" C_j, and
    "informativeness_per_factor".

    Args:
        latents: (n, d).
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        model: where importances come from; numbers of different models do not compare.
            "gbt": gradient boosted trees with scikit-learn's formulas, what the literature reports;
            "gbt_fast": the same with splits between 256 bins of a latent only;
            "lightgbm": LightGBM, gain of splits (an extra);
            "forest": ten trees of a random forest;
            "forest_regression": ten trees that predict the factors' numbers, depth and features chosen among twenty
            by ten-fold cross-validation (minutes), as in the code of Zaidi et al.;
            "lasso": |coefficients| of a linear model.
            The last two are for factors whose order means something: numbers are predicted as they were given, and
            informativeness is max(0, 1 - MSE / variance).
        above_chance: of boosted trees: importances that shuffled labels could have are 0 (twice the time). Without it,
            each of many latents has a little importance by chance, and their sum is what D and C see.
        rounds: of boosting; 100 in the literature.
        scaling: of the lasso's latents and factors: "standard", or "minmax" as in the code of Zaidi et al.
        rng: decides between equally good latents, draws the forest, splits off missing test rows.

    The trees of more than 100 latents look for a split only on latents that can have it, by bounds from few bins, and
    lose none by it. Factors are then fitted side by side, on all cores.

    Edge cases: constant factors are left out; a class that only test rows have counts as an error; a dead latent has
    D_i = 0 and weight 0; without any importance D = C = 0. One factor leaves D undefined, one latent C: NaN, with
    a note. Copies of a latent leave D alone and lower C. D and C can be high without information: read I too.
    Departs from the paper: I is an accuracy, not an error. Departs from public code: C is a plain mean (the same
    thing unless model="lasso"); the lasso weighs all latents, where the code of Zaidi et al. stops at the first one
    of weight 0. Its 1 - 12 MSE, right for uniform factors only, is `parts["informativeness_uniform"]` of
    "forest_regression" and of "lasso" with scaling="minmax".

    Reference: Eastwood & Williams 2018; trees as in Locatello et al. 2019, arXiv:1811.12359.

    >>> grid = np.stack(np.meshgrid(range(3), range(4)), axis=-1).reshape(-1, 2).repeat(10, axis=0)
    >>> score = dci(grid[:, ::-1] * [1.0, -2.0], grid, rounds=5)
    >>> round(score.value, 6), round(score.parts["completeness"], 6), score.parts["informativeness"]
    (1.0, 1.0, 1.0)
    """
    check_known("model of dci", model, get_args(Model))
    if above_chance and model not in BOOSTED:
        raise UnknotError(f"dci: above_chance is of {' and '.join(BOOSTED)}; model is '{model}'.")
    continuous: Literal["keep", "bin"] = "keep" if model in REGRESSIONS else "bin"
    rows = prepare("dci", latents, factors, latents_test, factors_test, rng=rng, continuous=continuous)
    if model in REGRESSIONS:
        rows.note_numbers("predicted as a number")
    fitted = _fit(rows, model, above_chance, rounds, scaling, rng)
    total = fitted.importance.sum()
    value, per_latent = disentanglement(fitted.importance + TINY)
    complete, per_factor = completeness(fitted.importance + TINY)
    if rows.n_factors == 1:
        rows.notes.append("disentanglement is undefined for a single factor.")
    if len(per_latent) == 1:
        rows.notes.append("completeness is undefined for a single latent.")
    return rows.score(
        value,
        {"importance": fitted.importance, "per_factor": per_factor, "informativeness_per_factor": fitted.test},
        model=model,
        completeness=complete,
        informativeness=float(fitted.test.mean()),
        informativeness_train=float(fitted.train.mean()),
        per_latent=per_latent,
        weights=fitted.importance.sum(axis=1) / total if total > 0 else np.zeros(len(per_latent)),
        **fitted.about,
    )


def _fit(rows: Rows, model: str, above_chance: bool, rounds: int, scaling: str, rng: Rng) -> _predictors.Fitted:
    match model:
        case "gbt" | "gbt_fast":
            exact = model == "gbt"
            return _predictors.boosted(rows, rounds=rounds, exact=exact, above_chance=above_chance, rng=rng)
        case "lightgbm":
            return _predictors.lightgbm(rows, rounds=rounds, rng=rng)
        case "forest":
            return _predictors.forest(rows, rng=rng)
        case "forest_regression":
            return _predictors.forest_regression(rows, rng=rng)
    return _predictors.lasso(rows, scaling=scaling)
