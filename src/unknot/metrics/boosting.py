"""Gradient boosted trees with scikit-learn's formulas, fast enough to score many representations.

For K > 2 classes every round fits one regression tree per class to the residuals 1[y = k] - p_k; for two classes one
tree in all. A split maximises S_left^2 / n_left + S_right^2 / n_right (S: sum of residuals), its threshold lies
halfway between the two neighbouring values, a leaf is one Newton step, and the importance of a latent is the sum of
the decreases of squared error at its splits, over all trees, normalised to one. Equally good latents are tried in
random order.

Numbers agree with GradientBoostingClassifier up to such ties. As there, latents are rounded to single precision and
values closer than 1e-7 count as equal: a latent whose whole range is smaller than that says nothing.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import WIDE, Bools, Floats, Ints
from unknot.metrics.inputs import Rng

BINS = 256
RATE = 0.1  # share of each Newton step that is taken
COARSE = 64  # bins at most by which wide codes are screened
SPARSE = 0.25  # share of entries outside the most common bins, below which the others are listed
RESOLUTION = np.float32(1e-7)  # values closer than this cannot be split, as in scikit-learn


class Table(NamedTuple):
    """Latents sorted and binned once, for all the factors that are fitted on them."""

    x: NDArray[np.float32]  # (d, n)
    bins: NDArray[np.uint8]  # (d, n)
    bins_by_row: NDArray[np.uint8]  # (n, d)
    n_bins: Ints  # (d,)
    order: NDArray[np.int32]  # (d, n) rows by rising value
    starts: Ints  # (d, BINS + 1) where in `order` each bin starts
    distinct: Bools  # (d, n) whether the next value in `order` is larger
    edges: Floats  # (d, BINS) threshold between each bin and the next
    counts: NDArray[np.int32]  # (d, BINS) rows in each bin


class Screen(NamedTuple):
    """Latents in few bins, by which the split of a node is looked for among the promising latents only."""

    bins: NDArray[np.uint8]  # (n, d), none if entries are listed
    by_latent: NDArray[np.uint8]  # (d, n), none if entries are listed
    rows: Ints  # (n + 1,) where in `entries` each row starts
    entries: NDArray[np.int32]  # start of the latent plus bin, of all entries that are not in the most common bin
    common: Ints  # (d,) start of the latent plus the most common bin
    starts: Ints  # (d + 1,) where the bins of each latent start
    counts: Ints  # (bins of all latents,) rows in each


def screen(table: Table) -> Screen | None:
    """The screen of a wide code; None for up to 100 latents, all of which are looked at closely."""
    d, n = table.x.shape
    if d <= WIDE:
        return None
    bins, common = np.zeros((d, n), dtype=np.uint8), np.zeros(d, dtype=np.int64)
    counts = []
    for f in range(d):
        cuts = np.flatnonzero(table.distinct[f]) + 1
        counts.append(np.diff(_coarse_cuts(cuts, n), prepend=0, append=n))
        bins[f, table.order[f]] = np.repeat(np.arange(len(counts[f])), counts[f])
        common[f] = counts[f].argmax()
    starts = np.append(0, np.cumsum([len(own) for own in counts]))
    other = bins != common[:, None]
    about = starts[:-1] + common, starts, np.concatenate(counts)
    if other.mean() > SPARSE:
        return Screen(bins.T.copy(), bins, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), *about)
    row, latent = np.nonzero(other.T)
    entries = (starts[latent] + bins[latent, row]).astype(np.int32)
    return Screen(bins[:0], bins[:0], np.append(0, np.cumsum(other.sum(axis=0))), entries, *about)


def _coarse_cuts(cuts: Ints, n: int) -> Ints:
    """At most 63 of the positions between two values.

    They lie close together at both ends, where few rows make a split, and the most common value has a bin of its own.
    """
    if len(cuts) < COARSE:
        return cuts
    edges = np.concatenate([[0], cuts, [n]])
    most = int(np.diff(edges).argmax())
    low, high = edges[most : most + 2]
    others = n - (high - low)
    ends = np.geomspace(1, others / 40, 16)
    ranks = np.concatenate([ends, np.linspace(others / 40, others - others / 40, 30)[1:-1], others - ends])
    ranks = np.where(ranks <= low, ranks, ranks + (high - low))
    near = cuts[np.minimum(np.searchsorted(cuts, np.round(ranks)), len(cuts) - 1)]
    return np.unique(np.concatenate([near, cuts[max(most - 1, 0) : most + 1]]))


def tabulate(latents: Floats) -> Table:
    """Sort every latent and cut it into at most 256 bins of about equal count, never between equal values."""
    x = single(latents).T.copy()
    d, n = x.shape
    order = np.argsort(x, axis=1, kind="stable").astype(np.int32)
    rising = np.take_along_axis(x, order, axis=1)
    distinct = np.zeros((d, n), dtype=np.bool_)
    distinct[:, :-1] = rising[:, 1:] > rising[:, :-1] + RESOLUTION
    bins = np.zeros((d, n), dtype=np.uint8)
    starts = np.full((d, BINS + 1), n, dtype=np.int64)
    starts[:, 0] = 0
    edges = np.full((d, BINS), np.inf)
    n_bins = np.ones(d, dtype=np.int64)
    for f in range(d):
        cuts = np.flatnonzero(distinct[f]) + 1
        if len(cuts) >= BINS:
            wanted = np.searchsorted(cuts, np.arange(1, BINS) * (n / BINS))
            cuts = np.unique(cuts[np.minimum(wanted, len(cuts) - 1)])
        n_bins[f] += len(cuts)
        starts[f, 1 : n_bins[f]] = cuts
        edges[f, : len(cuts)] = 0.5 * rising[f, cuts - 1].astype(np.float64) + 0.5 * rising[f, cuts]
        bins[f, order[f]] = np.repeat(np.arange(n_bins[f]), np.diff(starts[f, : n_bins[f] + 1]))
    counts = np.diff(starts, axis=1).astype(np.int32)
    return Table(x, bins, bins.T.copy(), n_bins, order, starts, distinct, edges, counts)


def single(latents: Floats) -> NDArray[np.float32]:
    """Latents in single precision, which is what trees compare."""
    if latents.size and np.abs(latents).max() > np.finfo(np.float32).max:
        raise UnknotError(
            f"boosting: latents reach {np.abs(latents).max():.3g}, beyond single precision; rescale them first."
        )
    return np.ascontiguousarray(latents, dtype=np.float32)


@dataclass(frozen=True)
class BoostedTrees:
    """A classifier of one factor.

    Attributes:
        classes: the codes that occurred in training.
        importances: (d,) share of the squared error that splits on each latent took away; zeros without splits.
        decrease: what all splits took away.
        fitted: (n,) predicted codes of the training rows.
    """

    classes: Ints
    importances: Floats
    decrease: float
    fitted: Ints
    prior: Floats = field(repr=False)  # (trees per round,)
    features: NDArray[np.int32] = field(repr=False)  # (rounds, trees per round, inner nodes)
    thresholds: Floats = field(repr=False)
    values: Floats = field(repr=False)  # (rounds, trees per round, leaves)

    def raw(self, latents: Floats) -> Floats:
        """Log-odds (1, n) of two classes, or logits (K, n) up to a constant."""
        from unknot.metrics.kernels.gbt import add_trees

        raw = np.repeat(self.prior[:, None], len(latents), axis=1)
        add_trees(raw, single(latents), self.features, self.thresholds, self.values, RATE)
        return raw

    def predict(self, latents: Floats) -> Ints:
        """Most probable code of each row."""
        return _decide(self.raw(latents), self.classes)


def fit_trees(
    table: Table,
    codes: Ints,
    *,
    rounds: int = 100,
    depth: int = 3,
    exact: bool = True,
    screened: Screen | None = None,
    rng: Rng = 0,
) -> BoostedTrees:
    """Fit the codes (n,) of one factor on tabulated latents.

    Args:
        table: the latents, from `tabulate`.
        codes: whole numbers; classes that do not occur are never predicted, and a single one always is.
        rounds: boosting rounds.
        depth: of every tree.
        exact: whether splits may lie between any two values, or only between bins (faster, other numbers).
        screened: of the same latents, where they are many: a split is looked for among the latents whose root of the
            gain comes within a fifth of the best one's when they are cut into 64 bins; at most 64 latents.
        rng: decides between equally good latents.

    >>> latents = np.arange(12.0)[:, None]
    >>> trees = fit_trees(tabulate(latents), np.repeat([0, 1, 2], 4), rounds=5)
    >>> trees.predict(np.array([[2.0], [6.2], [50.0]])), trees.importances
    (array([0, 1, 2]), array([1.]))
    """
    if not 1 <= depth <= 10 or rounds < 0:
        raise UnknotError(f"boosting: depth {depth} and rounds {rounds}; expected depth 1..10 and rounds >= 0.")
    from unknot.metrics.kernels.gbt import residuals
    from unknot.metrics.kernels.gbt_trees import grow_round, grow_screened_round

    classes, y = np.unique(codes, return_inverse=True)
    logs = np.log(np.bincount(y) / len(y))
    prior = np.diff(logs) if len(classes) == 2 else logs - logs.mean()
    if len(classes) == 1:
        rounds = 0
    raw = np.repeat(prior[:, None], len(y), axis=1)
    shape = (rounds, len(prior), 2**depth)
    features = np.zeros((*shape[:2], shape[2] - 1), dtype=np.int32)
    thresholds, values = np.full(features.shape, np.inf), np.zeros(shape)
    decreases = np.zeros(len(table.x))
    state = np.random.default_rng(rng).integers(1, 2**63, size=1, dtype=np.uint64)
    by_class, by_row = np.empty(raw.shape), np.empty(raw.shape[::-1])
    for t in range(rounds):  # compiled code cannot be interrupted, so it comes back after every round
        residuals(raw, y, by_class, by_row)
        trees = (features[t], thresholds[t], values[t])
        if screened is None:
            grow_round(raw, (by_class, by_row), tuple(table), exact, RATE, trees, decreases, state)
        else:
            both = tuple(table), tuple(screened)
            grow_screened_round(raw, (by_class, by_row), both, exact, RATE, trees, decreases, state)
    decreases = np.maximum(decreases, 0.0)
    return BoostedTrees(
        classes=classes,
        importances=decreases / decreases.sum() if decreases.sum() > 0 else decreases,
        decrease=float(decreases.sum()),
        fitted=_decide(raw, classes),
        prior=prior,
        features=features,
        thresholds=thresholds,
        values=values,
    )


def _decide(raw: Floats, classes: Ints) -> Ints:
    result: Ints = classes[(raw[0] >= 0).astype(int) if len(classes) == 2 else raw.argmax(axis=0)]
    return result
