"""InfoMEC: modularity, explicitness and compactness on one footing, normalised information."""

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import WIDE, Bools, Floats
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.kernels.information import factor_entropy, mutual_information, width_information
from unknot.metrics.latents import dead
from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.ridge import Gram
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread

ROWS_OF_A_VALUE = 5  # on average, of a latent that is discrete
Estimator = Literal["neighbours", "bins", "discrete"]


@Facts(
    title="InfoMEC (InfoM, with InfoC and InfoE)",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="not 0: estimation noise is compared with its own maximum",
    reference="Hsu et al. 2023, Disentanglement via Latent Quantization, arXiv:2305.18378",
    cost="seconds",
    widest=2_700,
    also={"infoc": "compactness", "infoe": "explicitness"},
    identity=("estimator",),
    invariances=frozenset({"rows", "latents", "sign", "shift"}),
    version=3,
    assumes=("independent factors", "informed latents"),
)
def infomec(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    estimator: Estimator = "neighbours",
    neighbours: int = 10,
    bins: int = 20,
    min_range: float = 0.05,
    held_out: bool = True,
    max_iter: int = 100,
    explicitness: bool = True,
    rng: Rng = 0,
) -> Score:
    """Modularity (the headline), compactness and explicitness from normalised information.

    N_ij  = I(z_i; y_j) / H(y_j)                                    over active latents i = 1..a and factors j = 1..k
    InfoM = ( mean_i [ max_j N_ij / sum_j N_ij ] - 1/k ) / ( 1 - 1/k )        each latent knows one factor
    InfoC = ( mean_j [ max_i N_ij / sum_i N_ij ] - 1/a ) / ( 1 - 1/a )        each factor sits in one latent
    InfoE = mean_j [ H_V(y_j) - H_V(y_j | z) ] / H_V(y_j)                     factors are linearly decodable

    H_V is the smallest log-loss a linear softmax head reaches (without a penalty, classes weighted alike), with the
    latents and without them: predictive V-information. All are 1 at best; InfoM and InfoC are in [0, 1], InfoE falls
    below 0 where the head does worse than knowing nothing. A latent is active if its range exceeds `min_range` of
    the largest range of any latent, so the scores depend on the relative scale of latents.

    A measurement has no entropy: with "neighbours" its N_ij is 1 - exp(-2 I), as in `mig`, and its InfoE the R² of
    least squares on held-out rows, the same of what a linear reader with normal errors knows. Other estimators, and all
    of more than 100 latents, cut it into 20 bins.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; an active latent, or a factor, without
    any information adds 0; InfoM of one factor and InfoC of one active latent are undefined: NaN and a note; if all
    latents are dead InfoM, InfoC and InfoE are 0.
    Departs from the authors' code: InfoE is judged on held-out rows (`held_out=False` for theirs); neighbours of
    equal value are counted instead of broken by random noise.

    Args:
        latents: (n, d); InfoM and InfoC use these rows only.
        factors: (n, k).
        latents_test: held-out latents for InfoE; without them a third of the rows is held out for it.
        factors_test: held-out factors.
        estimator: of I: "neighbours" (Ross 2014, for continuous latents), "bins" (equal width), or "discrete" (each
            distinct value a class and, for InfoE, a one-hot input: for quantised latents).
        neighbours: of "neighbours"; the authors use 10.
        bins: of "bins".
        min_range: range, relative to the largest, at which a latent counts as active; not used by "discrete", where
            every latent that varies is active.
        held_out: whether InfoE is judged on rows that were not used to fit.
        max_iter: iterations of the solver; without a penalty, separable classes never converge, and a note says so.
        explicitness: False leaves InfoE out, and with it the only training.
        rng: decides which rows are held out.

    Returns:
        Score of InfoM with `parts["infom"]`, `parts["infoc"]`, `parts["infoe"]`, `parts["normalised_information"]`
        (d, k), `parts["active"]` (d,), `parts["per_latent"]` (InfoM's max / sum), `parts["per_factor"]` (InfoC's) and
        `parts["explicitness"]` (k,).

    >>> factors = np.tile(np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2), (20, 1))
    >>> round(infomec(factors * 1.0, factors, explicitness=False).value, 6)
    1.0
    """
    check_known("estimator of infomec", estimator, get_args(Estimator))
    if neighbours < 1 or not 0 <= min_range < 1 or max_iter < 1:
        raise UnknotError(
            f"infomec: neighbours is {neighbours}, min_range {min_range}, max_iter {max_iter}; expected at least 1, "
            "a fraction in [0, 1) and at least 1."
        )
    rows = _rows(estimator, latents, factors, latents_test, factors_test)
    information = _information(rows, estimator, neighbours, bins)
    active = _active(rows.latents, 0.0 if estimator == "discrete" else min_range)
    per_latent = np.full(len(active), np.nan)
    per_latent[active] = _dominance(information[active], axis=1)
    per_factor = _dominance(information[active], axis=0)
    infom, infoc = (
        _above_uniform(per_latent[active], rows.n_factors),
        _above_uniform(per_factor, int(active.sum())),
    )
    if rows.n_factors == 1:
        rows.notes.append("one factor only: InfoM compares factors and is undefined.")
    if active.sum() == 1:
        rows.notes.append("one active latent only: InfoC compares latents and is undefined.")
    if not active.all():
        rows.notes.append(f"inactive latent(s) left out: {', '.join(map(str, np.flatnonzero(~active)))}.")
    if estimator == "neighbours" and (few := _few_values(rows.latents[:, active])):
        rows.notes.append(
            f"{few} latent(s) take few values, where neighbours are told by ties: infomec[discrete] is made for those."
        )
    parts = {"normalised_information": information, "per_factor": per_factor}
    values = {"infom": infom, "infoc": infoc}
    if explicitness:
        parts["explicitness"] = _explicitness(rows, estimator == "discrete", held_out, max_iter, rng)
        values["infoe"] = float(parts["explicitness"].mean())
    return rows.score(infom, parts, **values, active=active, per_latent=per_latent, estimator=estimator)


