"""Gradient boosted trees with scikit-learn's formulas, fast enough to score many representations.

For K > 2 classes every round fits one regression tree per class to the residuals 1[y = k] - p_k; for two classes one
tree in all. A split maximises S_left^2 / n_left + S_right^2 / n_right (S: sum of residuals), its threshold lies
halfway between the two neighbouring values, a leaf is one Newton step, and the importance of a latent is the sum of
the decreases of squared error at its splits, over all trees, normalised to one. Equally good latents are tried in
random order.

Numbers agree with GradientBoostingClassifier up to such ties. As there, latents are rounded to single precision and
values closer than 1e-7 count as equal: a latent whose whole range is smaller than that says nothing. Departs from it
where all latents are that small: then it is 1e-7 of the widest one's range, so that their units do not matter.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import Rng

BINS = 256
RATE = 0.1  # share of each Newton step that is taken
COARSE = 32  # bins of a latent of a screen at most
LANES = 16  # latents of a screen that are looked at side by side
RESOLUTION = np.float32(1e-7)  # values closer than this cannot be split, as in scikit-learn
SMALL = 1e-2  # range of the widest latent, below which the resolution is a share of it


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
    """Latents in few coarse bins, from which follows which of them a split can be on; see `screening`."""

    bins: NDArray[np.uint16]  # (width / 2, n) bins of two latents, the first times 32; none if entries are listed
    rows: Ints  # (n + 1,) where in `entries` each row starts
    entries: NDArray[np.int32]  # bin * width + latent, of all entries that are not in the most common bin
    common: Ints  # (width,) the same of the most common bin; none if entries are not listed
    n_bins: Ints  # (d,)
    places: Ints  # (d, 33) where in `order` each bin starts
    divisible: Bools  # (32, width) whether a split may lie inside; width is d and a few latents that say nothing
    order: NDArray[np.int32]  # (d, n) of the table
    cuts: Bools  # (d, n) whether a split may lie before the next value in `order`


class Growth(NamedTuple):
    """Trees while they grow, (K, ...); the children of node i are 2 i + 1 and 2 i + 2."""

    features: NDArray[np.int32]  # of inner nodes
    thresholds: Floats
    rows: NDArray[np.int32]  # (K, n) rows, those of a node side by side
    lows: Ints  # where in `rows` those of each node begin
    highs: Ints  # and end
    slots: Ints  # of inner nodes: which histogram they are counted in
    totals: Floats  # sum of residuals
    squares: Floats  # and of their squares


def tabulate(latents: Floats) -> Table:
    """Sort every latent and cut it into at most 256 bins of about equal count, never between equal values."""
    x = single(latents).T.copy()
    d, n = x.shape
    order = np.argsort(x, axis=1, kind="stable").astype(np.int32)
    rising = np.take_along_axis(x, order, axis=1)
    widest = (rising[:, -1].astype(np.float64) - rising[:, 0]).max() if x.size else 0.0  # may be beyond single
    resolution = RESOLUTION * np.float32(widest if widest < SMALL else 1)
    distinct = np.zeros((d, n), dtype=np.bool_)
    distinct[:, :-1] = rising[:, 1:] > rising[:, :-1] + resolution
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
        screened: of the same latents, where they are many, so that a split is looked for only among those that can have
            it; see `screening`.
        rng: decides between equally good latents.

    >>> latents = np.arange(12.0)[:, None]
    >>> trees = fit_trees(tabulate(latents), np.repeat([0, 1, 2], 4), rounds=5)
    >>> trees.predict(np.array([[2.0], [6.2], [50.0]])), trees.importances
    (array([0, 1, 2]), array([1.]))
    """
    if not 1 <= depth <= 10 or rounds < 0:
        raise UnknotError(f"boosting: depth {depth} and rounds {rounds}; expected depth 1..10 and rounds >= 0.")
    from unknot.metrics.kernels.gbt import add_leaves, residuals
    from unknot.metrics.kernels.gbt_trees import grow_round
    from unknot.metrics.screening import Workshop

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
    workshop = screened and Workshop(table, screened, exact, len(prior), depth, int(state[0]))
    for t in range(rounds):  # compiled code cannot be interrupted, so it comes back after every round
        residuals(raw, y, by_class, by_row)
        trees = _seedlings(features[t], thresholds[t], len(y))
        if workshop is None:
            grow_round((by_class, by_row), tuple(table), exact, tuple(trees), decreases, state)
        else:
            workshop.grow_round(by_class, trees, decreases)
        add_leaves(by_class, tuple(trees), RATE, values[t], raw)
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


def _seedlings(features: NDArray[np.int32], thresholds: Floats, n: int) -> Growth:
    k, n_inner = features.shape
    lows, highs, slots = np.zeros((3, k, 2 * n_inner + 1), dtype=np.int64)
    totals, squares = np.zeros((2, k, 2 * n_inner + 1))
    rows = np.empty((k, n), dtype=np.int32)
    return Growth(features, thresholds, rows, lows, highs, slots, totals, squares)


def _decide(raw: Floats, classes: Ints) -> Ints:
    result: Ints = classes[(raw[0] >= 0).astype(int) if len(classes) == 2 else raw.argmax(axis=0)]
    return result
