"""Single-neuron classification: how well one latent alone, cut into steps, gives one factor."""

from math import gcd
from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.accuracy import adjusted, chance_levels
from unknot.metrics.alignment import (
    UNALIGNED,
    Cuts,
    align,
    alignment_information,
    alignment_notes,
    published_cuts,
    tie_breaker,
)
from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.kernels.information import code, cuts_near, equal_frequency_cuts
from unknot.metrics.latents import column
from unknot.metrics.ranks import sorted_columns
from unknot.metrics.score import Facts, Score

Bins = Literal["auto", "equal", "classes", "gcd"]
Adjustment = Literal["eq3", "table1", "none"]
MOST_BINS = 4096  # the assignment of bins to classes takes cubic time


@Facts(
    title="Single-neuron classification (SNC)",
    measures="holistic",
    bounds=(0.0, 1.0),
    chance=0.0,
    reference="Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335",
    identity=("bins", "adjustment"),
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    version=3,
    assumes=("unmixed latents", "as many latents as factors", "balanced classes"),
    scatters="held out",
)
def snc(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rng: Rng = 0,
    bins: Bins = "auto",
    min_bin_size: int | None = None,
    chance: Literal["proportional", "majority"] = "proportional",
    adjustment: Adjustment = "eq3",
    share: bool = False,
    cuts: Cuts = "tie_safe",
) -> Score:
    """How well each factor is read from its own latent by a step function that keeps class sizes.

    Every factor gets a latent of its own (see `align`, by mutual information). The latent is cut into bins of
    equal count and bins are given to classes, to each class as many as its share of the rows, so that most rows
    are right.

    SNC = mean_j max(0, (a_j - r_j) / (1 - r_j)),   r_j = sum_c p_jc^2        in [0, 1], 1 is best

    Args:
        latents: (n, d) numbers, the rows that bins and classes are fitted on.
        factors: (n, k) whole numbers.
        latents_test: held-out rows, which the value is computed on; a third of the rows if left out.
        factors_test: their factors.
        rng: decides the split.
        bins: "classes" (one bin per class), "gcd" (as many as the greatest common divisor of the class counts
            allows), "equal": one per class where the factor is balanced within five standard deviations, else
            "gcd" if its bins hold at least `min_bin_size` rows, else bins of that size and class shares rounded;
            or "auto": that, or one bin per class, as large as the class and in the order of the classes' means,
            whichever gets more training rows right. So a perfect code scores 1, however the classes are drawn.
        min_bin_size: rows in a bin; max(8, n / 512) if left out.
        chance: r_j as above or "majority", the frequency of the most common class.
        adjustment: "eq3" as above; "table1", max(0, a_j - r_j), as in the paper's Table 1; "none", a_j.
        share: with more factors than latents, let factors share a latent.
        cuts: "tie_safe", or "published": at the values of ranks floor(m n / bins), which merges levels of a
            discrete latent and then leaves as many classes, the last ones, without a bin. With bins="classes"
            this gives the accuracies of the published code.

    Returns:
        The mean over factors on held-out rows; `parts` has the value of the training rows as "train".

    Edge cases: constant factors are left out. A factor without a latent (more factors than latents) counts 0.
    A dead latent predicts one class. Where a factor has zero information with its latent, a note says so. A test
    value that no training row has counts as an error.

    Departs from the paper: rows with equal latents always share a bin; test rows instead of training rows; a
    smallest bin size, because sampled labels have gcd 1. Departs from the published code: adjusted for chance;
    gcd bins.

    Reference: Mahon et al. 2024, arXiv:2304.02335, section 4 and eq. 3.

    >>> from unknot.examples import toy_m1
    >>> z, y = toy_m1()
    >>> snc(z, y, latents_test=z, factors_test=y).value
    0.25
    """
    _check(bins, min_bin_size, adjustment, cuts)
    rows = prepare("snc", latents, factors, latents_test, factors_test, rng=rng, as_is=cuts == "tie_safe")
    z_test, y_test, _ = rows.held_out
    information = alignment_information(rows, cuts)
    alignment = align(information, share=share, ties=tie_breaker(rows, information))
    accuracy = np.zeros((2, rows.n_factors))
    level = np.stack([chance_levels(y, rows.factors, chance) for y in (rows.factors, y_test)])
    n_bins = np.zeros(rows.n_factors)
    for j, i in enumerate(alignment.latents):
        if i == UNALIGNED:
            accuracy[:, j] = level[:, j]
            continue
        points, class_of, right = _steps(*_in_order(rows, i, j), bins, min_bin_size, cuts)
        n_bins[j] = len(class_of)
        guesses = class_of[code(column(z_test, i)[:, None], [points])[:, 0]]
        accuracy[:, j] = right / len(rows.factors), np.mean(guesses == y_test[:, j])
    values = _adjust(accuracy, level, adjustment)
    values[:, alignment.latents == UNALIGNED] = 0.0
    parts = {
        "per_factor": values[1],
        "per_factor_train": values[0],
        "accuracy": accuracy[1],
        "accuracy_train": accuracy[0],
        "chance": level[1],
        "alignment": alignment.latents,
        "mutual_information": information,
        "n_bins": n_bins,
    }
    rows.notes.extend(alignment_notes(rows, alignment))
    return rows.score(values[1].mean(), parts, train=float(values[0].mean()))


