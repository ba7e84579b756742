"""Do models make the same mistakes? Pearson correlation of what several of them say of the same images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import space
from unknot.tasks.result import TaskResult, as_number

Floats = NDArray[np.float64]
Of = Literal["ood", "predictions", "errors"]
KINDS_OF: Mapping[Of, str] = {
    "ood": "predictions of the one unseen factor",
    "predictions": "predictions of all factors",
    "errors": "errors of all factors",
}
TRUTH = "ground truth"


@dataclass(frozen=True, eq=False)
class Similarity:
    """How alike models are on one split.

    Attributes:
        names: of the m models, or of the m architectures where `of` is "ood"; the ground truth is the last one where
            predictions are compared.
        matrix: (m, m) correlations; NaN where there is none.
        per_factor: factor -> (m, m); NaN where a model says the same of every image.
        split: on whose test images.
        rows: how many images.
        of: what is correlated.
    """

    names: tuple[str, ...]
    matrix: Floats
    per_factor: dict[str, Floats]
    split: str
    rows: int
    of: Of


def error_similarity(results: Sequence[TaskResult], split: str = "extrapolation", *, of: Of = "ood") -> Similarity:
    """Correlation over test images between what each two models say of them.

    | of | correlated are | on |
    |---|---|---|
    | ood | predictions of the one factor whose value is new, of architectures | images with one new value |
    | predictions | predictions of each factor, averaged over factors, of single models | all |
    | errors | the same of f - y, which shows what is alike in models beyond being right | all |

    rho(a, b) = corr_x(f_j^a(x), f_j^b(x)), j = j(x) the unseen factor of x,     in [-1, 1]

    is averaged over pairs of runs of two architectures, or of one with different seeds: no run is compared with itself.
    Images of all unseen factors are taken together, so that it counts which factors are predicted too low: where each
    is drawn to its own training mean, models agree with one another and not with the truth.

    Predictions are compared with the ground truth as one more model. Every result of the task keeps its predictions for
    the same 500 test images of a split, so results made apart can be compared.

    Edge cases: constant factors are left out; a model that says the same of every image has NaN, and so has an
    architecture of one run with itself. Only interpolation and extrapolation have unseen values.
    Reference: Schott et al. 2022, arXiv:2107.08221, section 5.3 and Fig. 17 ("ood"; that images of all factors are
    taken together is inferred from its numbers). The other two are ours.

    Args:
        results: of `generalisation`, all on one world; those that are not on the split are left out.
        split: which of their splits.
        of: "ood", "predictions" or "errors".

    >>> from unknot.tasks.generalisation.task import generalisation
    >>> def half(images):
    ...     return images.mean(axis=(1, 2)) @ np.ones((1, 5)) / 255
    >>> one = generalisation(half, "dsprites_rendered", "extrapolation", rows=10, name="one")
    >>> two = generalisation(half, "dsprites_rendered", "extrapolation", rows=10, name="two")
    >>> error_similarity([one, two]).matrix.round(2)[:2, :2]
    array([[nan,  1.],
           [ 1., nan]])
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
    if of == "ood":
        return _of_unseen(tested, split, columns, np.stack([*predictions, truth]))
    names = _distinct([result.source for result in tested])
    if of == "predictions":
        names, compared = [*names, TRUTH], [*predictions, truth]
    else:
        compared = [predicted - truth for predicted in predictions]
    layers = np.stack(compared)
    per_factor = {name: _correlations(layers[:, :, j]) for j, name in enumerate(columns)}
    return Similarity(tuple(names), _mean(np.stack(list(per_factor.values()))), per_factor, split, len(points), of)


def _of_unseen(results: Sequence[TaskResult], split: str, columns: Sequence[str], layers: Floats) -> Similarity:
    """How alike architectures predict the one unseen factor of an image; layers are (m + 1, n, k), the truth last."""
    unseen = _unseen(results[0], split)
    if not any(unseen):
        raise UnknotError(
            f"error_similarity: no kept image of {split} has exactly one value that training never had, or its result "
            "was made before that was kept; compare predictions or errors, or run the task again.",
            field="of",
        )
    which = np.array([columns.index(factor) if factor else -1 for factor in unseen])
    rows = np.flatnonzero(which >= 0)
    said = layers[:, rows, which[rows]]
    names, groups = _architectures(results)
    runs = [result.settings["model"].get("id", i) for i, result in enumerate(results)]

    def between_groups(correlations: Floats) -> Floats:
        apart = np.array([[a != b for b in [*runs, TRUTH]] for a in [*runs, TRUTH]])
        known = np.where(apart, correlations, np.nan)
        return np.array([[float(_mean(known[np.ix_(a, b)].ravel())) for b in groups] for a in groups])

    per_factor = {
        name: between_groups(_correlations(said[:, which[rows] == j]))
        for j, name in enumerate(columns)
        if (which[rows] == j).any()
    }
    matrix = between_groups(_correlations(said))
    return Similarity(tuple(names), matrix, per_factor, split, len(rows), "ood")


def _architectures(results: Sequence[TaskResult]) -> tuple[list[str], list[list[int]]]:
    """Names of architectures and the results of each, the ground truth last; what is no run is one of its own."""
    groups: dict[object, list[int]] = {}
    for i, result in enumerate(results):
        groups.setdefault(result.settings["model"].get("setting", i), []).append(i)
    firsts = [results[members[0]] for members in groups.values()]
    names = _distinct([first.settings["model"].get("family", first.source) for first in firsts])
    return [*names, TRUTH], [*groups.values(), [len(results)]]


def comparable(results: Sequence[TaskResult]) -> list[tuple[str, list[TaskResult], list[Of]]]:
    """Each split, the results that were tested on the same images of it, where there are two or more, and what of them
    can be correlated, the paper's first.
    """
    groups: dict[tuple[object, ...], list[TaskResult]] = {}
    for result in results:
        for split, points in _probes(result).items():
            grid = tuple(result.settings["factors"].items())
            groups.setdefault((split, result.world, grid, tuple(points)), []).append(result)
    several = [(str(split), group) for (split, *_), group in groups.items() if len(group) > 1]
    kinds: tuple[Of, ...] = get_args(Of)
    return [
        (split, group, [of for of in kinds if of != "ood" or any(_unseen(group[0], split))])
        for split, group in several
    ]


def _unseen(result: TaskResult, split: str) -> list[str | None]:
    """Of each kept image of a split, the one factor that is unseen, if there is one."""
    rows = [row for row in result.tables["probe"] if row["split"] == split]
    return [None if row.get("unseen") is None else str(row["unseen"]) for row in rows]


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
    mean: Floats = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)
    return mean


def _distinct(names: Sequence[str]) -> list[str]:
    """Names, numbered where two are the same."""
    return [
        name if names.count(name) == 1 else f"{name} #{names[: i + 1].count(name)}" for i, name in enumerate(names)
    ]
