"""Linear softmax heads: one logistic regression per factor on standardised latents, judged on held-out rows."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.held_out import third
from unknot.metrics.inputs import UNSEEN, Rng, Rows
from unknot.metrics.latents import dead
from unknot.processes.threads import one_thread


def hold_out(rows: Rows, rng: Rng) -> Rows:
    """The rows with a third of them moved to the test side, unless the caller gave test rows."""
    if rows.latents_test is not None:
        return rows
    test, train = third(rows.latents, rng)
    return replace(
        rows,
        latents=rows.latents[train],
        factors=rows.factors[train],
        given=rows.given[train],
        latents_test=rows.latents[test],
        factors_test=rows.factors[test],
        given_test=rows.given[test],
    )


def standardised(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Both sets with the mean and standard deviation of the training rows; dead latents become 0."""
    mean, scale = train.mean(axis=0), train.std(axis=0)
    gone = dead(train)
    scale[gone] = 1.0
    z, z_test = (train - mean) / scale, (test - mean) / scale
    z[:, gone] = 0.0
    z_test[:, gone] = 0.0
    return z, z_test


def unit_range(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Both sets with the smallest training value at 0 and the largest at 1; dead latents become 0."""
    low, high = train.min(axis=0), train.max(axis=0)
    width = np.where(high > low, high - low, np.inf)
    return (train - low) / width, (test - low) / width


def one_hot(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    """Both sets with one input per distinct training value of each latent; other values are all zeros."""
    values = [np.unique(column) for column in train.T]
    z, z_test = (
        np.hstack([(table[:, i, None] == value).astype(np.float64) for i, value in enumerate(values)])
        for table in (train, test)
    )
    return z, z_test


def fit(latents: Floats, codes: Ints, **options: Any) -> tuple[Any, bool]:
    """A multinomial logistic regression and whether its solver converged; None if only one class occurs."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if np.all(codes == codes[0]):
        return None, True
    model = LogisticRegression(**options)
    with warnings.catch_warnings(record=True) as caught, one_thread():
        warnings.simplefilter("always")
        model.fit(latents, codes)
    return model, not any(issubclass(w.category, ConvergenceWarning) for w in caught)


def log_softmax(logits: Floats) -> Floats:
    """Log-probabilities (n, classes), which rank rows as probabilities do and do not saturate."""
    logits = logits - logits.max(axis=1, keepdims=True)
    result: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return result


def log_probabilities(model: Any, latents: Floats, size: int, only: int) -> Floats:
    """Log-probability (n, size) of every class; a class unseen in training has the smallest float's."""
    floor = np.finfo(np.float64).eps
    probabilities = np.full((len(latents), size), floor)
    if model is None:
        probabilities[:, only] = 1.0
    else:
        probabilities[:, model.classes_] = np.maximum(model.predict_proba(latents), floor)
    return np.log(probabilities)


def accuracy(model: Any, latents: Floats, codes: Ints, only: int) -> float:
    """Share of rows predicted right; a value unseen in training is an error."""
    predicted = np.full(len(codes), only) if model is None else model.predict(latents)
    return float(np.mean((predicted == codes) & (codes != UNSEEN)))