def _in_order(rows: Rows, i: int, j: int) -> tuple[Floats, Ints]:
    """A latent (n,), sorted, and a factor (n,) in its order."""
    if rows.latents.shape[1] > WIDE:
        z = column(rows.latents, i)
        order = np.argsort(z)
        return z[order], rows.factors[order, j]
    columns, orders = sorted_columns(rows)
    return columns[i][orders[i]], rows.factors[orders[i], j]


def _steps(ordered: Floats, y: Ints, bins: Bins, min_bin_size: int | None, cuts: Cuts) -> tuple[Floats, Ints, int]:
    """Cut points, the class of every bin, and how many rows that gets right, of a sorted latent (n,) and its factor."""
    counts = np.bincount(y)
    capacity = _bins_of_classes(counts, bins, min_bin_size)
    n_bins = int(capacity.sum())
    points = equal_frequency_cuts(ordered, n_bins) if cuts == "tie_safe" else published_cuts(ordered, n_bins)
    steps = _assigned(points, capacity, ordered, y, cuts)
    if bins != "auto" or cuts == "published":
        return steps
    means = np.bincount(y, weights=ordered) / counts
    ends = np.cumsum(counts[np.argsort(means, kind="stable")])[:-1]
    ladder = _assigned(cuts_near(ordered, ends), np.ones_like(counts), ordered, y, cuts)
    return max(ladder, steps, key=lambda each: each[2])


def _assigned(points: Floats, capacity: Ints, ordered: Floats, y: Ints, cuts: Cuts) -> tuple[Floats, Ints, int]:
    """The same for cut points, if each class may have so many bins."""
    from scipy.optimize import linear_sum_assignment

    counts = np.bincount(y)
    n_bins, ends = len(points) + 1, np.empty(len(points) + 2, dtype=np.int64)  # of the bins: stretches of the rows
    ends[0], ends[1:-1], ends[-1] = 0, np.searchsorted(ordered, points), len(y)
    first = np.repeat(np.arange(n_bins) * len(counts), ends[1:] - ends[:-1])
    table = np.bincount(first + y, minlength=n_bins * len(counts))
    table = table.reshape(len(points) + 1, len(counts))
    slots = np.repeat(np.arange(len(counts)), capacity)
    class_of = np.full(len(table), len(counts))  # no class, for bins without training rows
    used = np.flatnonzero(table.any(axis=1))
    if cuts == "published":
        # It counts bins from the top, which decides between equally good assignments, and lets a bin that is
        # missing cost the last class its place.
        used, slots = used[::-1], slots[: len(used)]
    chosen = linear_sum_assignment(table[np.ix_(used, slots)], maximize=True)[1]
    class_of[used] = slots[chosen]
    return points, class_of, int(table[used, slots[chosen]].sum())


def _bins_of_classes(counts: Ints, bins: Bins, min_bin_size: int | None) -> Ints:
    """How many bins each class receives."""
    n, k = int(counts.sum()), len(counts)
    size = gcd(*map(int, counts))
    least = max(8, -(-n // 512)) if min_bin_size is None else min_bin_size
    balanced = bool(np.all(np.abs(counts - n / k) <= 5 * np.sqrt(n / k)))
    if bins == "classes" or (bins in ("auto", "equal") and balanced):
        return np.ones(k, dtype=np.int64)
    if bins == "gcd" or size >= least:
        if n // size > MOST_BINS:
            raise UnknotError(
                f"snc: class counts have the greatest common divisor {size}, which makes {n // size} bins of {n} "
                f"rows; at most {MOST_BINS} can be assigned. Use bins='auto', or rows with balanced classes."
            )
        return counts // size
    share = counts / least
    capacity = np.maximum(1, np.floor(share).astype(np.int64))
    missing = round(n / least) - int(capacity.sum())
    if missing > 0:  # to the largest remainders; a stable sort decides between equals
        remainder = np.where(share >= 1, share - capacity, -1.0)
        capacity[np.argsort(-remainder, kind="stable")[:missing]] += 1
    return capacity


def _adjust(accuracy: Floats, level: Floats, adjustment: str) -> Floats:
    if adjustment == "eq3":
        return adjusted(accuracy, level)
    return accuracy.copy() if adjustment == "none" else np.maximum(0.0, accuracy - level)


def _check(bins: str, min_bin_size: int | None, adjustment: str, cuts: str) -> None:
    check_known("bins", bins, get_args(Bins))
    check_known("adjustment", adjustment, get_args(Adjustment))
    check_known("cuts", cuts, get_args(Cuts))
    if min_bin_size is not None and min_bin_size < 1:
        raise UnknotError(f"snc: min_bin_size is {min_bin_size}; expected at least 1.")
