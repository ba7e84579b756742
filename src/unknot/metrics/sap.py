"""SAP: how much better the best latent predicts each factor than the runner-up does."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.inputs import UNKNOWN, MissingLabelsError, Rng, Rows, prepare
from unknot.metrics.known_rows import KnownRows, counts_of, known_rows
from unknot.metrics.latents import dead
from unknot.metrics.ranks import sorted_columns
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import side_by_side
from unknot.reading.arrays import is_sparse

if TYPE_CHECKING:
    from unknot.metrics.kernels.svm import Part

Mode = Literal["classification", "regression", "liblinear"]
ROWS = 16_384  # correlated at a time
BLOCK, SPARSE = 16, 1_024  # latents judged at a time
NEARLY_DEAD = 1e-8  # variance, of latents of size 1, below which one is looked at closely


@Facts(
    title="Separated attribute predictability",
    measures="compactness",
    bounds=(0.0, 1.0),
    chance=0.0,
    reference="Kumar et al. 2018, Variational Inference of Disentangled Latent Concepts, arXiv:1711.00848",
    per_factor=True,
    version=3,
    identity=("mode",),
    invariances=frozenset({"rows", "latents", "sign"}),
    units=True,
    units_if={"regression": False},
    assumes=(
        "independent factors",
        "ordered classes",
        "classes at the ends",
        "evenly spread latents",
        "many rows",
        "latents that differ",
    ),
    scatters="held out",
    scatters_if={"regression": "rows"},
)
def sap(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    mode: Mode = "classification",
    cost: float = 0.01,
    rng: Rng = 0,
) -> Score:
    """How much better the best latent predicts each factor than the runner-up does.

    SAP = mean_j [ S_(1)j - S_(2)j ],    S_ij = predictability of factor j from latent i alone

    "classification" (what the large studies ran): S_ij is the test accuracy of a linear support vector machine
    (squared hinge, C = `cost`, balanced, one against the rest) on the latent as it is. "regression": S_ij is the
    squared correlation of latent and factor on the training rows; no test rows are used. "liblinear": as
    "classification", by scikit-learn's LinearSVC, which is many times slower.

    In [0, 1]. In classification mode 1 is out of reach: the runner-up still has the accuracy of chance, and a line
    cannot isolate the middle values of an ordered factor (0.395 for a perfect code of five factors), and the value
    depends on the scale of the latents through C. For ordered factors "regression" says more.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; a latent without variance predicts
    one class (regression: S = 0); with a single latent the runner-up counts as 0, and `parts["notes"]` says so; a
    test value that never occurs in training is an error of the classifier.
    Departs from the public code: the optimum is found exactly instead of by liblinear's truncated iteration.
    Accuracies differ by about the rows that lie on the boundary; where a latent says nothing, every line is flat and
    what the iteration leaves of a slope decides (0.006 for the Theorem 3.1 code instead of 0). `mode="liblinear"`
    gives the public values.

    Args:
        latents: (n, d).
        factors: (n, k) classes; regression takes real numbers too.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        mode: "classification", "regression" or "liblinear".
        cost: C of the support vector machine.
        rng: decides the split.

    Returns:
        Score with `parts["predictability"]` (d, k) and `parts["per_factor"]`.

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(sap(factors * 1.0, factors, mode="regression").value, 6)
    1.0
    """
    check_known("mode of sap", mode, get_args(Mode))
    if not cost > 0:
        raise UnknotError(f"sap: cost is {cost}; the penalty C must be positive (the literature uses 0.01).")
    test = latents_test, factors_test
    about: dict[str, Any] = {}
    if mode == "regression":
        rows = prepare("sap", latents, factors, *test, continuous="keep", gaps=True)
        rows.note_numbers("correlated as it is")
        matrix = _squared_correlation(rows)
    else:
        try:
            rows = prepare("sap", latents, factors, *test, rng=rng, as_is=mode == "classification")
            matrix = (_accuracy if mode == "classification" else _liblinear)(rows, cost)
        except MissingLabelsError:
            if latents_test is not None or mode == "liblinear":
                raise
            rows, known = known_rows("sap", latents, factors, rng, as_is=True)
            matrix, about = _known_accuracy(rows, known, cost), counts_of(rows, known)
    if len(matrix) == 1:
        rows.notes.append("one latent only: there is no runner-up, so its predictability counts as 0.")
    ranked = np.sort(np.vstack([np.zeros_like(matrix[:1]), matrix]), axis=0)
    per_factor = ranked[-1] - ranked[-2]
    parts = {"per_factor": per_factor, "predictability": matrix, "best_latent": matrix.argmax(axis=0)}
    return rows.score(per_factor.mean(), parts, **about)


def _accuracy(rows: Rows, cost: float) -> Floats:
    from unknot.metrics.kernels.svm import accuracies

    z_test, y_test, _ = rows.held_out
    if rows.latents.shape[1] > WIDE:
        parts = [
            _part(codes, np.arange(len(codes)), own, np.arange(len(own)))
            for codes, own in zip(rows.factors.T, y_test.T, strict=True)
        ]
        return _wide_accuracy(rows.latents, z_test, parts, cost)
    columns, order = sorted_columns(rows)
    result: Floats = accuracies(
        columns,
        order,
        np.ascontiguousarray(rows.factors.T),
        rows.sizes,
        np.ascontiguousarray(z_test.T),
        np.ascontiguousarray(y_test.T),
        float(cost),
    )
    return result


def _known_accuracy(rows: Rows, known: Sequence[KnownRows], cost: float) -> Floats:
    """The same where labels are missing, each factor in rows of its own."""
    parts = []
    for codes, drawn in zip(rows.factors.T, known, strict=True):
        train, test = map(np.sort, drawn)  # which memory is read fastest in
        classes, own = np.unique(codes[train], return_inverse=True)
        at = np.minimum(np.searchsorted(classes, codes[test]), len(classes) - 1)
        parts.append(_part(own, train, np.where(classes[at] == codes[test], at, -1), test))
    return _wide_accuracy(rows.latents, rows.latents, parts, cost)


def _part(codes: Ints, rows: Ints, codes_test: Ints, rows_test: Ints) -> "Part":
    """Rows of one factor, those of a class side by side."""
    from unknot.metrics.kernels.svm import Part

    starts = np.append(0, np.cumsum(np.bincount(codes)))
    return Part(rows[np.argsort(codes, kind="stable")], starts, rows_test, codes_test)


def _wide_accuracy(latents: Any, latents_test: Any, parts: Sequence["Part"], cost: float) -> Floats:
    """Test accuracy (d, k) of many latents, some at a time; those are sorted of which a row leaves its margin."""
    from unknot.metrics.kernels.class_sums import NUMBERS, class_sums, slots_of
    from unknot.metrics.kernels.svm import accuracies_within, accuracy_beyond

    if is_sparse(latents) or is_sparse(latents_test):
        return _sparse_accuracy(latents, latents_test, parts, cost)
    result = np.empty((latents.shape[1], len(parts)))
    slots = slots_of(len(latents), [(part.rows, part.starts) for part in parts])

    def judge(block: slice) -> None:
        table = np.ascontiguousarray(latents[:, block], dtype=np.float64)
        centres, sums = (
            np.zeros((len(parts), table.shape[1])),
            np.empty((len(slots.counts), NUMBERS, table.shape[1])),
        )
        class_sums(table, slots, centres, sums)
        columns_test = columns = np.ascontiguousarray(table.T)
        if latents_test is not latents:
            columns_test = np.ascontiguousarray(latents_test[:, block].T, dtype=np.float64)
        for j, part in enumerate(parts):
            own = sums[slots.first[j] : slots.first[j + 1]]
            accuracies_within(columns_test, part, centres[j], own, cost, result[block, j])
        for i, accuracies in enumerate(result[block]):
            beyond = np.flatnonzero(np.isnan(accuracies))
            order = np.argsort(columns[i]) if len(beyond) else None
            for j in beyond.tolist():
                accuracies[j] = accuracy_beyond(columns[i], order, columns_test[i], parts[j], cost)

    side_by_side(judge, [slice(first, first + BLOCK) for first in range(0, len(result), BLOCK)])
    return result


def _sparse_accuracy(latents: Any, latents_test: Any, parts: Sequence["Part"], cost: float) -> Floats:
    """The same of sparse latents, all of which are sorted, without their zeros."""
    from scipy.sparse import csc_array

    from unknot.metrics.kernels.sparse_columns import classes_of, sparse_accuracies, stored

    train, test = csc_array(latents), csc_array(latents_test)
    result = np.empty((train.shape[1], len(parts)))
    codes = np.full((len(parts), train.shape[0]), UNKNOWN)
    codes_test = np.full((len(parts), test.shape[0]), UNKNOWN)
    sizes = np.array([len(part.starts) - 1 for part in parts])
    for own, own_test, part in zip(codes, codes_test, parts, strict=True):
        own[part.rows] = np.repeat(np.arange(len(part.starts) - 1), np.diff(part.starts))
        own_test[part.rows_test] = part.codes_test
    classes, classes_test = classes_of(codes, sizes), classes_of(codes_test, sizes)

    def judge(block: slice) -> None:
        columns, columns_test = stored(train, block), stored(test, block)
        sparse_accuracies(columns, classes, columns_test, classes_test, cost, result[block])

    d = len(result)
    side_by_side(judge, [slice(first, min(first + SPARSE, d)) for first in range(0, d, SPARSE)])
    return result


def _liblinear(rows: Rows, cost: float) -> Floats:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    z_test, y_test, _ = rows.held_out
    result = np.empty((rows.latents.shape[1], rows.n_factors))
    machine = LinearSVC(C=cost, class_weight="balanced", dual=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where it stops is what this mode is for
        for i, j in np.ndindex(*result.shape):
            machine.fit(rows.latents[:, [i]], rows.factors[:, j])
            result[i, j] = np.mean(machine.predict(z_test[:, [i]]) == y_test[:, j])
    return result


def _squared_correlation(rows: Rows) -> Floats:
    if (rows.factors < 0).any():
        return _known_correlation(rows)
    z, y = rows.latents - rows.latents.mean(axis=0), rows.numbers - rows.numbers.mean(axis=0)
    alive = ~dead(rows.latents)
    result = np.zeros((z.shape[1], y.shape[1]))
    result[alive] = (z[:, alive].T @ y) ** 2 / np.outer((z[:, alive] ** 2).sum(axis=0), (y**2).sum(axis=0))
    np.minimum(result, 1.0, out=result)
    return result


def _known_correlation(rows: Rows) -> Floats:
    """The same, each factor in the rows that have it, from sums over blocks of rows."""
    there = rows.factors >= 0
    n, mean = there.sum(axis=0), rows.latents.mean(axis=0)
    y = np.where(there, rows.numbers - np.nanmean(rows.numbers, axis=0), 0.0)
    totals, squares, products = (np.zeros((len(mean), len(n))) for _ in range(3))
    for first in range(0, len(there), ROWS):
        block = slice(first, first + ROWS)
        z, known = rows.latents[block] - mean, there[block].astype(np.float64)
        totals += z.T @ known
        squares += z.T**2 @ known
        products += z.T @ y[block]
    spread = squares - totals**2 / n
    gone = spread <= NEARLY_DEAD * n * np.maximum(1.0, mean**2)[:, None]
    for i, j in np.argwhere(gone):
        gone[i, j] = dead(rows.latents[there[:, j], i, None])[0]
    result: Floats = np.zeros(spread.shape)
    np.divide(products**2, spread * (y**2).sum(axis=0), out=result, where=~gone)
    np.minimum(result, 1.0, out=result)
    return result
