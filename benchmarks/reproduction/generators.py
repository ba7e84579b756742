"""Tables of known make: what generators draw, and codes of it that are known to keep factors apart or not."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

ROWS = 1_500
Numbers = NDArray[np.float64]
Labels = NDArray[np.int64] | Numbers
Drawn = tuple[Numbers, Labels]  # what the codes are made of, and the labels


def _independent(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (4, 6, 8, 10), size=(ROWS, 4))
    return labels * 1.0, labels


def _correlated(rng: np.random.Generator) -> Drawn:
    numbers = rng.multivariate_normal(np.zeros(4), 0.7 + 0.3 * np.eye(4), ROWS)
    labels = np.digitize(numbers, np.linspace(-1.5, 1.5, 7))
    return labels * 1.0, labels


def _discrete(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (40, 40, 3), size=(ROWS, 3))
    return labels * 1.0, labels


def _more_factors(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (4, 5, 6, 7, 8, 9), size=(ROWS, 6))
    return labels[:, :4] * 1.0, labels


def _nonlinear(rng: np.random.Generator) -> Drawn:
    sizes = (6, 8, 8, 10)
    labels = rng.integers(0, sizes, size=(ROWS, 4))
    made = [rng.permutation(size)[column] for column, size in zip(labels.T, sizes, strict=True)]
    return np.column_stack(made) * 1.0, labels


def _confounded(rng: np.random.Generator) -> Drawn:
    hidden = rng.integers(0, 6, size=(ROWS, 1))
    labels = np.where(rng.random((ROWS, 3)) < 0.85, hidden, rng.integers(0, 6, size=(ROWS, 3)))
    return labels * 1.0, labels


def _unbalanced(rng: np.random.Generator) -> Drawn:
    labels = np.column_stack([rng.choice(5, ROWS, p=(0.55, 0.2, 0.12, 0.08, 0.05)) for _ in range(4)])
    return labels * 1.0, labels


def _few_rows(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (12, 12, 12), size=(250, 3))
    return labels * 1.0, labels


def _circular(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (5, 12, 12), size=(ROWS, 3))
    made = labels * 1.0
    made[:, 1:] = np.abs(labels[:, 1:] - 4) + 0.3 * (
        labels[:, 1:] > 4
    )  # folded: classes far apart lie side by side
    return made, labels


def _chained(rng: np.random.Generator) -> Drawn:
    columns = [rng.integers(0, 7, ROWS)]
    for _ in range(3):
        columns.append(np.where(rng.random(ROWS) < 0.7, columns[-1], rng.integers(0, 7, ROWS)))
    labels = np.column_stack(columns)
    return labels * 1.0, labels


def _bell(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, 5, size=(ROWS, 3, 2)).sum(axis=2)
    return labels * 1.0, labels


def _coarse(rng: np.random.Generator) -> Drawn:
    made = rng.integers(0, 12, size=(ROWS, 3))
    return made * 1.0, made // 3


def _shuffled_few(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (7, 9, 9), size=(400, 3))
    made = [labels[:, 0], *(rng.permutation(9)[column] for column in labels[:, 1:].T)]
    return np.column_stack(made) * 1.0, labels


def _lagged(rng: np.random.Generator) -> Drawn:
    lags = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    numbers = rng.multivariate_normal(np.zeros(4), 0.6**lags, ROWS)
    labels = np.digitize(numbers, (-1.0, -0.4, 0.1, 0.6, 1.2))
    return labels * 1.0, labels


def _frequent_first(rng: np.random.Generator) -> Drawn:
    shares = 1 / np.arange(1, 9)
    labels = rng.choice(8, size=(ROWS, 3), p=shares / shares.sum())
    return labels * 1.0, labels


def _squared(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (6, 9, 12), size=(ROWS, 3))
    return labels**2.0, labels


def _few_dependent(rng: np.random.Generator) -> Drawn:
    hidden = rng.integers(0, 5, size=(350, 1))
    labels = np.where(rng.random((350, 4)) < 0.6, hidden, rng.integers(0, 5, size=(350, 4)))
    return labels * 1.0, labels


def _nested(rng: np.random.Generator) -> Drawn:
    fine = rng.integers(0, 9, ROWS)
    coarse = np.where(rng.random(ROWS) < 0.85, fine // 3, rng.integers(0, 3, ROWS))
    labels = np.column_stack([coarse, fine, rng.integers(0, (5, 7), size=(ROWS, 2))])
    return labels * 1.0, labels


def _incomplete(rng: np.random.Generator) -> Drawn:
    labels = rng.integers(0, (8, 8, 6), size=(2 * ROWS, 3))
    labels = labels[labels[:, 0] + labels[:, 1] <= 8][:ROWS]
    return labels * 1.0, labels


def _attributes(rng: np.random.Generator) -> Drawn:
    hidden = rng.normal(size=(600, 1))
    numbers = 0.4 * hidden + rng.normal(size=(600, 6))
    labels = np.stack([np.digitize(numbers[:, j], (0.1 * j, 0.1 * j + 0.8)) for j in range(6)], axis=1)
    return labels * 1.0, labels


def _measured(rng: np.random.Generator) -> Drawn:
    numbers = np.column_stack([rng.uniform(size=ROWS), rng.beta(2, 5, ROWS), rng.beta(0.5, 0.5, ROWS)])
    return 10 * numbers, numbers


TUNED: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "independent": _independent,
    "correlated": _correlated,
    "discrete": _discrete,
    "more factors": _more_factors,
    "non-linear": _nonlinear,
    "confounded": _confounded,
    "unbalanced": _unbalanced,
    "few rows": _few_rows,
    "folded": _circular,
    "chained": _chained,
    "bell": _bell,
    "coarse": _coarse,
    "shuffled": _shuffled_few,
    "lagged": _lagged,
    "frequent first": _frequent_first,
    "squared": _squared,
    "few and dependent": _few_dependent,
}
HELD_OUT: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "nested": _nested,
    "incomplete": _incomplete,
    "attributes": _attributes,
    "measured": _measured,
}
GENERATORS = {**TUNED, **HELD_OUT}


def codes(made: Numbers, rng: np.random.Generator) -> Iterator[tuple[str, Numbers]]:
    """Codes of what a generator drew, by name."""
    n, k = made.shape
    near = (made - made.mean(axis=0)) / made.std(axis=0) + 0.02 * rng.normal(size=made.shape)
    rotation, _ = np.linalg.qr(rng.normal(size=(k, k)))
    half = near.copy()
    half[:, k // 2 :] = rng.normal(size=(n, k - k // 2))
    digits = [np.stack(np.divmod(column, np.ceil(np.sqrt(column.max() + 1))), axis=1) for column in made.T]
    yield "perfect", near
    yield "rotated", near @ rotation
    yield "bent", np.exp(2 * near)
    yield "redundant", np.hstack([near, -near])
    yield "partial", half
    yield "noisy", near + 1.5 * rng.normal(size=near.shape)
    yield "split", np.hstack(digits) + 0.02 * rng.normal(size=(n, 2 * k))
    yield "wide", np.hstack([near, rng.normal(size=(n, 12))])
    yield "noise", rng.normal(size=near.shape)