def _rows(estimator: Estimator, *passed: Any) -> Rows:
    """The rows; measurements that are cut into bins are classes from then on."""
    if estimator == "neighbours":
        rows = prepare("infomec", *passed, continuous="keep")
        if rows.latents.shape[1] <= WIDE or not rows.continuous.any():  # neighbours take 10 ms for each pair
            return rows
    rows = prepare("infomec", *passed)
    return replace(rows, continuous=np.zeros_like(rows.continuous))


def _information(rows: Rows, estimator: Estimator, neighbours: int, bins: int) -> Floats:
    """N_ij."""
    if estimator == "neighbours":
        return _neighbour_shares(rows, neighbours)
    if estimator == "bins":
        information = width_information(rows.latents, rows.factors, rows.sizes, bins)
    else:
        codes = np.stack([np.unique(z, return_inverse=True)[1] for z in rows.latents.T], axis=1).astype(np.int32)
        information = mutual_information(codes, int(codes.max()) + 1, rows.factors, rows.sizes)
    return information / factor_entropy(rows.factors, rows.sizes)


def _neighbour_shares(rows: Rows, neighbours: int) -> Floats:
    from unknot.metrics._neighbours import measured_information, neighbour_information

    shares = np.zeros((rows.latents.shape[1], rows.n_factors))
    real, classes = np.flatnonzero(rows.continuous), np.flatnonzero(~rows.continuous)
    if len(real):
        rows.note_continuous(
            "its information is that of nearest neighbours, its share 1 - exp(-2 I), its InfoE an R²"
        )
        shares[:, real] = 1 - np.exp(-2 * measured_information(rows.latents, rows.numbers[:, real], neighbours))
    factors, sizes = rows.factors[:, classes], rows.sizes[classes]
    information = neighbour_information(rows.latents, factors, sizes, neighbours)
    shares[:, classes] = information / factor_entropy(factors, sizes)
    return shares


