"""DCI-ES: explicitness (how much capacity it takes to read the factors off) and size of a representation."""

from typing import Any, Literal

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics._predictors import canonical_order
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.latents import dead
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread

RIDGE = 1e-4  # penalty per row, on features of unit variance


@Facts(
    title="DCI-ES explicitness",
    measures="explicitness",
    bounds=(-1.0, 1.0),
    chance="1: what is not there is not missed; read informativeness beside it",
    reference="Eastwood et al. 2023, DCI-ES: An Extended Disentanglement Framework with Connections to "
    "Identifiability, arXiv:2210.00364",
    cost="seconds",
    also={"informativeness": "explicitness", "size": "compactness"},
    per_factor=True,
    version=2,
    identity=("probe",),
    widest=5_000,
    power=2,
    invariances=frozenset({"latents"}),
    assumes=("ordered classes",),
)
def dci_es(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    probe: Literal["random_features"] = "random_features",
    largest: int = 1024,
    categorical: tuple[int | str, ...] = (),
    rng: Rng = 0,
) -> Score:
    """How little a probe must be capable of to get out of a representation what there is (E), and its size (S).

    Probes of capacity kappa_1 < ... < kappa_T predict factor j with held-out losses; l_t is the lowest loss up
    to capacity kappa_t. With l_b the loss of the best constant:

    E_j = 1 - AULCC_j / Z_j,   AULCC_j = sum_t (kappa_t+1 - kappa_t) ((l_t + l_t+1) / 2 - l_T),
    Z_j = (kappa_T - kappa_1) l_b / 2,   E = mean_j E_j
    S = factors / latents

    E is 1 if the least capable probe, a linear one, is as good as any; 0 if the loss falls evenly from l_b to 0;
    -1 if only the most capable probe succeeds. S is 1 for as many latents as factors and smaller for more.
    The value is E; `parts` has "size", "informativeness" (mean of 1 - l_T / l_b, clipped at 0), "per_factor" E_j,
    "informativeness_per_factor", and the curves: "capacity" (T,) and "loss" (T, factors) over l_b. D and C are
    those of `dci`.

    Args:
        latents: (n, d).
        factors: (n, k); numbers are predicted as they are, see `categorical`.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        probe: "random_features" is ridge regression on the standardised latents and on 0, 16, 32, 64, ... random
            Fourier features cos(w z + b) of them with w ~ N(0, 1 / live latents), sets that contain each other;
            capacity is the logarithm (base 2) of the number of inputs, and the loss the mean squared error.
        largest: most features; never more than a quarter of the training rows.
        categorical: columns (numbers or names) of factors without an order, predicted as indicators of classes.
        rng: draws the features, splits off missing test rows.

    Edge cases: a code that says nothing gains nothing from capacity and has E = 1, so read informativeness too;
    constant factors are left out; dead latents do not enter the probe but count in the size; with too few rows
    for two capacities E is NaN, with a note.
    Departs from the paper: probes are random features only, which the paper uses beside networks and forests;
    capacity is counted in inputs. As in the authors' code, Z takes 0 for the lowest loss possible.

    >>> z = np.random.default_rng(0).normal(size=(3000, 2))
    >>> plain, twisted = dci_es(z, z.round()), dci_es(z, np.sin(3 * z).round())
    >>> plain.value > 0.9 > 0.7 > twisted.value, plain.parts["size"]
    (True, 1.0)
    """
    check_known("probe of dci_es", probe, ("random_features",))
    rows = prepare("dci_es", latents, factors, latents_test, factors_test, rng=rng, continuous="keep")
    rows.note_numbers("predicted as a number")
    numbers = _numbers(largest, len(rows.latents))
    losses = _losses(rows, numbers, _indicated(rows, categorical), np.random.default_rng(rng))
    capacity = np.log2(1.0 + rows.latents.shape[1] + numbers)
    per_factor, curve = explicitness(capacity, losses)
    informativeness = np.maximum(0.0, 1.0 - curve[-1])
    if len(capacity) == 1:
        rows.notes.append(f"{len(rows.latents)} training rows are too few for a second probe: E is undefined.")
    return rows.score(
        per_factor.mean(),
        {"per_factor": per_factor, "informativeness_per_factor": informativeness, "loss": curve},
        size=rows.n_factors / rows.latents.shape[1],
        informativeness=float(informativeness.mean()),
        capacity=capacity,
    )


