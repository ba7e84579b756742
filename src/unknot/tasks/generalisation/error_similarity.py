"""Do models make the same mistakes? Pearson correlation of what several of them say of the same images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import space
from unknot.tasks.result import TaskResult, as_number

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
        results: of `generalisation`, all on one world; those that are not on the split are left out.
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
    tested = [result for result in results if split in _probes(result)]
    if not tested:
        raise unknown("split of the results", split, {name for result in results for name in _probes(result)})
    factors, points = tested[0].settings["factors"], _probes(tested[0])[split]
    columns = [name for name, size in factors.items() if size > 1]
    predictions = [_predictions(result, tested[0], split, points, columns) for result in tested]
    grid = space(factors)
    truth = grid.scaled(grid.classes(points))[:, [grid.position(name) for name in columns]]
    names = _distinct([result.source for result in tested])
    if of == "predictions":
        names, compared = [*names, TRUTH], [*predictions, truth]
    else:
        compared = [predicted - truth for predicted in predictions]
    layers = np.stack(compared)
    per_factor = {name: _correlations(layers[:, :, j]) for j, name in enumerate(columns)}
    return Similarity(tuple(names), _mean(np.stack(list(per_factor.values()))), per_factor, split, len(points))


def comparable(results: Sequence[TaskResult]) -> list[tuple[str, list[TaskResult]]]:
    """Each split with the results that were tested on the same images of it, where there are two or more."""
    groups: dict[tuple[object, ...], list[TaskResult]] = {}
    for result in results:
        for split, points in _probes(result).items():
            grid = tuple(result.settings["factors"].items())
            groups.setdefault((split, result.world, grid, tuple(points)), []).append(result)
    return [(str(split), group) for (split, *_), group in groups.items() if len(group) > 1]


def _probes(result: TaskResult) -> dict[str, list[int]]:
    """Split -> the points whose predictions a result keeps."""
    points: dict[str, list[int]] = {}
    for row in result.tables.get("probe", []):
        points.setdefault(str(row["split"]), []).append(int(row["point"] or 0))
    return points


def _predictions(
    result: TaskResult, first: TaskResult, split: str, points: list[int], columns: Sequence[str]
) -> Floats:
    """(n, k) predictions on the shared images."""
    if result.world != first.world or _probes(result)[split] != points:
        raise UnknotError(
            f"error_similarity: '{result.source}' was tested on other images ({result.world}) than '{first.source}' "
            f"({first.world}); compare results on the same world and split."
        )
    rows = [row for row in result.tables["probe"] if row["split"] == split]
    return np.array([[as_number(row[f"predicted {name}"]) for name in columns] for row in rows])


def _correlations(layers: Floats) -> Floats:
    """(m, m) correlations of the rows of (m, n); NaN for a row that does not vary."""
    centred = layers - layers.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    flat = length <= 1e-9 * np.sqrt(layers.shape[1])
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