def _few_values(latents: Floats) -> int:
    """How many latents take each of their values again and again."""
    return sum(len(np.unique(column)) <= len(column) // ROWS_OF_A_VALUE for column in latents.T)


def _active(latents: Floats, min_range: float) -> Bools:
    extent = np.ptp(latents, axis=0)
    active: Bools = (extent > min_range * extent.max()) & ~dead(latents)
    return active


def _dominance(information: Floats, axis: int) -> Floats:
    """Largest entry over the sum, along an axis; that of a uniform row where there is no information."""
    total = information.sum(axis=axis)
    uniform = 1.0 / max(information.shape[axis], 1)
    most = information.max(axis=axis, initial=0.0)
    result: Floats = np.divide(most, total, out=np.full(len(total), uniform), where=total > 0)
    return result


def _above_uniform(shares: Floats, n: int) -> float:
    """Mean share, rescaled so that equal shares of n give 0."""
    if len(shares) == 0 or n == 0:
        return 0.0
    return max(0.0, float((shares.mean() - 1 / n) / (1 - 1 / n))) if n > 1 else float("nan")


def _explicitness(rows: Rows, discrete: bool, held_out: bool, max_iter: int, rng: Rng) -> Floats:
    from unknot.metrics._logistic import fit, hold_out, log_probabilities, log_softmax, one_hot, standardised

    split = hold_out(rows, rng) if held_out else rows
    z_test, y_test = split.held_out[:2] if held_out else (rows.latents, rows.factors)
    inputs, inputs_test = (one_hot if discrete else standardised)(split.latents, z_test)
    # The same head by a solver that gets further in as many iterations, for those that are slow.
    heads = PenalisedHeads(Gram.of(inputs, inputs_test)) if inputs.shape[1] > WIDE and not discrete else None
    least = np.log(np.finfo(float).eps)  # of a class that no training row has, or as good as none
    gained, unfinished = np.zeros(rows.n_factors), []
    real = rows.continuous
    if real.any():
        numbers = split.held_out.numbers if held_out else rows.numbers
        gained[real] = _explained(inputs, split.numbers[:, real], inputs_test, numbers[:, real])
    for j, size in enumerate(rows.sizes):
        if real[j]:
            continue
        codes = split.factors[:, j]
        if heads is not None:
            logits, _, converged = heads.scores(codes, int(size), 0.0, balanced=True, iterations=max_iter)
            log_p = np.maximum(log_softmax(logits), least)
        else:
            model, converged = fit(inputs, codes, C=np.inf, class_weight="balanced", max_iter=max_iter)
            log_p = log_probabilities(model, inputs_test, int(size), int(codes[0]))
        # A class weighted like any other, the best head without latents gives each the same probability.
        nothing = np.log(len(np.unique(codes)))
        right = np.where(y_test[:, j] >= 0, log_p[np.arange(len(log_p)), y_test[:, j]], least)
        gained[j] = (nothing + right.mean()) / nothing if nothing > 0 else 0.0
        if not converged:
            unfinished.append(rows.names[rows.kept[j]])
    if unfinished:
        rows.notes.append(f"InfoE: the solver stopped after {max_iter} iterations for {', '.join(unfinished)}.")
    return gained


def _explained(x: Floats, y: Floats, x_test: Floats, y_test: Floats) -> Floats:
    """The share (k,) of the squared error of the training mean on test rows that least squares takes away."""
    apart = y_test - y.mean(axis=0)
    with one_thread():
        weights = np.linalg.lstsq(x, y - y.mean(axis=0), rcond=None)[0]
        errors = (apart - x_test @ weights) ** 2
    result: Floats = 1 - errors.mean(axis=0) / np.maximum((apart**2).mean(axis=0), np.finfo(float).tiny)
    return result