def explicitness(capacity: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """E of each column of losses (T, k), which are in units of the best constant's, and the falling curves (T, k).

    >>> explicitness(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 1.0]]))[0]
    array([1., 0., 1.])
    """
    curve = np.minimum.accumulate(np.minimum(losses, 1.0), axis=0)
    if len(capacity) == 1:
        return np.full(losses.shape[1], np.nan), curve
    area = np.trapezoid(curve - curve[-1], capacity, axis=0)
    return 1.0 - area / (0.5 * (capacity[-1] - capacity[0])), curve


def _numbers(largest: int, n_rows: int) -> Ints:
    """How many random features each probe has: none, 16, 32, ..."""
    if largest < 16:
        raise UnknotError(f"dci_es: largest is {largest}; at least 16 random features are needed.")
    most = min(largest, n_rows // 4)
    return np.array([0, *(2**p for p in range(4, 63) if 2**p <= most)], dtype=np.int64)


def _indicated(rows: Rows, categorical: tuple[int | str, ...]) -> set[int]:
    """Which of the varying factors are predicted as indicators."""
    names = {rows.names[j]: i for i, j in enumerate(rows.kept)}
    chosen = set()
    for column in categorical:
        name = rows.names[column] if isinstance(column, int) and column < len(rows.names) else str(column)
        check_known("factor", name, rows.names)
        chosen |= {names[name]} if name in names else set()
    return chosen


def _losses(rows: Rows, numbers: Ints, indicated: set[int], rng: np.random.Generator) -> Floats:
    """Mean squared error of each probe on the held-out rows over that of the training mean, (T, k)."""
    from scipy.linalg import cho_factor, cho_solve

    z, z_test = _inputs(rows, int(numbers[-1]), rng)
    y, y_test, column = _targets(rows, indicated)
    y, y_test = y - y.mean(axis=0), y_test - y.mean(axis=0)
    n_plain = z.shape[1] - int(numbers[-1])
    losses = np.empty((len(numbers), rows.n_factors))
    baseline = np.bincount(column, (y_test**2).mean(axis=0))
    with one_thread():
        gram, moment = z.T @ z, z.T @ y
        gram[np.diag_indices_from(gram)] += RIDGE * len(z)
        for t, number in enumerate(numbers):
            m = n_plain + number  # the first m inputs: a smaller probe is a corner of the largest
            weights = cho_solve(cho_factor(gram[:m, :m], lower=True), moment[:m]) if m else moment[:0]
            error = ((y_test - z_test[:, :m] @ weights) ** 2).mean(axis=0)
            losses[t] = np.bincount(column, error) / np.maximum(baseline, np.finfo(np.float64).tiny)
    return losses


def _inputs(rows: Rows, most: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Standardised live latents in canonical order, then `most` standardised random features of them."""
    gone = dead(rows.latents)
    columns = [i for i in canonical_order(rows.latents) if not gone[i]]
    z, z_test = rows.latents[:, columns], rows.held_out.latents[:, columns]
    mean, spread = z.mean(axis=0), z.std(axis=0)
    z, z_test = (z - mean) / spread, (z_test - mean) / spread
    directions = rng.normal(size=(len(columns), most)) / np.sqrt(max(1, len(columns)))
    phases = rng.uniform(0, 2 * np.pi, size=most)
    waves, waves_test = np.cos(z @ directions + phases), np.cos(z_test @ directions + phases)
    mean, spread = waves.mean(axis=0), np.maximum(waves.std(axis=0), 1e-12)
    return np.hstack([z, (waves - mean) / spread]), np.hstack([z_test, (waves_test - mean) / spread])


def _targets(rows: Rows, indicated: set[int]) -> tuple[Floats, Floats, Ints]:
    """What is predicted, for training and held-out rows, and which factor each column belongs to."""
    _, codes_test, numbers_test = rows.held_out
    train, test, column = [], [], []
    for j in range(rows.n_factors):
        if j in indicated:
            classes = np.arange(rows.sizes[j])
            train.append((rows.factors[:, j, None] == classes).astype(np.float64))
            test.append((codes_test[:, j, None] == classes).astype(np.float64))
        else:
            scale = rows.numbers[:, j].std()
            train.append(rows.numbers[:, j, None] / scale)
            test.append(numbers_test[:, j, None] / scale)
        column += [j] * train[-1].shape[1]
    return np.hstack(train), np.hstack(test), np.array(column, dtype=np.int64)
