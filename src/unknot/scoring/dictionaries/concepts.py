"""What a dictionary makes of each concept: its best latent, the latents it is split into, those that absorb it.

A concept is a value of a factor, such as species=owl, or a factor of 0 and 1. A latent fires where it is not zero.
Everything is chosen on training rows; numbers are those of test rows.

Split: one latent after the other is added that raises F1 of "any of them fires" by 0.03 or more, on training rows and
again on test rows; those that cover at least a quarter as much as the largest are the parts (Chanin et al. 2024, who
add inputs to a logistic probe by the same threshold).
Absorbed: a latent that fires for the concept, in rows most of which leave all parts silent, and whose decoder points
their way. It stands for something narrower and has taken their part over.
Reference: Chanin et al. 2024, A is for Absorption: Studying Feature Splitting and Absorption in Sparse Autoencoders,
arXiv:2409.14507.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import Rows
from unknot.metrics.single_latents import held_out_areas, single_latents

ENOUGH, ENOUGH_TEST = 20, 10  # rows that a concept needs
UNLIKELY = 5.0  # standard errors above chance from which on a latent is taken to fire for a concept
GAIN = 0.03  # of F1 that another part is worth
PART = 0.25  # what a part covers, of what the largest does
COVERED = 0.5  # of a concept, by its parts, for the others to be exceptions
FEWEST, SHARE = 5, 0.01  # rows of a concept, and share of them, that a latent must take over to be noticed


@dataclass(frozen=True)
class Concept:
    """What became of one concept; latents are chosen on training rows, numbers are those of test rows.

    Attributes:
        name: factor and value.
        n_rows: training rows that have it.
        n_test_rows: test rows that have it.
        latent: the one with the largest ROC area.
        area: its ROC area, 0.5 is chance.
        dense_unit: the unit of the dense activations with the largest ROC area; None without any.
        dense_area: its ROC area.
        parts: the latents that fire for it, the largest first; several if it is split, none if no latent does.
        f1: of the largest part alone.
        f1_of_parts: of all parts together.
        absorbed_by: the latents that fire in place of its parts.
        absorbed: share of its rows in which they do.
    """

    name: str
    n_rows: int
    n_test_rows: int
    latent: int
    area: float
    dense_unit: int | None
    dense_area: float | None
    parts: tuple[int, ...]
    f1: float
    f1_of_parts: float
    absorbed_by: tuple[int, ...]
    absorbed: float

    @property
    def split(self) -> bool:
        """Whether several latents share it."""
        return len(self.parts) > 1


@dataclass(frozen=True)
class Firing:
    """Where latents fire, in training and test rows, and where they point.

    Attributes:
        train: (n, d) sparse, 1 where a latent fires.
        test: the same of test rows.
        directions: (d, w) of length 1.
        same: (d,) the latent that stands for each: itself, or the first of those that repeat each other.
    """

    train: Any
    test: Any
    directions: NDArray[np.float32]
    same: Ints


def concepts(
    rows: Rows, firing: Firing, words: dict[str, Sequence[str]], dense: tuple[Any, Any] | None
) -> list[Concept]:
    """Look for every concept that has enough rows.

    Args:
        rows: codes and labels, with test rows.
        firing: of the same rows.
        words: what the classes of factors are called.
        dense: activations of the training and of the test rows.
    """
    areas = _best_areas(rows.latents, rows.latents_test, rows)
    beside = None if dense is None else _best_areas(*dense, rows)
    found = []
    for j, value, name in _named(rows, words):
        y, y_test = (np.where(codes[:, j] >= 0, codes[:, j] == value, -1) for codes in _labels(rows))
        if (y == 1).sum() < ENOUGH or (y_test == 1).sum() < ENOUGH_TEST:
            continue
        latent, area = areas[j][0][value], areas[j][1][value]
        unit, unit_area = (None, None) if beside is None else (beside[j][0][value], beside[j][1][value])
        found.append(
            Concept(
                name,
                int((y == 1).sum()),
                int((y_test == 1).sum()),
                int(latent),
                float(area),
                None if unit is None else int(unit),
                None if unit_area is None else float(unit_area),
                **_structure(firing, y, y_test),
            )
        )
    return found


def _labels(rows: Rows) -> tuple[Ints, Ints]:
    return rows.factors, rows.held_out.factors


def _named(rows: Rows, words: dict[str, Sequence[str]]) -> Iterator[tuple[int, int, str]]:
    """Factor, code and name of every concept; measurements have none, and 0 is the absence of what 1 is."""
    for j, column in enumerate(rows.kept):
        name, given = rows.names[column], rows.given[:, column]
        if rows.continuous[j]:
            continue
        values = np.unique(given[rows.factors[:, j] >= 0])
        if name not in words and values.tolist() == [0, 1]:
            yield j, 1, name
            continue
        for code, value in enumerate(values.tolist()):
            yield j, code, f"{name}={words[name][int(value)] if name in words else f'{value:g}'}"


def _best_areas(train: Any, test: Any, rows: Rows) -> list[tuple[Ints, Floats]]:
    """Of each factor: for each value the latent with the largest ROC area in training rows, and that of test rows."""
    columns = test.tocsc() if not isinstance(test, np.ndarray) else test
    result = []
    factors, factors_test = _labels(rows)
    for j, alone in enumerate(single_latents(train, factors, rows.sizes)):
        chosen = np.nan_to_num(np.abs(alone.area - 0.5)).argmax(axis=0)
        low = alone.area[chosen, np.arange(len(chosen))] < 0.5
        area = held_out_areas(columns, factors_test[:, j], chosen)
        result.append((chosen, np.where(low, 1 - area, area)))
    return result


def _structure(firing: Firing, y: Ints, y_test: Ints) -> dict[str, Any]:
    """The parts of a concept and what absorbs it; labels are 1, 0, and -1 where unknown."""
    likely, train, test = _candidates(firing, y, y_test)
    picks = _parts(train, y, test, y_test)
    covers = _count(train, y == 1)
    picks = sorted(picks, key=lambda at: -covers[at])
    parts = [at for at in picks if covers[at] >= PART * covers[picks[0]]]
    absorbers = _absorbers(firing.directions[likely], parts, train, y, test, y_test) if parts else []
    silent = ~_any(test, parts)
    return {
        "parts": tuple(likely[parts].tolist()),
        "f1": _f1(_any(test, parts[:1]), y_test),
        "f1_of_parts": _f1(~silent, y_test),
        "absorbed_by": tuple(likely[absorbers].tolist()),
        "absorbed": float((silent & _any(test, absorbers))[y_test == 1].mean()),
    }


def _candidates(firing: Firing, y: Ints, y_test: Ints) -> tuple[Ints, Any, Any]:
    """The latents that fire for a concept more than chance allows, and where they do; those of one direction as one."""
    own = _count(firing.train, y == 1)
    total = own + _count(firing.train, y == 0)
    rate = (y == 1).sum() / (y >= 0).sum()
    expected, spread = total * rate, np.sqrt(np.maximum(total * rate * (1 - rate), 1e-12))
    likely = np.flatnonzero(_precise(own, total, rate) & (own - expected >= UNLIKELY * spread))
    names, group = np.unique(firing.same[likely], return_inverse=True)
    train, test = (_united(fires[:, likely], group, len(names)) for fires in (firing.train, firing.test))
    return names, train, test


def _precise(own: Any, total: Any, rate: float) -> Any:
    """Whether what fires `total` times, `own` of them for a concept of this rate, is nearer to it than to chance."""
    return (own > 0) & (own >= (1 + rate) / 2 * total)


def _united(fires: Any, group: Ints, n: int) -> Any:
    """Columns of a group as one, which fires where any of them does."""
    from scipy.sparse import csr_array

    to_group = csr_array((np.ones(len(group), dtype=np.int8), (np.arange(len(group)), group)), (len(group), n))
    together = (fires @ to_group).tocsc()
    together.data[:] = 1
    return together


def _count(fires: Any, rows: Bools) -> Ints:
    """In how many of some rows each latent fires, (d,)."""
    counts: Ints = fires.T @ rows.astype(np.int64)
    return counts


def _any(fires: Any, columns: Sequence[int]) -> Bools:
    """Rows in which any of some latents fires."""
    if not columns:
        return np.zeros(fires.shape[0], dtype=np.bool_)
    result: Bools = np.asarray(fires[:, list(columns)].sum(axis=1)).ravel() > 0
    return result


def _f1(fires: Bools, y: Ints) -> float:
    both, missed = (fires & (y == 1)).sum(), (~fires & (y == 1)).sum()
    return float(2 * both / max(1, 2 * both + (fires & (y == 0)).sum() + missed))


def _parts(train: Any, y: Ints, test: Any, y_test: Ints) -> list[int]:
    """Latents added one after the other while they raise F1 of any of them, in training and in test rows."""
    picks: list[int] = []
    fires, before = np.zeros(len(y), dtype=np.bool_), 0.0
    fires_test, before_test = np.zeros(len(y_test), dtype=np.bool_), 0.0
    wanted = (y == 1).sum()
    left = np.ones(train.shape[1], dtype=np.bool_)
    while left.any():
        both = _count(train, (y == 1) & ~fires) + (fires & (y == 1)).sum()
        wrong = _count(train, (y == 0) & ~fires) + (fires & (y == 0)).sum()
        scores = np.where(left, 2 * both / (both + wrong + wanted), -1.0)
        at = int(scores.argmax())
        if scores[at] - before < GAIN:
            break
        left[at] = False
        with_it = fires_test | _any(test, [at])
        if (score := _f1(with_it, y_test)) - before_test >= GAIN:
            picks.append(at)
            fires, before = fires | _any(train, [at]), float(scores[at])
            fires_test, before_test = with_it, score
    return picks


def _absorbers(
    directions: NDArray[np.float32], parts: Sequence[int], train: Any, y: Ints, test: Any, y_test: Ints
) -> list[int]:
    """Latents that fire for a concept in place of its parts, and point their way."""
    covered = _any(train, parts)
    if covered[y == 1].mean() < COVERED:
        return []
    own, instead = _count(train, y == 1), _count(train, (y == 1) & ~covered)
    own_test, instead_test = _count(test, y_test == 1), _count(test, (y_test == 1) & ~_any(test, parts))
    total_test, rate = own_test + _count(test, y_test == 0), (y == 1).sum() / (y >= 0).sum()
    way = (own[list(parts), None] * directions[list(parts)]).sum(axis=0)
    along = directions @ way / max(float(np.linalg.norm(way)), 1e-12)
    fit = (
        (instead >= max(FEWEST, SHARE * (y == 1).sum()))
        & (2 * instead >= own)
        & (2 * instead_test >= own_test)
        & _precise(own_test, total_test, rate)
        & (along >= 3 / np.sqrt(directions.shape[1]))  # three times what chance gives
    )
    fit[list(parts)] = False
    return [int(at) for at in np.flatnonzero(fit)[np.argsort(-instead[fit], kind="stable")]]
