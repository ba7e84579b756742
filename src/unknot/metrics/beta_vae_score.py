"""BetaVAE score: can a linear classifier tell which factor two batches share?"""

import warnings
from typing import Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rng
from unknot.metrics.interventions import InterventionSource, drawn, few_enough
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread

NEWTON_PARAMETERS = 400  # beyond this many weights the Hessian costs more than it saves
NEWTON_NUMBERS = 20_000_000  # nor may the products of features fill the memory


@Facts(
    title="BetaVAE score",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="1 / number of factors that vary",
    chance_part="chance",
    cost="seconds",
    reference="Higgins et al. 2017, beta-VAE: Learning Basic Visual Concepts with a Constrained Variational "
    "Framework, ICLR",
    widest=10_000,
    invariances=frozenset({"latents", "sign", "shift"}),
    units=True,
    assumes=("unmixed latents",),
)
def beta_vae_score(
    latents: Any = None,
    factors: Any = None,
    *,
    source: InterventionSource | None = None,
    points: int = 10_000,
    points_test: int = 5_000,
    batch: int = 64,
    rng: Rng = 0,
) -> Score:
    """Accuracy of a linear classifier that is told how far latents move while one factor is held fixed.

    One point: a factor j drawn at random, `batch` pairs of rows that share its value (another value for each
    pair), the feature mean |z - z'| over the pairs, the label j. A multinomial logistic regression (C = 1, features
    as they are) is trained on `points` of them; the score is its accuracy on `points_test` more.

    In [0, 1], 1 / k by chance. It saturates: k - 1 disentangled factors already give 1, and so do rotations that
    mix little (0.82 for a random rotation of a perfect code).

    Edge cases: constant factors are never drawn; a value that one row alone has is never held fixed, and
    `parts["support"]` counts the rows of each value; fewer than two varying factors, or a factor whose every value
    has a single row, are an error. Rows in which factors depend on each other give conditionals, not interventions.
    Departs from the public code: the regression runs until it converges instead of 100 iterations, and warns if it
    does not; the two rows of a pair differ.

    Args:
        latents: (n, d); may be left out if there is a source.
        factors: (n, k) classes.
        source: where to draw instead of the rows, such as `WorldSource(world, encode)`.
        points: training points.
        points_test: test points.
        batch: pairs per point.
        rng: decides all draws.

    Returns:
        Score with `parts["per_factor"]`, the accuracy on the points of each factor.

    >>> factors = np.stack(np.meshgrid(range(4), range(5)), axis=-1).reshape(-1, 2)
    >>> beta_vae_score(factors * 1.0, factors, points=200, points_test=100).value
    1.0
    """
    _check(points, points_test, batch)
    few_enough("beta_vae_score", points + points_test, batch)
    generator = np.random.default_rng(rng)
    draw = drawn("beta_vae_score", latents, factors, source)
    labels = generator.integers(0, len(draw.factors), size=points + points_test)
    features = draw.source.pair_differences(draw.factors[labels], batch, generator)
    right = _guesses(features[:points], labels[:points], features[points:]) == labels[points:]
    return Score(
        float(right.mean()),
        {
            **draw.about,
            "per_factor": draw.accuracy(labels[points:], right),
            "chance": 1 / len(draw.factors),
            "n_points": points,
            "n_test_points": points_test,
        },
    )


def _check(points: int, points_test: int, batch: int) -> None:
    if min(points, points_test, batch) < 1:
        raise UnknotError(
            f"beta_vae_score: points={points}, points_test={points_test}, batch={batch}; all must be at least 1."
        )


def _guesses(features: Floats, labels: Ints, points: Floats) -> Ints:
    """What a multinomial logistic regression with C = 1 says of the points, or the only label there is."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        return np.full(len(points), classes[0])
    d = features.shape[1]
    small = d * len(classes) <= NEWTON_PARAMETERS
    with one_thread():
        # Two classes have one line and half the penalty in scikit-learn's terms.
        if small and len(classes) > 2 and d**2 * len(features) <= NEWTON_NUMBERS:
            from unknot.metrics._multinomial import fit_multinomial

            weights, converged = fit_multinomial(features, codes.reshape(-1), len(classes))
            guesses = classes[np.argmax(points @ weights[:, :-1].T + weights[:, -1], axis=1)]
        else:
            from unknot.metrics._logistic import fit

            solver = {"solver": "newton-cholesky", "tol": 1e-6} if small else {}
            model, converged = fit(features, labels, C=1.0, max_iter=1000, **solver)
            guesses = np.asarray(model.predict(points))
    if not converged:
        warnings.warn(
            "beta_vae_score: the logistic regression did not converge; latents of very different scales can do that.",
            UnknotWarning,
            stacklevel=3,
        )
    result: Ints = guesses.astype(np.int64)
    return result
