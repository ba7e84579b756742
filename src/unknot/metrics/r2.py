"""R² of factors with the variance of the whole dataset, inside and outside the training distribution.

The variance in the denominator is fixed by the dataset, not by the rows at hand, so that numbers of a test split
which lacks some values compare with those of any other split: 0 is as bad as always saying the global mean.
Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain,
arXiv:2107.08221, eq. 1-3.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from unknot.errors import UnknotError, check_known
from unknot.factors import FactorSpace
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.held_out import copies
from unknot.metrics.inputs import MissingLabelsError, Rng, Rows, prepare
from unknot.metrics.known_ridge import known_ridge
from unknot.metrics.known_rows import KnownRows, counts_of, known_rows
from unknot.metrics.latents import sparse_and_short
from unknot.metrics.ridge import Gram, ridge
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread

Readout = Literal["linear", "ridge", "mlp"]
RATIO_BINS, RATIO_TOP = 40, 2.0  # of the histogram of ratios, and its last edge
HIDDEN, EPOCHS, BATCH, LEAST_STEPS = (40, 40, 40), 8, 64, 3_000


def full_variance(targets: FactorSpace | ArrayLike) -> Floats:
    """Variance of each factor over the full dataset, for targets scaled to [0, 1].

    A factor of K equally frequent values has (K + 1) / (12 (K - 1)); a table of targets has what it has.

    >>> from unknot.factors import space
    >>> full_variance(space({"shape": 3, "x": 32})).round(4)
    array([0.1667, 0.0887])
    """
    if isinstance(targets, FactorSpace):
        return np.where(targets.sizes > 1, (targets.sizes + 1) / (12 * np.maximum(targets.sizes - 1, 1)), 0.0)
    return np.asarray(np.var(_table(targets, "targets"), axis=0))


class SquaredErrors:
    """Sums of squared errors per factor, added chunk by chunk; memory does not grow with the rows.

    >>> errors = SquaredErrors(1)
    >>> errors.add([[0.0], [1.0]], [[0.0], [0.5]])
    >>> errors.add([[1.0]], [[1.0]])
    >>> errors.r2([0.25]).round(4)
    array([0.6667])
    """

    def __init__(self, n_factors: int) -> None:
        self.total = np.zeros(n_factors)
        self.count = np.zeros(n_factors, dtype=np.int64)

    def add(self, predictions: ArrayLike, targets: ArrayLike, where: ArrayLike | None = None) -> None:
        """Add rows (n, k); `where` (n, k) or (n, 1) says which entries count."""
        predicted, wanted = _pair(predictions, targets, len(self.total))
        squares = (predicted - wanted) ** 2
        mask = np.ones((1, 1), dtype=np.bool_) if where is None else np.asarray(where, dtype=np.bool_)
        self.total += np.where(mask, squares, 0.0).sum(axis=0)
        self.count += np.broadcast_to(mask, squares.shape).sum(axis=0)

    def r2(self, variance: ArrayLike) -> Floats:
        """The share 1 - MSE / variance of each factor; NaN for a constant factor or one without rows (see `count`)."""
        sigma = np.asarray(variance, dtype=np.float64)
        if sigma.shape != self.total.shape:
            raise UnknotError(
                f"r2: variance has shape {sigma.shape}; expected one number for {len(self.total)} factors."
            )
        known = (self.count > 0) & (sigma > 0)
        result = np.full(len(self.total), np.nan)
        result[known] = 1 - self.total[known] / self.count[known] / sigma[known]
        return result


def r2_per_factor(predictions: ArrayLike, targets: ArrayLike, variance: ArrayLike) -> Floats:
    """R²_j = 1 - mean (f_j - y_j)² / variance_j, in (-inf, 1]; NaN for a factor whose variance is 0.

    Args:
        predictions: (n, k).
        targets: (n, k).
        variance: (k,) over the full dataset, see `full_variance`.
    """
    errors = SquaredErrors(_table(targets, "targets").shape[1])
    errors.add(predictions, targets)
    return errors.r2(variance)


def unseen_values(classes: ArrayLike, train_classes: ArrayLike) -> Bools:
    """Which entries (n, k) hold a factor value that never occurs in the training rows."""
    table, train = np.asarray(classes), np.asarray(train_classes)
    return np.stack([~np.isin(table[:, j], np.unique(train[:, j])) for j in range(table.shape[1])], axis=1)


@dataclass(frozen=True)
class OneOOD:
    """R² on the rows in which exactly one factor has a value never seen in training.

    Attributes:
        count: how many such rows there are.
        counts: (k,) in how many of them each factor is the unseen one.
        ood: (k,) R² of a factor where it is the unseen one; NaN where it never is.
        in_distribution: (k,) R² of a factor where another one is.
    """

    count: int
    counts: Ints
    ood: Floats
    in_distribution: Floats


def one_ood(predictions: ArrayLike, targets: ArrayLike, unseen: ArrayLike, variance: ArrayLike) -> OneOOD:
    """R² of the unseen factor and of the others, on test rows with exactly one unseen factor (eq. 3).

    No row qualifies in random and compositional splits; then every R² is NaN and the count is 0.

    Args:
        predictions: (n, k) on the test rows.
        targets: (n, k).
        unseen: (n, k) which values never occur in training, see `unseen_values`.
        variance: (k,) over the full dataset.
    """
    strange = np.asarray(unseen, dtype=np.bool_)
    chosen = strange.sum(axis=1, keepdims=True) == 1
    ood, other = SquaredErrors(strange.shape[1]), SquaredErrors(strange.shape[1])
    ood.add(predictions, targets, where=chosen & strange)
    other.add(predictions, targets, where=chosen & ~strange)
    return OneOOD(int(chosen.sum()), ood.count, ood.r2(variance), other.r2(variance))


@dataclass(frozen=True)
class RatioToMean:
    """How far predictions of an unseen value go, relative to how far they should.

    Attributes:
        median: (k,) median ratio of each factor; NaN where `counts` is 0.
        share: (k,) share of ratios in [0, 1], where the prediction is nearer to the mean than the truth.
        counts: (k,) how many ratios.
        histogram: (k, bins) counts over `edges`; ratios beyond the last edge are in the last bin.
        edges: (bins + 1,).
    """

    median: Floats
    share: Floats
    counts: Ints
    histogram: Ints
    edges: Floats


def ratio_to_mean(predictions: ArrayLike, targets: ArrayLike, unseen: ArrayLike, mean: ArrayLike) -> RatioToMean:
    """|f_j - mean_j| / |y_j - mean_j| of the unseen factor, on rows with exactly one (eq. 2).

    Rows whose target is the mean itself are left out. The paper only says "the mean of the factor" and speaks of the
    training mean in its conclusion: pass the mean of the training targets to follow that.

    Args:
        predictions: (n, k) on the test rows.
        targets: (n, k).
        unseen: (n, k) which values never occur in training.
        mean: (k,) of the training targets.
    """
    strange = np.asarray(unseen, dtype=np.bool_)
    k = strange.shape[1]
    predicted, wanted = _pair(predictions, targets, k)
    centre = np.asarray(mean, dtype=np.float64)
    if centre.shape != (k,):
        raise UnknotError(f"ratio_to_mean: mean has shape {centre.shape}; expected one number for {k} factors.")
    away = np.abs(wanted - centre)
    use = strange & (strange.sum(axis=1, keepdims=True) == 1) & (away >= 1e-12)
    edges = np.linspace(0.0, RATIO_TOP, RATIO_BINS + 1)
    median, share = np.full(k, np.nan), np.full(k, np.nan)
    histogram = np.zeros((k, RATIO_BINS), dtype=np.int64)
    for j in range(k):
        ratio = np.abs(predicted[use[:, j], j] - centre[j]) / away[use[:, j], j]
        histogram[j] = np.histogram(np.minimum(ratio, RATIO_TOP), edges)[0]
        if len(ratio):
            median[j], share[j] = np.median(ratio), np.mean(ratio <= 1)
    return RatioToMean(median, share, use.sum(axis=0), histogram, edges)


@Facts(
    title="R² of a readout",
    measures="explicitness",
    bounds=(float("-inf"), 1.0),
    chance=0.0,
    reference="Schott et al. 2022, arXiv:2107.08221, eq. 1",
    per_factor=True,
    version=4,
    identity=("readout",),
    wide={"readout": "ridge"},
    widest=6_000,
    power=3,
    by_rows=True,
    invariances=frozenset({"rows", "latents", "sign", "scale", "shift", "rotation"}),
    assumes=("ordered classes", "straight latents"),
    scatters="held out",
)
def r2(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    readout: Readout = "linear",
    rng: Rng = 0,
) -> Score:
    """How much of each factor's variance a readout of the latents explains on held-out rows.

    R²_j = 1 - MSE_j(test) / variance_j(all rows),     R² = mean_j R²_j,     in (-inf, 1]

    "linear" is least squares, which fits noise where latents are many; "ridge" is least squares with a penalty that
    leave-one-out cross-validation on the training rows chooses for each factor (`parts["penalty"]`), right at any
    width: latents that are mostly 0 (exactly, and of more than 100; then an offset matters) count in units of their
    firings (`unknot.metrics.units`), and sparse codes stay sparse; "mlp" is the paper's network, 40-40-40 ReLU units
    trained by Adam on the squared error for 8 epochs. Factors are scaled to [0, 1] by their range; class numbers of
    an unordered factor are numbers too, so its R² depends on how they were given.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; latents without variance say nothing.
    Departs from the paper: latents are standardised by the training rows, and the network takes at least 3,000
    steps of 64 rows, since tables here are far smaller than the image sets there.

    Args:
        latents: (n, d).
        factors: (n, k) classes or real numbers.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        readout: "linear", "ridge" or "mlp".
        rng: decides the split and the network's start.

    >>> latents = np.random.default_rng(0).normal(size=(300, 3))
    >>> round(r2(latents, latents @ [[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]]).value, 6)
    1.0
    """
    check_known("readout of r2", readout, get_args(Readout))
    generator = np.random.default_rng(rng)
    # The network draws on from where the split left the generator; least squares draws nothing.
    of_split = generator if readout == "mlp" else rng
    sparse = readout == "ridge" and sparse_and_short(latents)
    test = latents_test, factors_test
    try:
        rows = prepare("r2", latents, factors, *test, rng=of_split, continuous="keep", as_is=sparse)
    except MissingLabelsError:
        if readout != "ridge" or latents_test is not None or sparse:
            raise
        return _known_r2(*known_rows("r2", latents, factors, rng, "keep"))
    y, y_test = _scaled_factors(rows)
    more = {}
    if readout == "ridge":
        own, wanted = _distinct(rows.latents, y, copies(rows.latents))
        predicted, more["penalty"] = ridge(Gram.in_units(own, rows.held_out.latents), wanted)
    else:
        x, x_test = _scaled_latents(rows)
        predicted = (_linear if readout == "linear" else _mlp)(x, y, x_test, generator)
    variance = full_variance(np.concatenate([y, y_test]))
    per_factor = r2_per_factor(predicted, y_test, variance)
    rows.note_numbers("regressed as it is")
    return rows.score(per_factor.mean(), {"per_factor": per_factor, "variance": variance, **more})


def _distinct(x: Any, y: Floats, groups: Ints | None) -> tuple[Any, Floats]:
    """Each row once, with the mean target of its copies: a row is not to be guessed from its copy."""
    if groups is None:
        return x, y
    _, first, own, counts = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    return x[first], np.stack([np.bincount(own, column) / counts for column in y.T], axis=1)


def _known_r2(rows: Rows, known: Sequence[KnownRows]) -> Score:
    """R² by ridge regression where labels are missing, each factor in rows of its own."""
    low = np.nanmin(rows.numbers, axis=0)
    y = (rows.numbers - low) / (np.nanmax(rows.numbers, axis=0) - low)
    predicted, penalties = known_ridge(rows.latents, y, known)
    variance = np.nanvar(y, axis=0)
    errors = [
        np.mean((guess - y[part.test, j]) ** 2)
        for j, (guess, part) in enumerate(zip(predicted, known, strict=True))
    ]
    per_factor = 1 - np.array(errors) / variance
    rows.note_numbers("regressed as it is")
    parts = {"per_factor": per_factor, "variance": variance, "penalty": penalties}
    return rows.score(per_factor.mean(), parts, **counts_of(rows, known))


def _scaled_latents(rows: Rows) -> tuple[Floats, Floats]:
    """Latents with mean 0 and variance 1, of the training and the test rows."""
    mean, std = rows.latents.mean(axis=0), rows.latents.std(axis=0)
    std[std <= 1e-12 * np.maximum(1.0, np.abs(mean))] = np.inf
    x, x_test = rows.latents - mean, rows.held_out.latents - mean
    x /= std
    x_test /= std
    return x, x_test


def _scaled_factors(rows: Rows) -> tuple[Floats, Floats]:
    """Factors in [0, 1], of the training and the test rows."""
    y, y_test = rows.numbers, rows.held_out.numbers
    low = np.minimum(y.min(axis=0), y_test.min(axis=0))
    span = np.maximum(y.max(axis=0), y_test.max(axis=0)) - low
    return (y - low) / span, (y_test - low) / span


def _linear(x: Floats, y: Floats, x_test: Floats, _: np.random.Generator) -> Floats:
    mean = y.mean(axis=0)
    weights = np.linalg.lstsq(x, y - mean, rcond=None)[0]
    result: Floats = x_test @ weights + mean
    return result


def _mlp(x: Floats, y: Floats, x_test: Floats, rng: np.random.Generator) -> Floats:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    batch = min(BATCH, len(x))
    epochs = max(EPOCHS, -(-LEAST_STEPS * batch // len(x)))
    network = MLPRegressor(
        hidden_layer_sizes=HIDDEN,
        alpha=0.0,
        batch_size=batch,
        max_iter=epochs,
        n_iter_no_change=epochs,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the recipe is a number of epochs
        network.fit(x, y if y.shape[1] > 1 else y[:, 0])
        return np.asarray(network.predict(x_test)).reshape(len(x_test), -1)


def _table(values: ArrayLike, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise UnknotError(f"r2: {what} has shape {array.shape}; expected (n_samples, n_factors).")
    return array


def _pair(predictions: ArrayLike, targets: ArrayLike, k: int) -> tuple[Floats, Floats]:
    """Predictions and targets of k factors, same shape and finite."""
    predicted, wanted = _table(predictions, "predictions"), _table(targets, "targets")
    if predicted.shape != wanted.shape or predicted.shape[1] != k:
        raise UnknotError(
            f"r2: predictions have shape {predicted.shape}, targets {wanted.shape}; expected (n, {k}) both."
        )
    for name, array in (("predictions", predicted), ("targets", wanted)):
        if not np.isfinite(array).all():
            raise UnknotError(f"r2: {name} hold {int((~np.isfinite(array)).sum())} NaN or infinite entries.")
    return predicted, wanted
