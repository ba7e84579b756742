"""How well masks of slots agree with the true objects: ARI, FG-ARI, mean best overlap and segmentation covering.

Every measure takes the true segment of each pixel, (n, h, w) whole numbers with one for the background, and the
predicted one: (n, h, w) whole numbers, or (n, k, h, w) masks, of which the largest wins. It is computed for each image
and averaged.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import distinct
from unknot.metrics.score import Score
from unknot.reading.arrays import as_array

CELLS = 1 << 24  # of the tables in memory at a time


def ari(true: Any, predicted: Any) -> Score:
    """Adjusted Rand index: do pairs of pixels that belong together stay together?

    ARI = (sum_ij C(n_ij, 2) - E) / ((sum_i C(a_i, 2) + sum_j C(b_j, 2)) / 2 - E),
    E = sum_i C(a_i, 2) sum_j C(b_j, 2) / C(N, 2)        at most 1, 1 is best, 0 is chance

    n_ij counts pixels of true segment i and predicted segment j; a and b are its margins.

    Edge cases: 1 where both say that all is one segment.
    Reference: Hubert and Arabie 1985, Comparing Partitions.

    >>> true = np.array([[[0, 0, 1, 1]]])
    >>> ari(true, 5 - true).value, round(ari(true, np.array([[[0, 0, 1, 2]]])).value, 6)
    (1.0, 0.571429)
    """
    return _averaged("ari", true, predicted, lambda tables: _ari(tables.counts))


def fg_ari(true: Any, predicted: Any, *, background: int = 0) -> Score:
    """The adjusted Rand index over the pixels whose true segment is no background.

    Predictions may call those pixels what they like; how the background is cut up does not matter.

    Edge cases: an image of background alone has no value; it is left out and counted in `parts["n_empty"]`.

    >>> true = np.array([[[0, 0, 1, 2]]])
    >>> fg_ari(true, np.array([[[3, 1, 1, 3]]])).value
    1.0
    """

    def measure(tables: "_Tables") -> Floats:
        objects = tables.counts[:, tables.true != background]
        values = _ari(objects)
        values[objects.sum(axis=(1, 2)) == 0] = np.nan
        return values

    return _averaged("fg_ari", true, predicted, measure)


def mbo(true: Any, predicted: Any, *, background: int | None = 0) -> Score:
    """Mean best overlap: the overlap (intersection over union) of each object with the prediction that fits it best.

    mBO = mean over objects i of max_j n_ij / (a_i + b_j - n_ij)        in [0, 1], 1 is best

    One predicted segment may be the best for several objects.

    Edge cases: an image without objects is left out and counted in `parts["n_empty"]`.

    Args:
        true: (n, h, w).
        predicted: (n, h, w), or masks (n, k, h, w).
        background: the true segment that is no object; None counts it as one.
    """
    return _averaged("mbo", true, predicted, lambda tables: _best_overlap(tables, background, weighted=False))


def covering(true: Any, predicted: Any, *, background: int | None = 0) -> Score:
    """Segmentation covering: the best overlap of each object, weighted by its size.

    SC = sum_i a_i max_j n_ij / (a_i + b_j - n_ij) / sum_i a_i        in [0, 1], 1 is best

    Edge cases and arguments as in `mbo`.
    Reference: Arbelaez et al. 2011, Contour Detection and Hierarchical Image Segmentation.
    """
    return _averaged("covering", true, predicted, lambda tables: _best_overlap(tables, background, weighted=True))


class _Tables(NamedTuple):
    counts: Floats  # (n, true segments, predicted segments) pixels
    true: NDArray[Any]  # what the true segments are called


def _ari(counts: Floats) -> Floats:
    def pairs(many: Floats) -> Floats:
        return many * (many - 1) / 2

    together = pairs(counts).sum(axis=(1, 2))
    rows, columns = pairs(counts.sum(axis=2)).sum(axis=1), pairs(counts.sum(axis=1)).sum(axis=1)
    whole = pairs(counts.sum(axis=(1, 2)))
    expected = np.divide(rows * columns, whole, out=np.zeros_like(whole), where=whole > 0)
    most = (rows + columns) / 2
    # Both partitions trivial (one segment, or every pixel its own): they agree.
    trivial = most == expected
    index: Floats = np.where(trivial, 1.0, (together - expected) / np.where(trivial, 1.0, most - expected))
    return index


def _best_overlap(tables: _Tables, background: int | None, *, weighted: bool) -> Floats:
    counts = tables.counts
    sizes, areas = counts.sum(axis=2), counts.sum(axis=1)
    union = sizes[:, :, None] + areas[:, None, :] - counts
    best = np.divide(counts, union, out=np.zeros_like(counts), where=union > 0).max(axis=2)
    present = (sizes > 0) & (
        np.ones_like(tables.true, dtype=bool) if background is None else tables.true != background
    )
    weight = np.where(present, sizes if weighted else 1.0, 0.0)
    total = weight.sum(axis=1)
    means: Floats = np.divide((weight * best).sum(axis=1), total, out=np.full(len(total), np.nan), where=total > 0)
    return means


def _averaged(who: str, true: Any, predicted: Any, measure: Callable[[_Tables], Floats]) -> Score:
    truth, guess = _segments(who, true, predicted)
    names, truth = _codes(truth)
    guesses, guess = _codes(guess)
    cells = len(names) * len(guesses)
    step = max(1, CELLS // cells)
    values = np.empty(len(truth))
    for start in range(0, len(truth), step):
        t, p = truth[start : start + step], guess[start : start + step]
        cell = (np.arange(len(t))[:, None] * len(names) + t) * len(guesses) + p
        counts = np.bincount(cell.ravel(), minlength=len(t) * cells).astype(np.float64)
        values[start : start + step] = measure(_Tables(counts.reshape(len(t), len(names), len(guesses)), names))
    known = values[np.isfinite(values)]
    if not len(known):
        raise UnknotError(f"{who}: no image has an object; is the background numbered otherwise?")
    notes = [f"{len(values) - len(known)} images show no object; they are left out."] * (len(known) < len(values))
    parts = {"per_image": values, "n_images": len(values), "n_empty": len(values) - len(known), "notes": notes}
    return Score(float(known.mean()), parts)


def _segments(who: str, true: Any, predicted: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both as (n, pixels) whole numbers."""
    truth, guess = as_array(true), as_array(predicted)
    if truth.ndim != 3 or truth.dtype.kind not in "iub":
        raise UnknotError(
            f"{who}: true is {truth.dtype} of shape {truth.shape}; expected whole numbers (n, h, w)."
        )
    if guess.ndim == 4:
        if guess.dtype.kind == "f" and not np.isfinite(guess).all():
            raise UnknotError(
                f"{who}: predicted masks hold NaN or infinity; a model that diverged cannot be scored."
            )
        guess = guess.argmax(axis=1)
    elif guess.dtype.kind not in "iub":
        raise UnknotError(
            f"{who}: predicted is {guess.dtype} of shape {guess.shape}; expected whole numbers (n, h, w), or masks "
            "(n, k, h, w)."
        )
    if truth.shape != guess.shape or not truth.size:
        raise UnknotError(
            f"{who}: true segments are {truth.shape}, predicted ones {guess.shape}; both need (n, h, w) of the same "
            "images. Resize masks of whole numbers by nearest neighbour."
        )
    return truth.reshape(len(truth), -1), guess.reshape(len(guess), -1)


def _codes(segments: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    values, codes = distinct(segments.astype(np.int64).ravel())
    return values, codes.reshape(segments.shape)
