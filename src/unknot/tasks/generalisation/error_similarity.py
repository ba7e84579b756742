"""Do models make the same mistakes? Pearson correlation of what several of them say of the same images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import FactorSpace, space
from unknot.tasks.result import TaskResult

Floats = NDArray[np.float64]
Of = Literal["predictions", "errors"]
TRUTH = "ground truth"


@dataclass(frozen=True, eq=False)
class Similarity:
    """How alike models are on one split.

    Attributes:
        names: of the m models; the ground truth is the last one where predictions are compared.
        matrix: (m, m) correlations averaged over the factors that both vary; NaN where there is none.
        per_factor: factor -> (m, m); NaN where a model says the same of every image.
        split: on whose test images.
        rows: how many images.
    """

    names: tuple[str, ...]
    matrix: Floats
    per_factor: dict[str, Floats]
    split: str
    rows: int


def error_similarity(
    results: Sequence[TaskResult], split: str = "extrapolation", *, of: Of = "predictions"
) -> Similarity:
    """Correlation over test images between the predictions, or the errors, of each two models.

    rho(a, b) = mean_j corr_x(f_j^a(x), f_j^b(x)),     in [-1, 1]

    Predictions are compared with the ground truth as one more model. Errors, f - y, show what is alike in models beyond
    being right. Every result of the task keeps its predictions for the same 500 test images of a split, so results made
    apart can be compared.

    Edge cases: constant factors are left out, and those of which a model says the same for every image; a model that
    does so for all of them has NaN.
    Reference: Schott et al. 2022, arXiv:2107.08221, section 5; which of the two is correlated there is not spelled out.

    Args:
        results: of `generalisation`, all on one world.
        split: which of their splits.
        of: "predictions" or "errors".

    >>> from unknot.tasks.generalisation.task import generalisation
    >>> def half(images):
    ...     return images.mean(axis=(1, 2)) @ np.ones((1, 5)) / 255
    >>> one = generalisation(half, "dsprites_rendered", "extrapolation", rows=10, name="one")
    >>> two = generalisation(half, "dsprites_rendered", "extrapolation", rows=10, name="two")
    >>> error_similarity([one, two]).matrix.round(2)[:2, :2]
    array([[1., 1.],
           [1., 1.]])
    """
    if of not in get_args(Of):
        raise unknown("similarity", of, get_args(Of))
    if not results:
        raise UnknotError("error_similarity: no results; give at least one of the task generalisation.")
    for result in results:
        if result.task != "generalisation":
            raise UnknotError(f"error_similarity: a result of the task {result.task}; expected generalisation.")
    factors = results[0].settings["factors"]
    grid, columns = space(factors), [name for name, size in factors.items() if size > 1]
    points = _points(results[0], split)
    said = [_said(result, results[0], split, points, columns) for result in results]
    truth = _truth(grid, points, columns)
    names = _distinct([result.source for result in results])
    stacked = np.stack([*said, truth] if of == "predictions" else [one - truth for one in said])
    per_factor = {name: _correlations(stacked[:, :, j]) for j, name in enumerate(columns)}
    matrix = _mean(np.stack(list(per_factor.values())))
    shown = (*names, TRUTH) if of == "predictions" else tuple(names)
    return Similarity(shown, matrix, per_factor, split, len(points))


def shared_splits(results: Sequence[TaskResult]) -> list[str]:
    """The splits that all results are on, if they are on one world."""
    if len({(r.world, tuple(r.settings["factors"].items())) for r in results}) != 1:
        return []
    kept = [dict.fromkeys(str(row["split"]) for row in r.tables.get("probe", [])) for r in results]
    return [name for name in kept[0] if all(name in other and _same(results, name) for other in kept)]


def _same(results: Sequence[TaskResult], split: str) -> bool:
    return len({tuple(_points(result, split)) for result in results}) == 1


def _points(result: TaskResult, split: str) -> list[int]:
    found = [int(str(row["point"])) for row in result.tables.get("probe", []) if row["split"] == split]
    if not found:
        raise unknown("split of the results", split, result.settings.get("splits", ()))
    return found


def _said(result: TaskResult, first: TaskResult, split: str, points: list[int], columns: Sequence[str]) -> Floats:
    """(n, k) predictions on the shared images."""
    if result.world != first.world or _points(result, split) != points:
        raise UnknotError(
            f"error_similarity: '{result.source}' was tested on other images ({result.world}) than '{first.source}' "
            f"({first.world}); compare results on the same world and split."
        )
    rows = [row for row in result.tables["probe"] if row["split"] == split]
    return np.array([[float(str(row[f"predicted {name}"])) for name in columns] for row in rows])


def _truth(grid: FactorSpace, points: list[int], columns: Sequence[str]) -> Floats:
    return grid.scaled(grid.classes(points))[:, [grid.position(name) for name in columns]]


def _correlations(said: Floats) -> Floats:
    """(m, m) correlations of the rows of (m, n); NaN for a row that does not vary."""
    centred = said - said.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    flat = length <= 1e-9 * np.sqrt(said.shape[1])
    unit = np.where(flat, np.nan, centred / np.where(flat, 1.0, length))
    clipped: Floats = np.clip(unit @ unit.T, -1.0, 1.0)
    return clipped


def _mean(layers: Floats) -> Floats:
    """The mean over the first axis of what is not NaN."""
    known = ~np.isnan(layers)
    total = np.where(known, layers, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names, numbered where two are the same."""
    return [
        name if names.count(name) == 1 else f"{name} #{names[: i + 1].count(name)}" for i, name in enumerate(names)
    ]
