"""What to know of the factors before any score: how much they depend on each other, which labels are missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from unknot.metrics import METRICS
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import UNKNOWN, Rows
from unknot.metrics.score import Measure

DEPENDENT = 0.05  # share of a factor that another one knows, from which it is worth a sentence
SHOWN = 5  # pairs that are named
ROWS = 20_000  # are enough to measure dependence
ENOUGH = 10  # rows of a class whose rate of missing labels says something

# What dependent factors do to the metrics that answer a question.
CONSEQUENCES: dict[Measure, str] = {
    "modularity": "a latent that knows one factor knows some of the other, so that even a perfect code stays below 1",
    "compactness": "the latent of one factor also tells of the other, which narrows the gap to the runner-up",
    "holistic": "a latent of its own for each factor still tells of the other, so that a perfect code stays below 1",
    "explicitness": "one factor can be read off through the other, so that it need not be in the code",
    "robustness": "holding one factor fixed holds some of the other",
    "fairness": "predictions of one factor differ between the values of the other without being unfair",
}


@dataclass(frozen=True)
class Missing:
    """Labels of one factor that are missing.

    Attributes:
        factor: its name.
        share: of the rows.
        by: the other factor between whose classes the share differs most; empty if no other says more.
        shares: class of that factor -> share of its rows.
    """

    factor: str
    share: float
    by: str = ""
    shares: Mapping[str, float] | None = None

    def __str__(self) -> str:
        text = f"factor '{self.factor}': {self.share:.0%} of the labels are missing"
        if not self.shares:
            return f"{text}."
        low, high = min(self.shares, key=self.shares.__getitem__), max(self.shares, key=self.shares.__getitem__)
        return (
            f"{text}, from {self.shares[low]:.0%} where {self.by} is {low} to {self.shares[high]:.0%} where it is "
            f"{high}."
        )


def dependence(rows: Rows) -> Floats:
    """Normalised information (k, k) of each pair of factors: I / min(H, H'), corrected for bias, in [0, 1].

    0 for factors that are independent, 1 where one is determined by the other; looked at in rows that have both.
    """
    k = rows.n_factors
    step = -(-len(rows.factors) // ROWS)
    codes = np.ascontiguousarray(rows.factors[::step].T)
    result = np.eye(k)
    for a in range(k):
        for b in range(a + 1, k):
            both = (codes[a] != UNKNOWN) & (codes[b] != UNKNOWN)
            result[a, b] = result[b, a] = _normalised(codes[a][both], codes[b][both], int(rows.sizes[b]))
    return result


def _normalised(first: Ints, second: Ints, size: int) -> float:
    if not len(first):
        return 0.0
    least = min(_entropy(first)[0], _entropy(second)[0])
    return float(np.clip(information(first, second, size) / least, 0, 1)) if least > 0 else 0.0


def information(first: Ints, second: Ints, size: int) -> float:
    """Mutual information of two columns of codes in nats, corrected for bias; the second are below `size`.

    >>> round(information(np.tile([0, 0, 1, 1], 100), np.tile([0, 1, 2, 3], 100), 4), 2)  # log 2, less 3 / 800
    0.69
    """
    (alone, values), (other, others) = _entropy(first), _entropy(second)
    joint, _ = _entropy(first * size + second)
    return alone + other - joint - (values - 1) * (others - 1) / (2 * len(first))


def _entropy(codes: Ints) -> tuple[float, int]:
    """Entropy in nats, and how many codes occur."""
    few = codes.max() <= 4 * len(codes)
    counts = np.bincount(codes) if few else np.unique(codes, return_counts=True)[1]
    shares = counts[counts > 0] / len(codes)
    return float(-(shares * np.log(shares)).sum()), len(shares)


def dependence_sentences(matrix: Floats, names: Sequence[str], metrics: Iterable[str]) -> list[str]:
    """Which factors depend on each other, and what that does to which of the metrics; nothing if none do.

    >>> dependence_sentences(np.array([[1.0, 0.4], [0.4, 1.0]]), ["site", "species"], ["modularity"])[0]
    'factors depend on each other: site and species 0.40 (0 is independent, 1 is determined).'
    """
    pairs = [(float(matrix[a, b]), names[a], names[b]) for a, b in combinations(range(len(names)), 2)]
    pairs = sorted((pair for pair in pairs if pair[0] >= DEPENDENT), reverse=True)
    if not pairs:
        return []
    listed = ", ".join(f"{a} and {b} {share:.2f}" for share, a, b in pairs[:SHOWN])
    more = f" and {len(pairs) - SHOWN} more pairs" if len(pairs) > SHOWN else ""
    sentences = [f"factors depend on each other: {listed}{more} (0 is independent, 1 is determined)."]
    asked = list(metrics)
    for measure, consequence in CONSEQUENCES.items():
        touched = [
            name for name in asked if METRICS[name].facts.labels and METRICS[name].facts.measures == measure
        ]
        if touched:
            sentences.append(f"{', '.join(touched)}: {consequence}.")
    return sentences


def missing_labels(rows: Rows, words: Mapping[str, Sequence[str]]) -> list[Missing]:
    """The factors with missing labels, with the class of another factor that says most about where."""
    there = rows.factors != UNKNOWN
    return [_missing(rows, there, j, words) for j in range(rows.n_factors) if not there[:, j].all()]


def _missing(rows: Rows, there: Any, j: int, words: Mapping[str, Sequence[str]]) -> Missing:
    gone = ~there[:, j]
    name, share = rows.names[rows.kept[j]], float(gone.mean())
    best: tuple[float, str, dict[str, float]] = (0.0, "", {})
    for i in range(rows.n_factors):
        known = there[:, i]
        if i == j or rows.continuous[i] or not known.any():
            continue
        counts = np.bincount(rows.factors[known, i], minlength=int(rows.sizes[i]))
        missing = np.bincount(rows.factors[known & gone, i], minlength=int(rows.sizes[i]))
        shares = missing / np.maximum(counts, 1)
        enough = counts >= ENOUGH
        # differences of less than three standard errors are chance
        error = 3 * np.sqrt(share * (1 - share) * 2 / counts[enough].min()) if enough.any() else np.inf
        spread = float(np.ptp(shares[enough])) if enough.any() else 0.0
        if spread > max(best[0], error):
            own = rows.names[rows.kept[i]]
            classes = words.get(own) or [f"{value:g}" for value in np.unique(rows.given[known, rows.kept[i]])]
            best = spread, own, {str(classes[c]): float(shares[c]) for c in np.flatnonzero(enough).tolist()}
    return Missing(name, share, best[1], best[2] or None)
