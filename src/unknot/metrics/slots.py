"""Slots: sets of vectors without an order, matched before they are compared, and tidied before that.

One image is k slots (k, d). Slots that repeat another, and slots that own no pixel, say nothing about an object; they
can be replaced by one and the same blank vector, so that a missing object looks alike everywhere.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Bools, Floats
from unknot.reading.arrays import as_array

Blank = Literal["corpus", "batch"]
DUPLICATE = 0.15  # half chord between unit slots: an angle of 17 degrees, a cosine of 0.955
TUPLES_OF_A_BATCH = 4  # images of four tuples share a blank vector in the published code


def align(a: Any, b: Any, c: Any, d: Any) -> tuple[Floats, Floats, Floats, Floats]:
    """The slots of four images in matching order, greedily.

    In each of k rounds the free quadruple with the smallest |b - a + c - d|^2 is taken; ties go to the first in index
    order. Greedy is not optimal: a search over all (k!)^3 matchings can find a smaller sum.

    Args:
        a: (n, k, d) slots; b, c and d alike.
        b: the same.
        c: the same.
        d: the same.

    >>> a, b = np.array([[[0.0], [5.0]]]), np.array([[[6.0], [1.0]]])
    >>> aligned = align(a, b, a + 2, (b + 2)[:, ::-1])
    >>> (aligned[1] - aligned[0] + aligned[2] - aligned[3]).ravel().tolist()
    [0.0, 0.0]
    """
    from unknot.metrics.kernels.slots import match_four

    slots = [check_slots("align", name, one) for name, one in zip("abcd", (a, b, c, d), strict=True)]
    if len({one.shape for one in slots}) > 1:
        shapes = ", ".join(str(one.shape) for one in slots)
        raise UnknotError(f"align: slots have shapes {shapes}; the four images need equally many of one width.")
    n, k, _ = slots[0].shape
    order = np.empty((n, k, 4), dtype=np.int64)
    match_four(*slots, order)
    first, second, third, fourth = (
        np.take_along_axis(one, order[:, :, i, None], axis=1) for i, one in enumerate(slots)
    )
    return first, second, third, fourth


def nearest_sums(one: Floats, other: Floats, beside: Floats | None = None) -> tuple[Floats, Floats]:
    """Sums of squared distances between every set of `one` (n, k, d) and every set of `other` (m, k, d), (n, m).

    Slots of two sets are matched greedily, the closest pair first. With `beside` (n, k, d), its slots travel with those
    of `one`; the second array are their summed squared distances from the slots that those were matched with.
    """
    from unknot.metrics.kernels.slots import match_two

    n, k, _ = one.shape
    distances = squared_distances(one, other)
    order = np.empty((n * len(other), k), dtype=np.int64)
    match_two(distances.reshape(-1, k, k), order)
    at = order.reshape(n, len(other), k, 1)
    matched = np.take_along_axis(distances, at, axis=3).sum(axis=(2, 3))
    if beside is None:
        return matched, matched
    carried = np.take_along_axis(squared_distances(beside, other), at, axis=3).sum(axis=(2, 3))
    return matched, carried


def squared_distances(one: Floats, other: Floats) -> Floats:
    """Squared distances |one[i, a] - other[j, b]|^2 as (i, j, a, b), by one product of matrices."""
    width = one.shape[2]
    centre = other.reshape(-1, width).mean(axis=0)
    x, y = one - centre, other - centre
    products = x.reshape(-1, width) @ y.reshape(-1, width).T
    products = products.reshape(len(x), x.shape[1], len(y), y.shape[1]).transpose(0, 2, 1, 3)
    squares = (x**2).sum(axis=2)[:, None, :, None] + (y**2).sum(axis=2)[None, :, None, :] - 2 * products
    apart: Floats = np.maximum(squares, 0.0)
    return apart


def duplicates(slots: Any, threshold: float = DUPLICATE) -> Bools:
    """Which slots (n, k) repeat an earlier slot of the same image.

    Slot j is a duplicate if some i < j has |s_i / |s_i| - s_j / |s_j|| / 2 < threshold, which is the sine of half the
    angle between them. A slot that is itself a duplicate still counts as the earlier one.

    Args:
        slots: (n, k, d).
        threshold: 0.15 as published; 0 marks none.

    >>> duplicates(np.array([[[1.0, 0.0], [0.0, 1.0], [2.0, 0.1]]])).tolist()
    [[False, False, True]]
    """
    unit = _unit(check_slots("duplicates", "slots", slots))
    square = (unit**2).sum(axis=2)
    chord = square[:, :, None] + square[:, None, :] - 2 * unit @ unit.transpose(0, 2, 1)
    near = np.sqrt(np.maximum(chord, 0.0)) / 2 < threshold
    marked: Bools = np.triu(near, k=1).any(axis=1)
    return marked


def nearest_cosine(slots: Any) -> Floats:
    """The largest cosine (n, k) between each slot and another of the same image: 1 where it says the same again.

    >>> nearest_cosine(np.array([[[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]]])).round(3).tolist()
    [[0.6, 0.8, 0.8]]
    """
    unit = _unit(check_slots("nearest_cosine", "slots", slots))
    cosines = unit @ unit.transpose(0, 2, 1)
    cosines[:, np.arange(unit.shape[1]), np.arange(unit.shape[1])] = -1.0
    nearest: Floats = cosines.max(axis=2)
    return nearest


def _unit(slots: Floats) -> Floats:
    """Slots of length 1; those of length 0 stay."""
    length = np.linalg.norm(slots, axis=2, keepdims=True)
    unit: Floats = np.divide(slots, length, out=np.zeros_like(slots), where=length > 0)
    return unit


def blanked(codes: Mapping[str, Any], marked: Mapping[str, Bools], blank: Blank = "corpus") -> dict[str, Floats]:
    """The slots of every role with the marked ones replaced by a blank vector, the mean of all slots.

    Args:
        codes: role -> (n, k, d) slots.
        marked: role -> (n, k), for each role of `codes`.
        blank: mean over the whole "corpus", constant everywhere; or over a "batch" of four tuples in their order, as
            published code has it.
    """
    check_known("blank", blank, get_args(Blank))
    slots = {role: check_slots("blanked", role, one) for role, one in codes.items()}
    n = len(next(iter(slots.values())))
    size = n if blank == "corpus" else TUPLES_OF_A_BATCH
    mean = np.empty((n, next(iter(slots.values())).shape[2]))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        mean[rows] = np.mean([one[rows].mean(axis=(0, 1)) for one in slots.values()], axis=0)
    return {role: np.where(marked[role][:, :, None], mean[:, None, :], one) for role, one in slots.items()}


def without_duplicates(
    codes: Mapping[str, Any], threshold: float = DUPLICATE, blank: Blank = "corpus"
) -> dict[str, Floats]:
    """The slots of every role with duplicates replaced by a blank vector; see `duplicates` and `blanked`."""
    return blanked(codes, {role: duplicates(one, threshold) for role, one in codes.items()}, blank)


def check_slots(who: str, what: str, slots: Any) -> Floats:
    """Slots as a finite (n, k, d) float64 array."""
    array = as_array(slots)
    if array.ndim != 3 or 0 in array.shape or array.dtype.kind not in "fiub":
        raise UnknotError(f"{who}: {what} is {array.dtype} of shape {array.shape}; expected numbers (n, k, d).")
    checked = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(checked).all():
        row = int(np.flatnonzero(~np.isfinite(checked).all(axis=(1, 2)))[0])
        raise UnknotError(
            f"{who}: {what} has NaN or infinity in row {row}; a model that diverged cannot be scored."
        )
    return checked
